"""The mode of a robot as a Python program sees it: the gateway is asked."""

from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.api.robot import Modes
from hilgw.errors import PeerError
from hilgw.protocols.gateway.paths import CONTROL


class FakeGateway:
    """Answers requests about the mode of a robot; refuses them with `refusal`."""

    def __init__(self) -> None:
        self.current, self.refusal = "simulation", ""
        self.requests: list[tuple[str, str | None]] = []

    def mode(self, robot: str, mode: str | None = None) -> Any:
        self.requests.append((robot, mode))
        if self.refusal:
            raise PeerError(self.refusal)
        self.current = mode or self.current
        return SimpleNamespace(mode=self.current)


def test_the_mode_is_read_from_and_set_in_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONTROL, raising=False)
    gateway = FakeGateway()
    session: Any = SimpleNamespace(configuration=SimpleNamespace(name="rover"), gateway=gateway)
    modes = Modes(session)
    assert not modes.is_remote()
    assert modes.set(remote=True) == ""
    assert modes.is_remote()
    gateway.current = "shadow"  # the program reads the simulated body
    assert not modes.is_remote()
    assert gateway.requests == [("rover", each) for each in (None, "remote", None, None)]
    gateway.refusal = "the remote body is not connected"
    assert modes.set(remote=True) == "the remote body is not connected"
    assert not modes.is_remote()
    asked = len(gateway.requests)
    assert not modes.is_remote() and len(gateway.requests) == asked, "looked for once"
