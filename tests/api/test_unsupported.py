"""What an unmodified script may import, and what it may not use."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import hilgw.api
from hilgw.api import AnsiCodes, Lidar, Supervisor
from hilgw.api.robot import Robot
from tests.api.simulator import Simulator

# The names that Webots' package exports (R2025a).
NAMES = """Accelerometer Altimeter AnsiCodes Brake Camera CameraRecognitionObject Compass Connector
ContactPoint Display DistanceSensor Emitter Field GPS Gyro InertialUnit Joystick Keyboard LED Lidar
LidarPoint LightSensor Motion Motor Mouse MouseState Node PositionSensor Proto Radar RadarTarget
RangeFinder Receiver Robot Skin Speaker Supervisor TouchSensor VacuumGripper"""


def test_every_name_of_webots_can_be_imported() -> None:
    assert set(NAMES.split()) <= set(hilgw.api.__all__)
    assert AnsiCodes.RED_FOREGROUND == "\x1b[31m" and AnsiCodes.RESET == "\x1b[0m"


def test_an_unsupported_class_fails_when_it_is_made() -> None:
    with pytest.raises(NotImplementedError, match="does not support Lidar; run the controller"):
        Lidar("lidar")


def test_a_supervisor_is_a_robot_without_functions_of_a_supervisor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from hilgw.api.session import Session

    with closing(Supervisor(session=Session(Simulator()))) as robot:
        assert Robot.created is robot and robot.step(32) == 0
        assert robot.getFromDef("ROVER") is None and robot.getRoot() is None
        assert robot.simulation_mode is None
        assert capsys.readouterr().err.count("have no effect without Webots") == 1
        with pytest.raises(AttributeError):
            robot.nothing  # noqa: B018


@pytest.mark.process
def test_a_bare_python_runs_the_api() -> None:
    """Without any other package, and without those of the user."""
    code = (
        "import sys, pkgutil, importlib; sys.path[:0] = sys.argv[1:]; "
        "import controller, hilgw.api; "
        "[importlib.import_module(f'hilgw.api.{each.name}') for each in "
        "pkgutil.iter_modules(hilgw.api.__path__)]; print(controller.Robot.__module__)"
    )
    package = Path(hilgw.api.__file__).parent
    command = [sys.executable, *["-I", "-S", "-W", "error", "-c"], code]
    done = subprocess.run(
        [*command, package / "path", package.parents[1]], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("hilgw.api.robot\n", "")


@pytest.mark.process
def test_the_api_imports_no_event_loop_and_no_large_library() -> None:
    """It runs on small boards, in a program of the user: what it imports counts."""
    code = (
        "import sys; before = set(sys.modules); from controller import Robot, Camera, Supervisor; "
        "print(*sorted({each.partition('.')[0] for each in set(sys.modules) - before}))"
    )
    folder = Path(hilgw.api.__file__).parent / "path"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "asyncio" not in loaded
    assert loaded - set(sys.stdlib_module_names) == {"controller", "hilgw"}
