"""A real robot that moves by itself or loses its zero: it is stopped again. Asked of its mock."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.bodies.create2 import Create2Settings
from hilgw.bodies.dynamixel import DynamixelSettings
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.bodies.epuck import EPuckSettings
from hilgw.bodies.feetech import FeetechSettings
from hilgw.bodies.feetech.settings import ServoSettings as FeetechServo
from hilgw.control.events import MotorCommand, MotorField, SensorSwitch, SensorValue, StopReason
from hilgw.control.safety import Standstill
from hilgw.devices.kinds import (
    LINEAR_MOTOR,
    POSITION_SENSOR,
    ROTATIONAL_MOTOR,
    SENSOR,
    Device,
    Devices,
)
from hilgw.devices.properties import PositionSensorFields, RotationalMotorFields
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.errors import SafetyError
from tests.bodies.bench import shipped
from tests.engine.control_loop.on_mocks import OnMock, declared

MS = 1_000_000
NOTICE = "although disarmed: pushed by hand, or driven by something else"
GOAL_VELOCITY = 104


def resting(kind: str, *, stopped: bool = True, simulated: bool = False, **safety: Any) -> OnMock:
    """A robot that is up and not armed, whose controller reads its positions."""
    robot = OnMock(kind, simulated=simulated, armed=False, latch=True, **safety).start()
    devices = robot.loop.body.session.devices
    for device in devices:
        if device.role == SENSOR and "position" in device.kind.lower():
            robot.give(SensorSwitch(device.index, None))
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
    table = Devices()
    table.add(
        Device(
            name="motor", kind=ROTATIONAL_MOTOR, index=0, fields=RotationalMotorFields(joint="j")
        )
    )
    table.add(
        Device(name="sensor", kind=POSITION_SENSOR, index=1, fields=PositionSensorFields(joint="j"))
    )
    table.add(Device(name="lift", kind=LINEAR_MOTOR, index=2, default=0.0))
    return table


def moves(values: list[float], index: int = 1, period_ms: int = 20) -> bool:
    standstill, table = Standstill(0), devices()
    return any(
        standstill.moving([SensorValue(index, value)], table, number * period_ms * MS)
        for number, value in enumerate(values)
    )


def test_the_stop_is_written_three_times_in_a_second_then_each_two_and_anew_after_a_pause() -> None:
    standstill = Standstill(0)
    due = [ms for ms in (*range(8_000), *range(20_000, 24_000)) if standstill.is_due(ms * MS)]
    assert due == [1_000, 1_300, 1_600, 3_600, 5_600, 7_600, 20_000, 20_300, 20_600, 22_600]


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


VALVE, X = "valve motor", "x motor"
TURN = 6.2832
SLOW = {"late_s": 10.0, "command_timeout_s": 30.0}
REAL: dict[str, Any] = {"simulated": False, "armed": True, **SLOW}


def valve(**servo: Any) -> OnMock:
    """A servo of several turns, which is at 8.5 rad."""
    servos = {VALVE: ServoSettings(id=1, multi_turn=True, **servo)}
    settings = DynamixelSettings(port="/dev/x", motors=servos)
    robot = OnMock("dynamixel", settings, **REAL).start()
    go(robot, 8.5)
    robot.run(4_000)
    assert robot.mock.servos[1].pulses == pytest.approx(2048 + 8.5 / TURN * 4096, abs=2)
    return robot


def go(robot: OnMock, position: float) -> None:
    robot.give(MotorCommand(robot.motors[0].index, MotorField.POSITION, position))


def restarted(robot: OnMock, boot: Any) -> None:
    boot()
    robot.run(1, until=lambda: not robot.is_up, limit_ms=2_000)
    robot.run(1, until=lambda: robot.is_up, limit_ms=6_000)
    robot.run(300)
    robot.loop.controller_comes()


def refusal(robot: OnMock, *accepted: str) -> str:
    with pytest.raises(SafetyError) as error:
        robot.loop.loop.arm(accepted)
    return str(error.value)


def test_a_servo_of_several_turns_is_named_after_a_brown_out_and_does_not_turn() -> None:
    robot = valve()
    servo = robot.mock.servos[1]
    restarted(robot, servo.boot)
    before = servo.pulses
    text = f"'{VALVE}' was 8.5 rad, is 2.217: home it"
    assert text in refusal(robot) and text in refusal(robot, "another motor")
    assert "--accept-positions" in refusal(robot)
    go(robot, 8.5)
    robot.run(1_000)
    assert servo.pulses == before and not servo.torque
    robot.loop.loop.arm([VALVE])
    go(robot, 2.5)
    robot.run(1_000)
    assert servo.pulses == pytest.approx(2048 + 2.5 / TURN * 4096, abs=2)


def test_an_accepted_position_is_the_one_that_counts_from_then_on() -> None:
    robot = valve()
    restarted(robot, robot.mock.servos[1].boot)
    robot.loop.loop.arm([VALVE])
    robot.disarm()
    robot.loop.loop.arm()
    go(robot, 8.5)
    robot.run(4_000)
    restarted(robot, robot.mock.servos[1].boot)
    assert "was 8.5 rad" in refusal(robot, "valve")


def test_a_feetech_servo_that_counts_turns_loses_its_zero_too() -> None:
    servos = {VALVE: FeetechServo(id=1, multi_turn=True)}
    mock = {"registers": "1:18:28, 1:11:0, 1:12:0"}
    settings = FeetechSettings(port="/dev/x", motors=servos, mock=mock)
    robot = OnMock("feetech", settings, **REAL).start()
    go(robot, 8.5)
    robot.run(4_000)
    restarted(robot, robot.mock.servos[1].boot)
    assert "'valve motor' was 8.5 rad" in refusal(robot)


def test_a_controller_that_wants_no_positions_hides_no_lost_zero() -> None:
    robot = valve()
    robot.give(SensorSwitch(robot.motors[0].index + 1, 0))
    go(robot, 15.0)
    robot.run(4_000)
    restarted(robot, robot.mock.servos[1].boot)
    assert "was 15 rad" in refusal(robot)


def test_a_connection_that_was_lost_alone_loses_no_zero() -> None:
    robot = valve()
    servo = robot.mock.servos[1]
    before = servo.pulses
    robot.loop.robot_leaves()
    robot.run(100)
    robot.loop.body.attach(robot.loop.robot)
    robot.run(1, until=lambda: robot.is_up, limit_ms=6_000)
    robot.run(300)
    robot.loop.loop.arm()
    assert servo.pulses == before and robot.loop.safety.armed


def test_a_servo_of_one_turn_keeps_its_zero() -> None:
    servos = {VALVE: ServoSettings(id=1)}
    settings = DynamixelSettings(port="/dev/x", motors=servos)
    robot = OnMock("dynamixel", settings, **REAL).start()
    go(robot, 1.5)
    robot.run(2_000)
    restarted(robot, robot.mock.servos[1].boot)
    robot.loop.loop.arm()
    assert robot.loop.safety.armed


def machine(**motor: Any) -> OnMock:
    """A machine whose x axis is at 50 mm."""
    settings = shipped("gcode")
    axis = replace(settings.motors[X], **motor)
    settings = replace(settings, motors=settings.motors | {X: axis})
    robot = OnMock("text", settings, **REAL).start()
    go(robot, 0.05)
    robot.run(3_000)
    assert robot.mock.position[0] == pytest.approx(50, abs=0.01)
    return robot


def test_a_machine_that_restarted_is_named_and_stays_where_it_is() -> None:
    robot = machine()
    restarted(robot, lambda: robot.mock.reset(robot.loop.scheduler.now()))
    assert f"'{X}' was 0.05 m, is 0: home it" in refusal(robot)
    go(robot, 0.05)
    robot.run(1_000)
    assert robot.mock.position[0] == 0
    robot.loop.loop.arm([X])
    go(robot, 0.02)
    robot.run(2_000)
    assert robot.mock.position[0] == pytest.approx(20, abs=0.01)


def test_an_axis_that_finds_its_zero_by_itself_needs_no_confirmation() -> None:
    robot = machine(incremental=False)
    restarted(robot, lambda: robot.mock.reset(robot.loop.scheduler.now()))
    robot.loop.loop.arm()
    assert robot.loop.safety.armed


def test_a_work_zero_may_be_set_in_the_run() -> None:
    settings = replace(shipped("gcode"), frame="work", limits={})
    robot = OnMock("text", settings, **REAL).start()
    go(robot, 0.05)
    robot.run(3_000)
    robot.mock.receive(b"G92 X0\n", robot.loop.scheduler.now())
    robot.run(1_000)
    assert dict(robot.loop.loop.statistics.named_values({}))["x sensor"] == 0
    assert robot.loop.safety.armed
    go(robot, 0.01)
    robot.run(2_000)
    assert robot.mock.position[0] == pytest.approx(60, abs=0.01)
    restarted(robot, lambda: robot.mock.reset(robot.loop.scheduler.now()))
    assert f"'{X}' was 0.01 m, is " in refusal(robot)


def test_a_fast_axis_whose_reports_come_late_has_its_zero() -> None:
    """The controller may command more than the velocity at the start, up to the limit."""
    robot = OnMock("text", shipped("gcode"), **REAL).start()
    robot.give(MotorCommand(robot.motors[0].index, MotorField.VELOCITY, 0.08))
    go(robot, 0.18)
    robot.run(400)
    begin = robot.mock.position[0]
    robot.run(100)
    assert robot.mock.position[0] - begin > 5.5  # mm: more than 0.05 m/s
    robot.run(3_000)
    assert robot.loop.safety.armed and robot.mock.position[0] == pytest.approx(180, abs=0.01)


class Released:
    """An emergency-stop switch that is closed."""

    cause = ""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def demand_released(self) -> None: ...


def test_a_lease_and_a_start_armed_have_the_same_confirmation() -> None:
    robot = machine()
    loops = ControlLoops(robot.loop.scheduler)
    loops.add(robot.loop.loop)
    loops.estop = Released()
    restarted(robot, lambda: robot.mock.reset(robot.loop.scheduler.now()))
    robot.loop.safety.armed = True  # as the option --arm does, before it is held back
    loops.hold_back()
    loops.arm_held()
    assert not robot.loop.safety.armed
    names = [robot.loop.loop.name]
    with pytest.raises(SafetyError, match=r"was 0\.05 m, is 0: home it"):
        Lease(loops, robot.loop.scheduler, names)
    Lease(loops, robot.loop.scheduler, names, None, [X])
    assert robot.loop.safety.armed


@pytest.mark.parametrize("unplugged", [False, True])
@pytest.mark.parametrize(
    ("kind", "kinds"), [("create2", Create2Settings), ("epuck", EPuckSettings)]
)
def test_wheels_go_on_from_where_they_were(kind: str, kinds: Any, *, unplugged: bool) -> None:
    """The encoders begin anew: the angle neither jumps nor keeps the robot from being armed."""
    settings = kinds(port="/dev/x", always_on=("left wheel sensor",))
    robot = OnMock(kind, settings, **REAL).start()
    for motor in robot.motors:
        robot.give(MotorCommand(motor.index, MotorField.VELOCITY, 6.0))
    robot.run(2_200)
    angle = dict(robot.loop.loop.statistics.named_values({}))["left wheel sensor"]
    assert angle > 10

    def boot() -> None:
        if unplugged:
            robot.loop.robot_leaves()
            robot.run(100)
        if kind == "create2":
            robot.mock.floor.left_mm = robot.mock.floor.right_mm = 0.0
        robot.mock.reset(robot.loop.scheduler.now())
        if unplugged:
            robot.loop.body.attach(robot.loop.robot)

    restarted(robot, boot)
    again = dict(robot.loop.loop.statistics.named_values({}))["left wheel sensor"]
    assert again == pytest.approx(angle, abs=1)
    robot.loop.loop.arm()


SAFETY = {"command_timeout_s": 0.5, "late_s": 1.0, "latch": True}


# The goal of velocity, and the register that a restart changes, with its number once it is set up.
KINDS = {"dynamixel": ((104, 4), (98, 10)), "feetech": ((46,), (55, 0))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [1, 2])
def test_the_others_stop_the_body_is_lost_and_the_robot_disarmed(number: int, kind: str) -> None:
    goal, (marker, set_up) = KINDS[kind]
    robot = OnMock(kind, **SAFETY).start()
    robot.command(1.0, 1.0)
    robot.run(200)
    robot.command(2.0, 2.0)
    servos = robot.mock.servos
    other = servos[3 - number]
    assert all(servo.moves for servo in servos.values())
    servos[number].boot()

    def commands_go_on() -> bool:
        if robot.is_up:
            robot.command(2.0, 2.0)
        return not robot.is_up

    robot.run(1, until=commands_go_on, limit_ms=350)
    robot.run(2)
    assert other.get(*goal) == 0 and not other.moves
    assert not robot.loop.safety.armed
    assert robot.loop.body.session.counts["differences"] == 1
    begin = [servo.pulses for servo in servos.values()]
    robot.run(1, until=lambda: robot.is_up, limit_ms=3_000)
    assert [servo.table[marker] for servo in servos.values()] == [set_up, set_up]
    robot.loop.controller_comes()
    robot.command(2.0, 2.0)  # refused: the user has to arm it
    robot.run(200)
    assert [servo.pulses for servo in servos.values()] == begin
