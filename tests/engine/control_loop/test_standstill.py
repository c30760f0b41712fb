"""A real robot that moves by itself after a stop gets the stop again. Asked of its mock."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control.events import SensorSwitch, SensorValue, StopReason
from hilgw.devices.kinds import (
    LINEAR_MOTOR,
    POSITION_SENSOR,
    ROTATIONAL_MOTOR,
    SENSOR,
    Device,
    Devices,
)
from hilgw.devices.properties import PositionSensorFields, RotationalMotorFields
from hilgw.engine.control_loop.bodies.standstill import Standstill
from tests.engine.control_loop.on_mocks import OnMock, declared

MS = 1_000_000
NOTICE = "although disarmed: pushed by hand, or driven by something else"
GOAL_VELOCITY = 104


def resting(kind: str, *, stopped: bool = True, simulated: bool = False, **safety: Any) -> OnMock:
    """A robot that is up and not armed, whose controller reads its positions."""
    robot = OnMock(kind, simulated=simulated, armed=False, latch=True, **safety).start()
    devices = robot.loop.body.session.devices
    for each in devices:
        if each.role == SENSOR and "position" in each.kind.lower():
            robot.give(SensorSwitch(each.index, None))
    if stopped:
        robot.disarm()
    robot.run(1_500)
    robot.written.clear()
    return robot


def motion_of(kind: str) -> bytes:
    """What another program writes to move the robot."""
    driver = OnMock(kind).start()
    driver.run(100)
    driver.written.clear()
    driver.command(*[1.0] * len(driver.motors))
    driver.run(100)
    return bytes(driver.written)


def shown(robot: OnMock) -> list[str]:
    return [each for each in robot.loop.observer.notices if "although" in each]


def stops_again(robot: OnMock) -> int:
    return int(robot.loop.loop.report().get("standstill_stops", 0))


def another_program(robot: OnMock) -> None:
    if robot.body.kind == "dynamixel":  # its torque is on
        for servo in robot.mock.servos.values():
            servo.put(GOAL_VELOCITY, 100, 4)
    else:
        robot.mock.receive(motion_of(robot.body.kind), robot.loop.scheduler.now())


def driven_before(kind: str, **safety: Any) -> OnMock:
    """A robot that this controller has moved, and that was disarmed then."""
    robot = resting(kind, stopped=False, **safety)
    robot.loop.loop.arm()
    robot.command()
    robot.run(100)
    assert robot.moves
    robot.disarm()
    robot.run(2_000)
    assert not robot.moves
    robot.loop.observer.stops.clear()
    robot.written.clear()
    return robot


@pytest.mark.parametrize("kind", ["create2", "text", "dynamixel"])
def test_a_robot_that_another_program_drives_stops_is_named_and_counted(kind: str) -> None:
    robot = driven_before(kind)
    stops = dict(robot.loop.safety.stops)
    another_program(robot)
    robot.run(20)
    assert robot.moves
    robot.run(1, until=lambda: not robot.moves, limit_ms=1_500)
    robot.run(1_000)
    assert not robot.moves and stops_again(robot) >= 1
    (text,) = shown(robot)
    assert NOTICE in text and "left wheel motor" in text
    assert robot.loop.observer.stops == [] and robot.loop.safety.stops == stops


def test_the_speeds_of_an_epuck_are_set_anew_at_once() -> None:
    """Each of its answers has them."""
    robot = driven_before("epuck")
    another_program(robot)
    robot.run(1, until=lambda: not robot.moves, limit_ms=500)
    robot.run(1_000)
    assert not robot.moves


def test_a_lift_that_a_firmware_moves_is_stopped_where_it_is() -> None:
    settings = replace(
        declared("wc2ec").settings_with(default_position={}), mock={"lift": "yes", "watchdog_ms": 0}
    )
    robot = OnMock("wc2ec", settings, simulated=False, armed=False).start()
    (lift,) = (each for each in robot.motors if each.kind == LINEAR_MOTOR)
    robot.disarm()
    robot.run(1_500)
    robot.mock.body.motors[lift.index] = 5.0
    robot.run(3_000)
    assert stops_again(robot) >= 1 and robot.mock.body.motors[lift.index] < 1.0
    assert [NOTICE in each for each in shown(robot)] == [True]


@pytest.mark.parametrize("kind", ["create2", "text"])
def test_a_robot_that_no_command_has_moved_is_stopped_too(kind: str) -> None:
    robot = resting(kind)
    another_program(robot)
    robot.run(1_500)
    assert not robot.moves and stops_again(robot) >= 1


@pytest.mark.exhaustive
def test_a_program_that_goes_on_is_stopped_three_times_in_a_second_then_each_two() -> None:
    robot = resting("create2")
    times = []
    for milliseconds in range(8_000):
        if milliseconds % 15 == 0:
            robot.mock.drive = (100, 100)
        before = stops_again(robot)
        robot.run(1)
        if stops_again(robot) > before:
            times.append(milliseconds)
    assert times[0] < 900 and times[2] - times[0] <= 1_000
    assert all(2_000 <= later - earlier < 2_300 for earlier, later in pairwise(times[2:]))
    assert len(times) >= 6 and len(shown(robot)) == 1
    assert len(robot.stop.findall(robot.written)) == len(times)


def test_nothing_is_stopped_that_may_move_or_was_never_stopped() -> None:
    robot = resting("create2", stopped=False)
    another_program(robot)  # before the first stop
    robot.run(2_000)
    assert robot.moves and not stops_again(robot)
    robot = resting("create2")
    robot.loop.loop.arm()
    another_program(robot)
    robot.run(2_000)
    assert robot.moves and not stops_again(robot)
    robot = resting("create2", simulated=True)
    another_program(robot)
    robot.run(2_000)
    assert robot.moves and not stops_again(robot) and not shown(robot)


def test_a_robot_that_is_armed_and_was_stopped_is_stopped_again_until_its_next_command() -> None:
    robot = OnMock("create2", simulated=False, armed=True, latch=False).start()
    robot.give(SensorSwitch(1, None))
    robot.command()
    robot.run(100)
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now())
    robot.run(1_500)
    another_program(robot)
    robot.run(2_000)
    assert not robot.moves and stops_again(robot) >= 1
    count = stops_again(robot)
    robot.loop.controller_leaves()
    robot.loop.controller_comes()
    for _ in range(10):
        robot.command(1.0, 1.0)
        robot.run(200)
    assert robot.moves and stops_again(robot) == count


def test_report_only_names_it() -> None:
    robot = resting("create2", standstill="report")
    another_program(robot)
    robot.run(3_000)
    assert robot.moves and len(shown(robot)) == 1
    assert not robot.stop.search(robot.written) and not stops_again(robot)


def test_a_servo_without_torque_is_moved_by_hand() -> None:
    robot = resting("dynamixel")
    assert not any(servo.torque for servo in robot.mock.servos.values())
    for _ in range(2_000):
        for servo in robot.mock.servos.values():
            servo.pulses += 1
        robot.run(1)
    assert not shown(robot) and not stops_again(robot)
    assert not robot.stop.search(robot.written)


@pytest.mark.parametrize("push_ms", [100, 390])
def test_short_pushes_by_hand_are_not_a_motion(push_ms: int) -> None:
    robot = resting("create2")
    for way in (300, -300, 300, 300):
        robot.mock.drive = (way, way)
        robot.run(push_ms)
        robot.mock.drive = (0, 0)
        robot.run(400)
    assert not shown(robot) and not robot.stop.search(robot.written)


def devices() -> Devices:
    found = Devices()
    found.add(
        Device(
            name="motor", kind=ROTATIONAL_MOTOR, index=0, fields=RotationalMotorFields(joint="j")
        )
    )
    found.add(
        Device(name="sensor", kind=POSITION_SENSOR, index=1, fields=PositionSensorFields(joint="j"))
    )
    found.add(Device(name="lift", kind=LINEAR_MOTOR, index=2, default=0.0))
    return found


def moves(values: list[float], index: int = 1, period_ms: int = 20) -> bool:
    standstill, table = Standstill(0), devices()
    return any(
        standstill.moving([SensorValue(index, value)], table, number * period_ms * MS)
        for number, value in enumerate(values)
    )


@given(values=st.lists(st.floats(-0.02, 0.02), min_size=100, max_size=100))
def test_noise_of_an_encoder_is_not_a_motion(values: list[float]) -> None:
    assert not moves(values)


@given(start=st.floats(-1e3, 1e3), speed=st.floats(0.25, 50), sign=st.sampled_from([-1, 1]))
def test_a_motion_is_seen_within_a_second(start: float, speed: float, sign: int) -> None:
    assert moves([start + sign * speed * number * 0.02 for number in range(50)])


def test_a_velocity_and_nan_are_not_a_motion() -> None:
    assert not moves([float(number) for number in range(200)], index=0)
    assert not moves([math.nan] * 200)


def test_a_lift_that_goes_to_its_default_does_what_the_stop_asks() -> None:
    up = [number / 100 for number in range(200)]
    assert moves(up, index=2) and not moves(up[::-1], index=2)
