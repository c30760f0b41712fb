"""Two real Feetech STS servos with ids 1 and 2, free to turn, at 1 Mbit/s:
`tools/test tests/real --feetech /dev/ttyUSB0`."""

from pathlib import Path

import pytest

from tests.real.robots import PATIENT, check, drive


def test_two_servos(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    port = str(Path(request.config.getoption("--feetech")).absolute())
    body = {"kind": "feetech", "port": port, **PATIENT, "answer_ms": 200}
    robot = drive(tmp_path, body, [])
    assert robot.identity.startswith("Feetech servos 1: model ")
    check(robot)
