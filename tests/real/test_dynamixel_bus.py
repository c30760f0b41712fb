"""Two real Dynamixel servos with ids 1 and 2, free to turn, at 57600 bit/s:
`tools/test tests/real --dynamixel /dev/ttyUSB0`."""

from pathlib import Path

import pytest

from tests.real.robots import PATIENT, check, drive


def test_two_servos(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    port = str(Path(request.config.getoption("--dynamixel")).absolute())
    body = {"kind": "dynamixel", "port": port, **PATIENT, "answer_ms": 200, "watchdog_ms": 2540}
    robot = drive(tmp_path, body, [])
    assert robot.identity.startswith("Dynamixel servos 1: model ")
    check(robot)
