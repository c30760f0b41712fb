"""A real e-puck, its wheels off the ground: `tools/test tests/real --epuck /dev/rfcomm0`."""

from pathlib import Path

import pytest

from tests.real.robots import PATIENT, check, drive


def test_an_epuck(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    port = str(Path(request.config.getoption("--epuck")).absolute())
    body = {"kind": "epuck", "port": port, **PATIENT, "answer_ms": 1000}
    robot = drive(tmp_path, body, ["ps0", "ls0", "accelerometer"])
    assert "version" in robot.identity.lower()
    check(robot)
    assert 0 <= robot.values["ps0"] <= 4095 and 0 <= robot.values["ls0"] <= 4095
    weight = sum(each**2 for each in robot.values["accelerometer"]) ** 0.5
    assert 5 < weight < 15, robot.values
