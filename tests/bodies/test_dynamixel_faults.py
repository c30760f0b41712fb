"""Hardware errors of Dynamixel servos: named, and no obstacle to a stop."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import (
    Connected,
    Disconnected,
    HardwareFault,
    Notice,
    RefusedRequest,
    StopReason,
)
from tests.bodies.bench import DYNAMIXEL, LEFT, RIGHT, BodyBench
from tests.bodies.servos import MODE, TORQUE, harsh, packets_of, stands, written_to
from tests.cases import cases

up = DYNAMIXEL.up
OVERHEATING, OVERLOAD, VOLTAGE = 4, 32, 1
SHOULDER = {"shoulder": ServoSettings(id=1), "elbow": ServoSettings(id=2)}


def weak(line: BodyBench, number: int = 1, bits: int = VOLTAGE) -> None:
    """An error that leaves the torque on."""
    line.mock.servos[number].fail(bits)


def moving(control: str, **settings: object) -> BodyBench:
    line = up(**settings)
    if control == "velocity":
        line.settings(LEFT, math.inf, 2.0, -1.0, 1.4)
    else:
        line.settings(LEFT, 1.5, 0.5, -1.0, 1.4)
    line.run(200)
    assert line.mock.servos[1].moves
    return line


def test_the_first_alert_is_a_hardware_fault_and_is_listed_while_it_is_present() -> None:
    line = up(motors=SHOULDER)
    assert line.session.faults() == []
    weak(line, 1, OVERLOAD)
    while not line.found(HardwareFault):
        line.run(0.1)
    assert line.session.faults() == ["'shoulder': hardware error"]
    line.run(50)
    assert line.session.faults() == ["'shoulder': hardware error: overload"]
    assert [each.text for each in line.found(Notice)] == ["'shoulder': hardware error: overload"]
    line.run(1_000)
    assert not line.found(HardwareFault) and not line.found(Disconnected)  # once
    weak(line, 1, OVERLOAD | OVERHEATING)
    line.run(400)
    assert line.session.faults() == ["'shoulder': hardware error: overheating, overload"]
    weak(line, 1, 0)
    line.run(50)
    assert line.session.faults() == []
    weak(line, 2, OVERHEATING)
    line.run(50)
    assert line.found(HardwareFault) == [HardwareFault(line.index("elbow"))]


def test_an_error_from_before_the_connection_is_a_fault_of_the_robot_that_is_up() -> None:
    line = DYNAMIXEL.bench({"hardware_error": VOLTAGE})
    line.open(300)
    kinds = [type(event) for event in line.events if not isinstance(event, Notice)]
    assert kinds == [Connected, HardwareFault, HardwareFault]
    assert line.session.faults() == [
        f"'{name}': hardware error: input voltage" for name in (LEFT, RIGHT)
    ]
    line.session.close()
    assert line.session.faults() == []


def test_a_torque_that_an_error_has_switched_off_is_not_a_loss() -> None:
    line = moving("velocity")
    weak(line, 1, OVERLOAD)
    assert not line.mock.servos[1].torque
    line.run(1_000)
    assert not line.found(Disconnected)
    weak(line, 1, 0)
    line.run(50)
    line.command(LEFT, "velocity", 1.0)
    line.run(200)
    assert line.mock.servos[1].moves  # with its mode and torque set anew


def test_an_error_that_keeps_the_torque_off_in_a_change_of_mode_is_not_a_loss() -> None:
    line = moving("position")
    line.command(LEFT, "velocity", 2.0)
    while line.mock.servos[1].torque:
        line.run(0.1)
    weak(line, 1, OVERLOAD)
    line.run(500)
    assert line.found(HardwareFault) and not line.found(Disconnected)
    assert stands(line)
    weak(line, 1, 0)
    line.run(50)
    line.command(LEFT, "velocity", 2.0)
    line.run(200)
    assert line.mock.servos[1].moves


STILL = {
    "velocity": lambda line: line.command(LEFT, "velocity", 0.0),
    "settings": lambda line: line.settings(LEFT, math.inf, 0.0, -1.0, 1.4),
    "settings with a position": lambda line: line.settings(LEFT, -1.0, 0.0, -1.0, 1.4),
    "a position beyond its limits": lambda line: line.settings(LEFT, 9.0, 0.0, -1.0, 1.4),
}


@pytest.mark.parametrize("error", [0, VOLTAGE])
@pytest.mark.parametrize("control", ["velocity", "position"])
@pytest.mark.parametrize("still", STILL)
def test_velocity_0_is_not_refused_and_writes_goals(still: str, control: str, error: int) -> None:
    line = moving(control)
    weak(line, 1, error)
    line.run(100)
    servo = line.mock.servos[1]
    assert servo.moves and (servo.torque, servo.table[MODE]) == (1, 3 if control[0] == "p" else 1)
    (refused, *_) = line.command(LEFT, "velocity", 1.0) if error else [None]
    assert isinstance(refused, RefusedRequest) is bool(error)
    line.written.clear()
    assert not any(isinstance(event, RefusedRequest) for event in STILL[still](line))
    line.run(30)
    assert stands(line)
    assert written_to(bytes(line.written)) <= {104, 116}
    assert (servo.torque, servo.table[MODE]) == (1, 3 if control[0] == "p" else 1)
    assert not line.found(Disconnected)


def test_velocity_control_at_velocity_0_keeps_the_mode_until_a_velocity_comes() -> None:
    line = moving("position")
    line.written.clear()
    line.command(LEFT, "position", math.inf)
    line.run(30)
    assert stands(line) and written_to(bytes(line.written)) == {116}
    line.command(LEFT, "velocity", 2.0)
    line.run(200)
    servo = line.mock.servos[1]
    assert servo.table[MODE] == 1 and servo.moves


def test_velocity_0_of_a_motor_that_was_not_commanded_is_a_command_like_others() -> None:
    line = moving("velocity")
    weak(line)
    line.run(100)
    line.handle(line.session.stop(StopReason.HARDWARE, line.now).events)
    line.run(50)
    line.written.clear()
    (refused,) = line.command(LEFT, "velocity", 0.0)
    assert isinstance(refused, RefusedRequest) and refused.reason == "not_settable"
    line.run(100)
    assert written_to(bytes(line.written)) == set()


@pytest.mark.parametrize("start", [up, lambda: moving("velocity"), lambda: moving("position")])
def test_velocity_0_with_a_position_moves_no_motor_that_stands(start: Any) -> None:
    line = start()
    line.handle(line.session.stop(StopReason.DISARMED, line.now).events)
    line.run(100)
    line.settings(LEFT, -1.0, 0.0, -1.0, 1.4)
    assert stands(line, 2_000, within=1.0)


@pytest.mark.parametrize("control", ["velocity", "position"])
def test_a_stop_works_while_all_servos_have_errors(control: str) -> None:
    line = moving(control)
    line.command(RIGHT, "velocity", -2.0)
    line.run(100)
    for number in (1, 2):
        weak(line, number)
    while len(line.found(HardwareFault)) < 1:
        line.run(0.1)
    assert all(servo.moves for servo in line.mock.servos.values())
    line.handle(line.session.stop(StopReason.HARDWARE, line.now).events)
    line.run(1 if control == "velocity" else 40)  # back to the last position
    assert stands(line)


def test_a_servo_that_does_not_answer_whether_it_has_its_stop_is_named() -> None:
    line = harsh()
    line.command(LEFT, "velocity", 1.0)
    line.run(100)
    plan = line.session.stop(StopReason.DISARMED, line.now)
    line.handle(plan.events)
    line.mock.servos[1].mute = True
    for _ in range(plan.copies - 1):
        line.run(30)
        line.handle(line.session.stop_again(None, line.now))
    line.run(200)
    assert Notice("stop not confirmed by servo 1", once=False) in line.found(Notice)


def test_a_stop_is_written_while_a_servo_answers_nothing() -> None:
    line = harsh()
    line.command(LEFT, "velocity", 2.0)
    line.command(RIGHT, "velocity", 2.0)
    line.run(300)
    assert [servo.get(104, 4) for servo in line.mock.servos.values()] == [83, 83]
    line.mock.servos[1].mute = True
    line.run(45)
    line.handle(line.session.stop(StopReason.HARDWARE, line.now).events)
    line.run(60)
    assert stands(line, 100)


@pytest.mark.parametrize("control", ["velocity", "position"])
@pytest.mark.parametrize("wait_ms", [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36])
def test_after_a_fault_in_a_change_of_mode_no_torque_comes_on(control: str, wait_ms: int) -> None:
    line = moving(control)
    other = ("position", 1.0) if control == "velocity" else ("velocity", 2.0)
    line.command(LEFT, *other)
    line.run(wait_ms)
    weak(line)
    for _ in range(400):
        line.run(0.1)
        if line.found(HardwareFault):
            break
    line.written.clear()
    line.handle(line.session.stop(StopReason.HARDWARE, line.now).events)
    line.run(40)  # back to the last position
    assert stands(line, 300)
    torque = [each for each in packets_of(bytes(line.written)) if each[2][:2] == bytes((TORQUE, 0))]
    assert not any(instruction == 3 for _, instruction, _ in torque)
    assert MODE not in written_to(bytes(line.written))
    assert not line.found(Disconnected)


@pytest.mark.parametrize("before", ["velocity", "position"])
@pytest.mark.parametrize("wait_ms", [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 40])
def test_a_stop_reaches_harsh_servos_at_any_moment(wait_ms: int, before: str) -> None:
    """What two write at once is lost there: a stop is written again when the bus is free."""
    line = harsh()
    line.settings(LEFT, 1.5 if before == "position" else math.inf, 0.5, -1.0, 1.4)
    line.command(RIGHT, "velocity", 2.0)
    line.run(300)
    line.command(LEFT, *(("position", 1.0) if before == "velocity" else ("velocity", 2.0)))
    line.run(wait_ms)
    plan = line.session.stop(StopReason.HARDWARE, line.now)
    assert len(plan.commands) == 2
    line.handle(plan.events)
    line.run(60 if before == "velocity" else 100)  # back to the last position
    torque_on = [servo.torque_on for servo in line.mock.servos.values()]
    assert stands(line, 300)
    assert [servo.torque_on for servo in line.mock.servos.values()] == torque_on
    assert not line.found(Disconnected)


def test_one_motor_is_stopped_alone_and_a_flood_of_its_stops_costs_little() -> None:
    line = moving("velocity")
    line.command(RIGHT, "velocity", 2.0)
    line.run(200)
    line.written.clear()
    for _ in range(3_000):
        line.handle(line.session.stop_motor(line.index(LEFT), line.now).events)
        line.run(1 / 3)
    assert len(line.written) < 5_760 + 50  # what the line carries in this second
    assert stands(line, 100, 1) and line.mock.servos[2].moves
    assert line.session.counts["late_periods"] == 0
    assert line.session.stop(StopReason.DISARMED, line.now).commands  # the other one moves


def flood(line: BodyBench, kind: str) -> None:
    """Commands to both motors, 3,000 a second."""
    for number in range(400):
        name = (LEFT, RIGHT)[number % 2]
        speed = 1.0 + number % 100 / 100
        if kind == "position" or (kind == "both" and number // 2 % 2):
            line.settings(name, speed / 10, 1.0, -1.0, 1.4)
        else:
            line.command(name, "velocity", speed)
        line.run(1 / 3)


@pytest.mark.parametrize("wait_ms", [0, 4, 9, 14])
@pytest.mark.parametrize("kind", ["velocity", "position", "both"])
def test_a_stop_in_a_flood_is_written_at_once_and_last(kind: str, wait_ms: float) -> None:
    line = up()
    flood(line, kind)
    line.run(wait_ms)
    line.written.clear()
    stop = line.session.emergency()
    line.handle(line.session.stop(StopReason.SWAMPED, line.now).events)
    assert line.written[: len(stop)] == stop
    line.run(40)  # a position goes back to the last one
    assert stands(line)


# --- Dynamixel servos to which anything happens in any order: a stop holds, and they come back ----


motor = st.sampled_from([LEFT, RIGHT])
number = st.sampled_from([1, 2])
HAPPENS = st.one_of(
    st.tuples(st.just("velocity"), motor, st.sampled_from([-3.0, -1.0, 0.0, 2.0])),
    st.tuples(st.just("position"), motor, st.sampled_from([-1.0, 0.0, 1.2, math.inf, 99.0])),
    st.tuples(st.just("acceleration"), motor, st.sampled_from([-1.0, 3.0])),
    st.tuples(
        st.just("settings"), motor, st.sampled_from([(1.0, 0.0), (math.inf, 0.0), (0.5, 1.0)])
    ),
    st.tuples(st.just("stop"), st.none(), st.none()),
    st.tuples(st.just("stop_motor"), motor, st.none()),
    st.tuples(st.just("restart"), number, st.none()),
    st.tuples(st.just("error"), number, st.sampled_from([0, 1, 4, 33])),
    st.tuples(st.just("register"), number, st.sampled_from([(98, 0), (98, 60), (64, 0), (64, 1)])),
    st.tuples(st.just("cut"), st.booleans(), st.none()),
    st.tuples(st.just("reopen"), st.none(), st.none()),
)


def happen(line: BodyBench, action: str, whom: Any, value: Any) -> None:
    session, servos = line.session, line.mock.servos
    if action in ("velocity", "position", "acceleration"):
        line.command(whom, action, value)
    elif action == "settings":
        line.settings(whom, *value, -1.0, 1.0)
    elif action == "stop":
        line.handle(session.stop(StopReason.DISARMED, line.now).events)
    elif action == "stop_motor":
        line.handle(session.stop_motor(line.index(whom), line.now).events)
    elif action == "restart":
        servos[whom].boot()
    elif action == "error":
        servos[whom].fail(value)
    elif action == "register":
        servos[whom].put(*value, 1)
    elif action == "cut":
        line.cut = whom
    else:
        session.close()
        line.handle(session.open(line.now))


def as_the_control_loop(line: BodyBench) -> None:
    """A loss and a fault stop the motors."""
    for kind, reason in ((Disconnected, StopReason.BODY), (HardwareFault, StopReason.HARDWARE)):
        if line.found(kind):
            line.handle(line.session.stop(reason, line.now).events)


@cases(0.6)
@given(
    on_loss=st.sampled_from(["hold", "release"]),
    events=st.lists(st.tuples(HAPPENS, st.sampled_from([0, 1, 7, 60, 400])), max_size=14),
)
def test_a_stop_holds_and_the_servos_come_back(on_loss: str, events: list[Any]) -> None:
    line = DYNAMIXEL.up(on_loss=on_loss)
    for happens, wait_ms in events:
        happen(line, *happens)
        for _ in range(max(1, wait_ms // 10)):
            line.run(min(wait_ms, 10))
            as_the_control_loop(line)
    line.cut = False
    line.handle(line.session.stop(StopReason.ENDED, line.now).events)
    for servo in line.mock.servos.values():
        servo.fail(0)
    for _ in range(350):
        line.run(10)
        as_the_control_loop(line)
    assert stands(line, 300)
    assert line.session.faults() == []
    for name in (LEFT, RIGHT):
        assert not any(
            isinstance(event, RefusedRequest) for event in line.command(name, "velocity", 1.0)
        )
    line.run(300)
    assert all(servo.moves for servo in line.mock.servos.values())
    line.handle(line.session.stop(StopReason.ENDED, line.now).events)
    line.run(1)
    assert stands(line, 300)
    assert all(servo.table[98] == 10 for servo in line.mock.servos.values())


def test_a_stop_in_a_flood_reaches_harsh_servos_in_time() -> None:
    line = harsh()
    flood(line, "velocity")
    line.handle(line.session.stop(StopReason.SWAMPED, line.now).events)
    line.run(45)
    assert stands(line)
