"""Arguments of the API against those of libController's Python binding: controller/*.py of R2025a,
read call by call. ctypes converts None and integers to an int, numbers to a double by c_double, and
`str.encode` takes texts; it refuses all else."""

import math
from ctypes import ArgumentError
from typing import Any

import pytest

from hilgw.api import LED, DistanceSensor, Emitter, Motor, Receiver, Robot, TouchSensor
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
    for each in (tx, rx):
        each.setChannel(3)
        assert each.getChannel() == each.channel == -1
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
