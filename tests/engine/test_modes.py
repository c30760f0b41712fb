"""Whole gateways: which of two bodies they need, and a battery that is empty."""

import asyncio
import json
from pathlib import Path
from typing import Any

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
def test_a_body_out_of_use_may_be_away(tmp_path: Path, mode: str, is_needed: bool) -> None:
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


BATTERY = """
version: 1
backend: mock
webots: R2025a
robots:
  create:
    body:
      kind: create2
      port: /dev/ttyUSB0
      sensors:
        charge: {{packet: battery_charge, table: [[0, 0, 0], [2696, 139761, 0]]}}
      mock: {{charge: {charge}}}
    controller:
      kind: webots
      listen: "tcp://127.0.0.1:1234"
      battery_sensor: charge
      mock:
        script: >-
          position 'left wheel motor' inf; position 'right wheel motor' inf;
          velocity 'left wheel motor' 3; velocity 'right wheel motor' 3; step 32 x 0
"""


def driven(tmp_path: Path, charge: int) -> tuple[str, dict[str, Any]]:
    """What was to be seen, and the report of the control loop."""
    config = tmp_path / "c.yaml"
    config.write_text(BATTERY.format(charge=charge))
    text = run_config(str(config), 3.0, terminal=True)
    report = json.loads(text.partition("=== report\n")[2].partition("\n\n===")[0])
    return text, report["control_loops"]["create"]


def test_an_empty_battery_of_the_robot_stops_it_and_ends_the_controller(tmp_path: Path) -> None:
    text, loop = driven(tmp_path, 0)
    assert "create.controller waiting: the battery is empty; listening" in text
    assert loop["stops"] == {"battery": 1} and loop["sensors"] == {"charge": 0.0}
    written = text.partition("=== bytes to create.body (create2)\n")[2].partition("\n\n")[0]
    assert "91 00 5d 00 5d" in written  # it drove until its charge was known
    assert written.splitlines()[-1].startswith("00 91 00 00 00 00 91 00 00 00 00 91 00 00 00 00")


@pytest.mark.parametrize("charge", [1, 2696])
def test_a_battery_that_is_not_empty_lets_it_drive(tmp_path: Path, charge: int) -> None:
    text, loop = driven(tmp_path, charge)
    assert "the battery is empty" not in text
    assert loop["stops"] == {"gateway_ended": 1}
    assert loop["sensors"]["charge"] == pytest.approx(139_761 / 2696 * charge)
