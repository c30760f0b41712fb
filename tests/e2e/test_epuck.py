"""The e-puck's configuration as users run it, on the robot's port. The robot is its mock."""

import signal
from pathlib import Path
from typing import Any

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import DEADLINE_S, ROOT, Gateway, patient, run

CONFIG = str(ROOT / "configs" / "epuck.yaml")
PROGRAM = ROOT / "configs" / "epuck_avoid.py"
PATIENT = patient("e-puck", "body.silence_s")


@pytest.fixture
def robot(firmware_mock: Any) -> Any:
    return firmware_mock("epuck", width=0.25, depth=0.25)


def on(port: str, answer_ms: int = 5000) -> list[str]:
    """The shipped file with this port. A busy machine is not a fault of the robot."""
    changes = {"body.port": port, "body.answer_ms": answer_ms}
    given = [f"--set=robots.e-puck.{path}={value}" for path, value in changes.items()]
    return ["--config", CONFIG, "--backend", "real", *given, *PATIENT]


def test_the_shipped_program_drives_the_robot_at_its_port(robot: Any, tmp_path: Path) -> None:
    with Gateway(tmp_path, on(str(robot.port))) as gateway:
        assert run("arm", "e-puck", cwd=tmp_path).returncode == 0
        wait_until(lambda: robot.mock.speeds == (636, 636), what="4 rad/s")
        wait_until(lambda: robot.mock.speeds in ((318, -318), (-318, 318)), what="a turn")
        wait_until(lambda: robot.mock.leds[8] == 1, what="the light of its body")
        wait_until(lambda: abs(robot.mock.arena.heading) > 0.3, what="another heading")
        for number in (signal.SIGTERM, signal.SIGHUP):  # the second ends the process at once
            gateway.process.send_signal(number)
        gateway.process.wait(DEADLINE_S)
        text = gateway.text()
    assert "up: e-puck: Version 1.5.3 November 2016 (Webots), HW version FFFF, selector 3" in text
    wait_until(lambda: robot.mock.speeds == (0, 0), what="the stop")
