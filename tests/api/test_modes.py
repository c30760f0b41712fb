"""The mode of a robot as a Python program sees it: the gateway is asked on its control socket."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.api.robot import Modes
from hilgw.client import Gateway
from hilgw.protocols.gateway.messages import VERSION
from hilgw.protocols.webots.robot_messages import RobotConfiguration


class FakeGateway:
    """Answers requests about the robot rover; refuses what is in `refusals`."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.mode = "simulation"
        self.refusal = ""
        self.requests: list[dict[str, Any]] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                request = json.loads(stream.readline())
                self.requests.append(request)
                stream.write(json.dumps({"version": VERSION, **self._answer(request)}) + "\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["robot"] != "rover":
            return {"error": "no robot"}
        if request.get("mode") is not None and self.refusal:
            return {"error": self.refusal}
        self.mode = request.get("mode") or self.mode
        return {
            "ok": True,
            "robot": "rover",
            "mode": self.mode,
            "bodies": {"body": "up", "remote": "up"},
        }

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[FakeGateway]:
    fake = FakeGateway(tmp_path / "c")
    yield fake
    fake.close()


class OfSession:
    """The part of a session that has a mode. gateway: at the socket, as the session has it."""

    def __init__(self, path: str, name: str = "rover") -> None:
        self.configuration = RobotConfiguration(name=name, basicTimeStep=32.0)
        self.gateway = Gateway(Path(path))


def modes_of(path: str, name: str = "rover") -> Modes:
    return Modes(OfSession(path, name))  # type: ignore[arg-type]


def test_the_mode_is_read_from_and_set_in_the_gateway(gateway: FakeGateway) -> None:
    modes = modes_of(gateway.path)
    assert not modes.is_remote()
    assert modes.set(remote=True) == ""
    assert modes.is_remote()
    gateway.mode = "shadow"  # the program reads the simulated body
    assert not modes.is_remote()
    assert [each.get("mode") for each in gateway.requests] == [None, "remote", None, None]


def test_a_refusal_has_its_reason_and_changes_nothing(gateway: FakeGateway) -> None:
    gateway.refusal = "the remote body is not connected"
    modes = modes_of(gateway.path)
    assert modes.set(remote=True) == "the remote body is not connected"
    assert not modes.is_remote()
    assert "no robot" in modes_of(gateway.path, "other").set(remote=True)


def test_a_program_of_a_simulator_is_in_simulation(tmp_path: Path) -> None:
    modes = modes_of(str(tmp_path / "none"))
    assert not modes.is_remote()
    assert "does not answer" in modes.set(remote=True)
