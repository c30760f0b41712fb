"""A real Create 2, its wheels off the ground: `tools/test tests/real --create2 /dev/ttyUSB0`. In
full mode, as it drives no wheel that hangs in the air otherwise."""

from pathlib import Path

import pytest

from tests.real.robots import PATIENT, check, drive


def test_a_create2(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    port = str(Path(request.config.getoption("--create2")).absolute())
    body = {"kind": "create2", "port": port, "mode": "full", **PATIENT}
    robot = drive(tmp_path, body, ["bumper_left", "cliff_left", "light_bumper_left"])
    assert "Create 2 in full mode, battery" in robot.identity
    check(robot)
    assert robot.values["bumper_left"] in (0, 1)
    assert 0 <= robot.values["cliff_left"] <= 4095
