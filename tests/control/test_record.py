"""The records of motors: what holds, what waits, and what a stop, a refusal or a loss ends."""

import math

import pytest
from hypothesis import given, strategies as st

from hilgw.control.events import Command, MotorCommand, MotorField, MotorPid, MotorSettings
from hilgw.control.odometer import Odometer
from hilgw.control.record import REFRESH_NS, MotorRecords

VELOCITY, POSITION, TORQUE = (
    MotorCommand(0, field, 1.0)
    for field in (MotorField.VELOCITY, MotorField.POSITION, MotorField.TORQUE)
)
ACCELERATION = MotorCommand(0, MotorField.ACCELERATION, 2.0)
GAINS = MotorPid(0, 1.0, 0.0, 0.0)
WHOLE = MotorSettings(0, math.inf, 3.0, -1.0, 10.0)
OTHER = MotorCommand(1, MotorField.VELOCITY, 5.0)


def written(*commands: Command) -> MotorRecords:
    records = MotorRecords()
    for command in commands:
        assert records.set(command, 0, waits=False) == []
    return records


def waiting(*commands: Command) -> MotorRecords:
    records = MotorRecords()
    for command in commands:
        records.set(command, 0, waits=True)
    return records


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ((VELOCITY, POSITION), [VELOCITY, POSITION]),
        ((POSITION, OTHER, VELOCITY), [POSITION, OTHER, VELOCITY]),
        ((VELOCITY, OTHER, VELOCITY), [OTHER, VELOCITY]),
        ((VELOCITY, ACCELERATION, GAINS, WHOLE), [GAINS, WHOLE]),
        ((WHOLE, VELOCITY), [WHOLE, VELOCITY]),
        ((WHOLE, VELOCITY, TORQUE), [TORQUE]),
        ((TORQUE, ACCELERATION, POSITION), [ACCELERATION, POSITION]),
    ],
)
def test_what_was_written_comes_again_oldest_set_first(
    given: tuple[Command, ...], left: list[Command]
) -> None:
    records = written(*given)
    assert records.refresh(REFRESH_NS - 1) == []
    assert records.refresh(REFRESH_NS) == left
    assert records.refresh(REFRESH_NS + 1) == []  # not at each step
    assert records.clear() == [] and records.refresh(3 * REFRESH_NS) == []


def test_what_waits_is_not_sent_again_and_a_newer_one_takes_its_place() -> None:
    records = waiting(VELOCITY, ACCELERATION, OTHER)
    assert records.refresh(REFRESH_NS) == [] and records.has_waiting(0)
    assert records.set(TORQUE, 0, waits=True) == [VELOCITY]
    taken = records.motors[0].take(MotorField.TORQUE)
    assert taken is not None and taken.command == TORQUE and taken.stops == records.stops
    assert records.motors[0].take(MotorField.TORQUE) is None
    assert records.clear() == [ACCELERATION, OTHER]
    assert not records.has_waiting(0)


def test_what_is_written_leaves_a_newer_one_that_waits() -> None:
    records = waiting(WHOLE)
    records.set(VELOCITY, 0, waits=True)
    assert records.motors[0].take(MotorSettings.__name__) is not None
    records.set(WHOLE, 0, waits=False)
    assert records.clear() == [VELOCITY]


def test_a_stop_makes_all_void_and_later_commands_hold() -> None:
    records = written(VELOCITY, ACCELERATION, OTHER)
    records.set(POSITION, 0, waits=True)
    records.motors[0].prepared = (None,)
    records.stop()
    assert records.refresh(REFRESH_NS) == [] and records.carry() == []
    assert records.motors[0].prepared == ()
    void = records.motors[0].take(MotorField.POSITION)
    assert void is not None and void.stops != records.stops
    records.set(VELOCITY, 0, waits=False)
    assert records.carry() == records.refresh(REFRESH_NS) == [VELOCITY]


def test_a_motor_that_is_stopped_alone_keeps_its_limits_and_is_held_until_a_command() -> None:
    records = written(ACCELERATION, GAINS, VELOCITY, OTHER)
    records.set(POSITION, 0, waits=True)
    assert records.stop_motor(0) == [POSITION]
    records.motors[0].is_held = True
    assert records.refresh(REFRESH_NS) == [ACCELERATION, GAINS, OTHER]
    records.set(OTHER, 0, waits=False)
    assert records.motors[0].is_held
    records.set(VELOCITY, 0, waits=False)
    assert not records.motors[0].is_held


def test_another_body_gets_the_newest_velocities_limits_and_gains_and_no_positions() -> None:
    position = MotorCommand(2, MotorField.POSITION, 1.0)
    speed = MotorCommand(2, MotorField.VELOCITY, 1.0)  # of its way to the position
    force = MotorCommand(3, MotorField.FORCE, 1.0)
    records = written(VELOCITY, GAINS, position, speed, force, ACCELERATION)
    records.set(OTHER, 0, waits=True)  # the line had no room for it yet
    assert records.carry() == [VELOCITY, GAINS, ACCELERATION, OTHER]


def test_a_command_of_which_the_robot_has_nothing_ends_the_one_before_and_is_carried() -> None:
    records = written(ACCELERATION, VELOCITY)
    lacking = MotorCommand(0, MotorField.ACCELERATION, 9.0)
    records.dropped(lacking)
    assert records.refresh(REFRESH_NS) == [VELOCITY] and not records.has_waiting(0)
    assert records.carry() == [VELOCITY, lacking]
    records.set(WHOLE, 0, waits=False)
    assert records.carry() == [WHOLE]


# --- counters that wrap around: their totals across the end of the range, and after a gap ---------


def test_after_a_gap_the_total_goes_on_from_where_it_was() -> None:
    odometer = Odometer(0x10000)
    odometer.rebase()  # before the first reading it changes nothing
    assert odometer.read(32_000) == 32_000
    odometer.rebase()
    assert odometer.read(0) == 32_000
    assert odometer.read(-1) == 31_999


@given(st.integers(2, 2**32), st.integers(0, 2**32), st.lists(st.floats(-0.5, 0.499), max_size=30))
def test_the_steps_add_up(span: int, raw: int, parts: list[float]) -> None:
    odometer, total = Odometer(span, start=7), 7
    odometer.read(raw % span)
    for step in (int(part * span) for part in parts):
        raw, total = raw + step, total + step
        assert odometer.read(raw % span) == total
