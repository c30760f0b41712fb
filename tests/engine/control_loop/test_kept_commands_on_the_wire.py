"""A controller that is stepped commands a motor once, as in Webots: its robot receives the command
again as long as the controller steps. Asked of the bytes and the motion of the mock."""

import math
from typing import Any

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.control.events import Command, MotorCommand, MotorSettings, StepRequest, StopReason
from tests.engine.control_loop.on_mocks import OnMock, kinds

GO, SLOW = 3.0, 0.5  # rad/s
TYPES = wire.types_of("R2025a")


def stepped(kind: str, settings: Any = None, **safety: Any) -> OnMock:
    return OnMock(kind, settings, step_ms=32, **safety).start()


def messages(robot: OnMock) -> list[bytes]:
    """What the robot of WC2EC was sent since the last call."""
    robot.carry()
    data, robot.written = robot.written, b""
    found = wire.whole_messages(data, TYPES, extended=True)
    assert found is not None, data.hex(" ")
    return found


def velocity(index: int, value: float) -> bytes:
    return wire.value(wire.SET_VALUE, TYPES.rotational_motor, index, value)


def adds_up(robot: OnMock) -> dict[str, int]:
    """Every command of the controller has one outcome."""
    report = robot.loop.loop.report()
    refused = sum(report["refused"].values())
    lost = report.get("commands_superseded", 0) + report.get("commands_dropped", 0)
    assert report["commands_in"] == report["commands_out"] + lost + refused
    return dict(report)


def wheels(robot: OnMock) -> list[int]:
    return [each.index for each in robot.motors if each.kind == "RotationalMotor"]


def test_commands_reach_the_robot_again_while_the_controller_steps_and_count_once() -> None:
    robot = stepped("wc2ec")
    left, right = wheels(robot)[:2]
    both = [velocity(left, GO), velocity(right, GO)]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)), StepRequest(32))
    robot.run(32)
    assert messages(robot) == both
    robot.steps(10)
    assert messages(robot) == both * 2  # not more often than each 100 ms
    assert adds_up(robot)["commands_out"] == 2
    robot.run(1_000)  # a controller that freezes asks for no step
    assert messages(robot) == []


def test_nothing_is_sent_again_after_a_stop_and_later_only_what_came_since() -> None:
    robot = stepped("wc2ec")
    left, right = wheels(robot)[:2]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)), StepRequest(32))
    robot.run(32)
    robot.loop.loop.safety.stop(StopReason.LATE, robot.loop.scheduler.now())
    robot.run(100)
    messages(robot)
    robot.steps(10)
    assert messages(robot) == [] and not robot.moves
    robot.sends(MotorCommand(right, "velocity", GO))
    robot.steps(11)
    assert set(messages(robot)) == {velocity(right, GO)}
    adds_up(robot)


def test_a_motor_that_a_refusal_stopped_stays_and_the_other_goes_on() -> None:
    robot = stepped("wc2ec", simulated=False, armed=True, command_timeout_s=0)
    left, right = wheels(robot)[:2]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)))
    robot.steps(1)
    robot.sends(MotorCommand(left, "velocity", math.nan))
    robot.steps(1)
    messages(robot)
    robot.steps(10)
    assert set(messages(robot)) == {velocity(right, GO)}
    robot.sends(MotorCommand(left, "velocity", SLOW))
    messages(robot)
    robot.steps(10)
    assert set(messages(robot)) == {velocity(right, GO), velocity(left, SLOW)}
    adds_up(robot)


def test_a_command_of_another_mode_takes_the_place_of_those_before() -> None:
    """Oldest set first: what comes again leaves the motor as the newest command has it."""
    robot = stepped("webots")
    left = wheels(robot)[0]
    motor = robot.mock.world.robots["robot"].robot.body.motors[0]
    settings = MotorSettings(left, math.inf, 2.0, -1.0, 10.0)
    robot.sends(settings)
    robot.steps(20)
    assert motor.velocity == 2.0
    robot.sends(MotorCommand(left, "torque", 0.5))
    velocities = []
    for _ in range(20):
        robot.steps(1)
        velocities.append(motor.velocity)
    assert velocities == sorted(velocities) and velocities[-1] > 2.2  # it accelerates all the time
    robot.sends(MotorCommand(left, "position", math.inf), MotorCommand(left, "velocity", 1.0))
    robot.steps(4)
    motor.force = 0.25  # no torque comes any more that would overwrite it
    robot.steps(20)
    assert (motor.velocity, motor.force) == (1.0, 0.25)
    robot.sends(MotorCommand(left, "torque", 0.5))
    robot.sends(settings)
    robot.steps(20)
    assert motor.velocity == 2.0
    adds_up(robot)


@pytest.mark.parametrize("kind", kinds())
def test_a_stop_ends_what_is_sent_again_on_every_robot(kind: str) -> None:
    robot = stepped(kind)
    robot.sends(*(command_to(robot, each.index) for each in robot.motors))
    robot.steps(8)
    assert robot.moves, "it moves while its controller steps"
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now())
    robot.run(50)
    robot.steps(30)
    assert not robot.moves
    adds_up(robot)


def command_to(robot: OnMock, index: int) -> Command:
    device = next(each for each in robot.motors if each.index == index)
    return robot.subject.motion(device)
