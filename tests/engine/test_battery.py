"""A Webots controller whose battery a Create 2 measures."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.running import run_config

CONFIG = """
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


def ran(tmp_path: Path, charge: int) -> tuple[str, dict[str, Any]]:
    """What was to be seen, and the report of the control loop."""
    config = tmp_path / "c.yaml"
    config.write_text(CONFIG.format(charge=charge))
    text = run_config(str(config), 3.0, terminal=True)
    report = json.loads(text.partition("=== report\n")[2].partition("\n\n===")[0])
    return text, report["control_loops"]["create"]


def test_an_empty_battery_of_the_robot_stops_it_and_ends_the_controller(tmp_path: Path) -> None:
    text, loop = ran(tmp_path, 0)
    assert "create.controller waiting: the battery is empty; listening" in text
    assert loop["stops"] == {"battery": 1} and loop["sensors"] == {"charge": 0.0}
    written = text.partition("=== bytes to create.body (create2)\n")[2].partition("\n\n")[0]
    assert "91 00 5d 00 5d" in written  # it drove until its charge was known
    assert written.splitlines()[-1].startswith("00 91 00 00 00 00 91 00 00 00 00 91 00 00 00 00")


@pytest.mark.parametrize("charge", [1, 2696])
def test_a_battery_that_is_not_empty_lets_it_drive(tmp_path: Path, charge: int) -> None:
    text, loop = ran(tmp_path, charge)
    assert "the battery is empty" not in text
    assert loop["stops"] == {"gateway_ended": 1}
    assert loop["sensors"]["charge"] == pytest.approx(139_761 / 2696 * charge)
