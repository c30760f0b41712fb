"""The interface of the API: what a script may import and call, against libController of R2025a."""

import math
import subprocess
import sys
from contextlib import closing
from ctypes import ArgumentError
from pathlib import Path
from typing import Any

import pytest

import hilgw.api
from hilgw.api import (
    LED,
    AnsiCodes,
    DistanceSensor,
    Emitter,
    Lidar,
    Motor,
    Receiver,
    Robot,
    Supervisor,
    TouchSensor,
)
from hilgw.protocols.webots.device_messages import (
    EmitterConfiguration,
    JointConfiguration,
    ReceiverConfiguration,
)
from tests.api.simulator import Simulator, motor

DEVICES: list[tuple[str, str, Any]] = [
    ("DistanceSensor", "ds", None),
    ("LED", "led", None),
    ("Receiver", "rx", lambda tag: ReceiverConfiguration(tag, -1, 0, ())),
    ("Emitter", "tx", lambda tag: EmitterConfiguration(tag, -1, 0, -1.0, -1.0, -1.0, ())),
    ("RotationalMotor", "wheel", lambda tag: motor(tag, lowest=0.0, highest=0.0)),
    ("Brake", "stop", lambda tag: JointConfiguration(tag, 0)),
]
INTEGERS = """ds.enable rx.enable rx.setChannel tx.setChannel led.set wheel.enableForceFeedback
wheel.enableTorqueFeedback robot.step robot.stepBegin robot.batterySensorEnable
robot.getDeviceByIndex keyboard.enable mouse.enable joystick.enable joystick.getAxisValue
joystick.getPovValue joystick.setConstantForce joystick.setForceAxis"""
DOUBLES = """tx.setRange wheel.setPosition wheel.setVelocity wheel.setAcceleration wheel.setForce
wheel.setTorque wheel.setAvailableForce wheel.setAvailableTorque stop.setDampingConstant
joystick.setConstantForceDuration joystick.setAutoCenteringGain joystick.setResistanceGain"""
TEXTS = "robot.setCustomData robot.wwiSendText robot.getUrdf"


@pytest.fixture
def simulator() -> Simulator:
    return Simulator(DEVICES)


def method(robot: Robot, name: str) -> Any:
    of, _, setter = name.partition(".")
    owner = robot if of == "robot" else getattr(robot, of, None) or robot.getDevice(of)
    return getattr(owner, setter)


@pytest.mark.parametrize("name", INTEGERS.split())
def test_other_values_than_integers_are_refused_at_their_call(robot: Robot, name: str) -> None:
    for value in (32.0, 1.5, math.nan, "32", b"3", [], {}):
        with pytest.raises(ArgumentError, match="takes an integer"):
            method(robot, name)(value)


@pytest.mark.parametrize("name", ["ds.enable", "rx.enable", "keyboard.enable"])
def test_a_period_of_true_is_one_and_none_disables(robot: Robot, name: str) -> None:
    owner = method(robot, name).__self__
    owner.enable(True)
    assert owner.getSamplingPeriod() == 1
    owner.enable(None)
    assert owner.getSamplingPeriod() == 0
    with pytest.raises(ArgumentError, match=r"write int\(32.0\)"):
        owner.sampling_period = 32.0


@pytest.mark.parametrize("name", DOUBLES.split())
def test_numbers_are_not_texts(robot: Robot, name: str) -> None:
    for value in ("a", "2.5", b"1", None, []):
        with pytest.raises(TypeError):
            method(robot, name)(value)


@pytest.mark.parametrize("name", TEXTS.split())
def test_texts_are_not_numbers(robot: Robot, name: str) -> None:
    for value in (5, None, b"x", ["a"]):
        with pytest.raises(TypeError):
            method(robot, name)(value)
    assert robot.getCustomData() == "data"


def test_arguments_of_several_values(robot: Robot) -> None:
    refused: list[tuple[type[Exception], Any, tuple[Any, ...]]] = [
        (ArgumentError, robot.waitForUserInputEvent, (4, 1.5)),
        (ArgumentError, robot.setMode, ("2",)),
        (TypeError, robot.setMode, (0, 5)),
        (TypeError, robot.getDevice("wheel").setControlPID, (1.0, "0", 0.0)),
        (TypeError, Motor, (5.0,)),
    ]
    for error, call, given in refused:
        with pytest.raises(error):
            call(*given)
    assert robot.getDevice(5) is None


def test_a_missing_device_answers_as_tag_0(robot: Robot) -> None:
    tx, rx, motor, led = Emitter("nix"), Receiver("nix"), Motor("nix"), LED("nix")
    sensor = DistanceSensor("nix", 32)
    for device in (tx, rx):
        device.setChannel(3)
        assert device.getChannel() == device.channel == -1
    tx.setRange(2.0)
    assert math.isnan(tx.getRange()) and tx.getBufferSize() == -1
    assert rx.getQueueLength() == rx.getDataSize() == -1 and math.isnan(rx.getSignalStrength())
    motor.setVelocity(2.0)
    motor.setPosition(2.0)
    motor.enableTorqueFeedback(32)
    assert motor.getTorqueFeedbackSamplingPeriod() == 0
    getters = "TargetPosition Velocity Acceleration AvailableForce MaxForce MinPosition Multiplier"
    assert all(math.isnan(getattr(motor, f"get{name}")()) for name in getters.split())
    sensor.enable(32)
    assert sensor.getSamplingPeriod() == 0 and math.isnan(sensor.getValue())
    led.set(5)
    assert led.get() == 0
    assert TouchSensor("nix", 32).getSamplingPeriod() == 0


def test_every_channel_is_minus_one(simulator: Simulator, robot: Robot) -> None:
    tx, rx = robot.getDevice("tx"), robot.getDevice("rx")
    tx.setChannel(Emitter.CHANNEL_BROADCAST)
    rx.setChannel(Receiver.CHANNEL_BROADCAST)
    tx.send(b"all")
    robot.step(32)
    assert [each.channel for each in simulator.commands()] == [-1, -1]


@pytest.mark.parametrize("length", [-1, 0, -(2**31)])
def test_a_length_below_one_is_an_error_line(
    robot: Robot, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    assert robot.getDevice("tx").send(b"abc", length) == 0
    text = f"wb_emitter_send(): invalid size={length} argument."
    assert text in capsys.readouterr().err


def test_the_length_is_that_of_bytes_alone(simulator: Simulator, robot: Robot) -> None:
    tx = robot.getDevice("tx")
    tx.send("abcdef", 3)
    tx.send([1, 2], 1)
    tx.send(memoryview(b"abcdef"), 3)
    with pytest.raises(ArgumentError):
        tx.send(b"abc", 2.0)
    robot.step(32)
    sizes = [len(each.data) for each in simulator.commands()]
    assert sizes == [6, 8, 3]


def test_the_first_number_decides_also_as_a_subclass(simulator: Simulator, robot: Robot) -> None:
    class Metres(float): ...

    robot.getDevice("tx").send([Metres(1.5), 2])
    robot.step(32)
    assert len(simulator.commands()[0].data) == 16


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
