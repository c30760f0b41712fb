"""A gateway whose robot has two bodies: which of them it needs."""

import asyncio
import json
from pathlib import Path

import pytest

from hilgw.errors import PortError
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.virtual.pipe import Pipe
from tests.golden.running import Request, run_config

SHADOW = Path(__file__).parents[2] / "configs" / "shadow.yaml"
REMOTE, BODY = "rover.remote", "rover"


def ran(tmp_path: Path, mode: str, duration_s: float, *requests: Request) -> str:
    """The shipped configuration in this mode."""
    config = tmp_path / "c.yaml"
    config.write_text(SHADOW.read_text().replace("mode: shadow", f"mode: {mode}"))
    return run_config(str(config), duration_s, requests, terminal=True)


@pytest.mark.parametrize(("mode", "is_needed"), [("simulation", False), ("shadow", True)])
def test_a_body_that_the_controller_does_not_have_may_be_away(
    tmp_path: Path, mode: str, is_needed: bool
) -> None:
    text = ran(tmp_path, mode, 1.0, (0.0, {"unplug": REMOTE}))
    assert ("\nready\n" in text) is not is_needed
    assert ("=== ended: in time" in text) is not is_needed


def test_a_remote_body_that_the_controller_has_is_needed(tmp_path: Path) -> None:
    text = ran(tmp_path, "remote", 1.0, (0.0, {"unplug": REMOTE}))
    assert "\nready\n" not in text and "=== ended: in time" not in text


@pytest.mark.parametrize("reason", [PortError.BUSY, PortError.DENIED])
def test_a_remote_body_whose_port_is_taken_at_the_start_is_up_once_it_is_free(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, freed_s = Pipe.open, 3.0

    async def open_later(pipe: Pipe, line: LineSettings) -> Transport:
        if asyncio.get_running_loop().time() < freed_s:
            raise PortError("the port is taken", reason=reason)
        return await opened(pipe, line)

    monkeypatch.setattr(Pipe, "open", open_later)  # the one serial line is that of the remote body
    ask = {"do": "mode", "robot": "rover", "mode": "remote"}
    text = ran(tmp_path, "simulation", 12.0, (1.0, ask), (10.0, ask))
    early, late = (line for line in text.splitlines() if line.startswith(json.dumps(ask)))
    assert '"error": "rover: the remote body is not connected; connect it' in early
    assert '"ok": true' in late and '"remote": "up"' in late
    assert "=== ended: in time" in text


def test_a_remote_body_that_the_controller_has_ends_the_gateway_when_its_port_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def taken(pipe: Pipe, line: LineSettings) -> Transport:
        raise PortError("the port is taken", reason=PortError.BUSY)

    monkeypatch.setattr(Pipe, "open", taken)
    assert "=== ended: PortError" in ran(tmp_path, "remote", 1.0)
