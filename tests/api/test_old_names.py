"""Functions of Robot that Webots has renamed: programs that were written with them go on."""

import sys

import pytest

from hilgw.api import Keyboard, Motor, Robot
from hilgw.protocols.webots.device_messages import MotorConfiguration
from hilgw.protocols.webots.robot_messages import Battery, KeyboardKeys
from tests.api.simulator import Simulator, robot_of


def test_old_names_do_what_their_successors_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["brain.py", "--fast", "7"])
    simulator = Simulator([("RotationalMotor", "wheel", lambda tag: motor(tag))])
    robot = robot_of(simulator)
    try:
        assert isinstance(robot.getServo("wheel"), Motor)
        assert robot.getServo("nothing") is None and robot.getMotor("wheel").name == "wheel"
        assert robot.getData() == "data" and robot.getType() == 34
        robot.setData("more")
        assert robot.getCustomData() == "more"
        assert robot.getControllerArguments() == "--fast 7" and robot.getControllerName() == ""
        robot.batterySensorEnable(64)
        assert robot.getBatterySamplingPeriod() == 64
        robot.keyboardEnable(32)
        code = Robot.KEYBOARD_CONTROL | ord("B")
        simulator.answers = [[KeyboardKeys((code, Keyboard.UP)), Battery(1.0)], []]
        robot.step(32)
        keys = [robot.keyboardGetKey() for _ in range(3)]
        assert keys == [code, Robot.KEYBOARD_UP, 0] and code & Robot.KEYBOARD_KEY == ord("B")
        robot.keyboardDisable()
        assert robot.keyboard.getSamplingPeriod() == 0
    finally:
        robot.close()
    errors = capsys.readouterr().err
    assert "Robot.getServo is deprecated, please use Robot.getDevice instead." in errors
    assert "Robot.keyboardGetKey is deprecated, please use Keyboard.getKey instead." in errors


def motor(tag: int) -> MotorConfiguration:
    return MotorConfiguration(
        tag=tag,
        type=0,
        minPosition=0.0,
        maxPosition=0.0,
        maxVelocity=10.0,
        acceleration=-1.0,
        maxForce=10.0,
        p=10.0,
        i=0.0,
        d=0.0,
        targetPosition=0.0,
        targetVelocity=10.0,
        multiplier=1.0,
    )
