"""A wheel of a Create 2 that draws too much current stops the robot: asked of the mock's wheels."""

import pytest

from hilgw.control.events import MotorCommand, MotorField
from hilgw.errors import SafetyError
from tests.engine.control_loop.on_mocks import OnMock


def driving(*, on_fault: str) -> OnMock:
    robot = OnMock("create2", simulated=False, armed=True, on_fault=on_fault).start()
    for motor in robot.motors:
        command = MotorCommand(motor.index, MotorField.VELOCITY, 2.0)
        robot.loop.loop.events([command], robot.loop.scheduler.now())
    robot.run(100)
    assert robot.moves
    return robot


def test_an_overcurrent_stops_latches_and_keeps_the_robot_from_being_armed() -> None:
    robot = driving(on_fault="stop")
    robot.mock.set("overcurrent", "left")
    robot.run(60)
    assert robot.mock.drive == (0, 0)
    assert robot.loop.safety.latched == "hardware_fault"
    with pytest.raises(SafetyError, match="'left wheel motor': overcurrent"):
        robot.loop.loop.arm()
    robot.mock.set("overcurrent", "none")
    robot.run(60)
    robot.loop.loop.arm()
    assert robot.loop.safety.armed


def test_an_overcurrent_is_only_shown_where_on_fault_is_report() -> None:
    robot = driving(on_fault="report")
    robot.mock.set("overcurrent", "left")
    robot.run(60)
    assert robot.moves
