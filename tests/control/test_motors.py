"""Motors of a control loop: limits, records, stops, latch, deadline and defaults."""

import math

import pytest
from hypothesis import given, strategies as st

from hilgw.control.declared import LineLoad
from hilgw.control.events import (
    Command,
    MotorCommand,
    MotorField,
    MotorPid,
    MotorSettings,
    StopReason,
)
from hilgw.control.forwarding import Forwarding
from hilgw.control.limits import STEP_NS, Slew, check_command, check_settings, limit_errors
from hilgw.control.modes import differing, is_same
from hilgw.control.odometer import Odometer
from hilgw.control.record import REFRESH_NS, MotorRecords
from hilgw.control.safety import MotorMode, SafetyState, default_command, mode_of, stands_still
from hilgw.control.safety_settings import SafetySettings
from hilgw.devices.fields import CHANNEL_MAX
from hilgw.devices.kinds import KINDS, Device, MotorLimits
from hilgw.devices.properties import TouchSensorFields

INF = math.inf
WHEEL = Device(name="wheel", kind="RotationalMotor", index=1)
LIFT = Device(name="lift", kind="LinearMotor", index=2)


def reason(device: Device, name: str, value: float) -> str:
    refusal = check_command(device, MotorCommand(device.index, name, value))
    return "" if refusal is None else refusal.reason


@pytest.mark.parametrize("device", [WHEEL, LIFT])
def test_nan_never_and_infinity_only_as_a_position(device: Device) -> None:
    for quantity in KINDS[device.kind].settings:
        assert reason(device, quantity.name, math.nan) == "nan"
        assert reason(device, quantity.name, -INF) == "infinite"
        infinite = "" if quantity.name == "position" else "infinite"
        assert reason(device, quantity.name, INF) == infinite


def test_minus_one_only_as_an_acceleration() -> None:
    assert reason(WHEEL, "acceleration", -1.0) == ""
    assert reason(WHEEL, "acceleration", -0.5) == "out_of_range"
    assert reason(WHEEL, "available_torque", -1.0) == "out_of_range"
    assert reason(LIFT, "available_force", -1.0) == "out_of_range"


def test_a_setting_the_kind_does_not_have_is_refused() -> None:
    assert reason(WHEEL, "available_force", 1.0) == "no_such_field"
    assert reason(LIFT, "available_torque", 1.0) == "no_such_field"
    assert reason(Device(name="c", kind="Camera", index=0), "velocity", 1.0) == "no_such_field"
    assert check_settings(WHEEL, (1.0,)) is not None


@pytest.mark.parametrize(
    ("limits", "name", "allowed", "beyond"),
    [
        (MotorLimits(max_velocity=6), "velocity", (-6.0, 0.0, 6.0), (-6.1, 6.1)),
        (MotorLimits(min_velocity=0, max_velocity=6), "velocity", (0.0, 6.0), (-0.1, 6.1)),
        (MotorLimits(min_position=-1), "position", (-1.0, 1e9), (-1.1, INF)),
        (MotorLimits(max_position=2), "position", (-1e9, 2.0), (2.1, INF)),
        (MotorLimits(max_acceleration=3), "acceleration", (0.0, 3.0), (3.1, -1.0)),
        (MotorLimits(max_force=3), "available_torque", (0.0, 3.0), (3.1,)),
    ],
)
def test_a_value_beyond_the_limits_of_the_motor_is_refused(
    limits: MotorLimits, name: str, allowed: tuple[float, ...], beyond: tuple[float, ...]
) -> None:
    device = Device(name="wheel", kind="RotationalMotor", index=0, limits=limits)
    assert [reason(device, name, value) for value in allowed] == [""] * len(allowed)
    assert [reason(device, name, value) for value in beyond] == ["beyond_limit"] * len(beyond)


def test_a_refusal_names_the_side_of_the_limits_that_a_value_is_on() -> None:
    device = Device(
        name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=6)
    )
    refusals = [check_command(device, MotorCommand(0, "velocity", v)) for v in (-6.5, 6.5)]
    assert [each and each.text for each in refusals] == [
        "'wheel': velocity -6.5 is below -6 rad/s",
        "'wheel': velocity 6.5 is above 6 rad/s",
    ]


def test_a_negative_velocity_needs_velocity_control() -> None:
    assert check_settings(WHEEL, (INF, -1.0, -1.0, 1.0)) is None
    refusal = check_settings(WHEEL, (0.5, -1.0, -1.0, 1.0))
    assert refusal is not None and refusal.reason == "out_of_range"
    refusal = check_command(WHEEL, MotorSettings(1, INF, 1.0, -1.0, math.nan))
    assert refusal is not None and refusal.reason == "nan" and "wheel" in refusal.text


def test_limits_that_contradict_each_other_are_named() -> None:
    assert limit_errors(MotorLimits(), None) == []
    assert limit_errors(MotorLimits(max_velocity=6, rate=1), None) == []
    assert limit_errors(MotorLimits(min_velocity=0, max_velocity=6), None) == []
    for default in (0, 1):
        assert limit_errors(MotorLimits(min_position=0, max_position=1), default) == []
    wrong = MotorLimits(min_position=2, max_position=1, min_velocity=1, max_velocity=2)
    assert [where for where, _ in limit_errors(wrong, None)] == ["min_position", "max_velocity"]
    assert [where for where, _ in limit_errors(MotorLimits(max_position=1), 1.5)] == [
        "default_position"
    ]
    assert limit_errors(MotorLimits(), math.nan)


@given(st.floats(), st.sampled_from(["position", "velocity", "acceleration", "available_torque"]))
def test_whatever_is_let_through_is_within_the_limits(value: float, name: str) -> None:
    limits = MotorLimits(
        min_position=-2, max_position=3, max_velocity=6, max_acceleration=4, max_force=5
    )
    device = Device(name="wheel", kind="RotationalMotor", index=0, limits=limits)
    if not reason(device, name, value):
        low, high = {
            "position": (-2, 3),
            "velocity": (-6, 6),
            "acceleration": (0, 4),
            "available_torque": (0, 5),
        }[name]
        assert low <= value <= high


def follow(slew: Slew, target: float, now: int) -> list[float]:
    values = [slew.aim(target, now)]
    while (due := slew.next_deadline()) is not None:
        assert slew.expire(due - 1) is None
        value = slew.expire(due)
        assert value is not None
        values.append(value)
    return values


def test_a_velocity_rises_at_its_rate_and_stops_at_once() -> None:
    slew = Slew(50.0, 0.0, brakes=True)
    assert follow(slew, 3.5, 0) == pytest.approx([1.0, 2.0, 3.0, 3.5])
    assert follow(slew, 2.0, 10**9) == [2.0]  # slower: at once
    assert follow(slew, 0.0, 2 * 10**9) == [0.0]
    assert follow(slew, -1.5, 3 * 10**9) == pytest.approx([-1.0, -1.5])
    assert follow(slew, 1.5, 4 * 10**9)[0] == pytest.approx(1.0)  # through the stop


def test_a_position_moves_at_its_rate_both_ways() -> None:
    slew = Slew(5.0, 0.0, brakes=False)
    assert follow(slew, 0.25, 0) == pytest.approx([0.1, 0.2, 0.25])
    assert follow(slew, 0.0, 10**9) == pytest.approx([0.15, 0.05, 0.0])


def test_infinity_selects_a_mode_and_settle_sets_past_the_rate() -> None:
    slew = Slew(5.0, 0.0, brakes=False)
    assert follow(slew, INF, 0) == [INF]
    assert follow(slew, 7.0, 10**9) == [7.0]
    slew.aim(8.0, 2 * 10**9)
    slew.settle(0.0)
    assert slew.next_deadline() is None and slew.value == 0.0


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.integers(0, 3 * STEP_NS)), max_size=30),
    st.floats(1, 100),
)
def test_the_value_never_grows_faster_than_its_rate(
    orders: list[tuple[float, int]], rate: float
) -> None:
    slew = Slew(rate, 0.0, brakes=True)
    now, last = 0, 0.0
    for target, pause in orders:
        now += pause
        value = slew.aim(target, now)
        grown = abs(value) - (abs(last) if value * last > 0 else 0.0)
        assert grown <= rate * STEP_NS / 1e9 + 1e-9
        last = value


def test_without_a_rate_the_value_follows_at_once_and_nothing_is_due() -> None:
    slew = Slew(None)
    for target in (3.0, -50.0, math.inf, 0.0):
        assert slew.aim(target, 0) == target == slew.value
        assert slew.next_deadline() is None and slew.expire(10**12) is None


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
    records.set(VELOCITY, 0, waits=True)
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


MS = 1_000_000
ALWAYS = (StopReason.HARDWARE, StopReason.GUARDIAN, StopReason.GUARDIAN_ENDED)


def test_a_stop_counts_and_latches_once_per_movement_and_an_orderly_end_does_not() -> None:
    safety = SafetyState(SafetySettings(latch=True), simulated=True)
    assert not safety.stop("disconnected") and safety.latched is None
    safety.command(0)
    assert safety.stop("gateway_ended", latch=False) and safety.latched is None
    safety.command(1)
    assert safety.stop("protocol") and not safety.stop("disconnected")
    assert safety.stops == {"gateway_ended": 1, "protocol": 1}
    assert safety.latched == "protocol"
    assert safety.arm() and safety.latched is None
    assert not safety.arm()


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("armed", [None, False, True])
@pytest.mark.parametrize("latch", [None, False, True])
def test_a_real_body_starts_disarmed_and_latches_unless_configured(
    real: bool, armed: bool | None, latch: bool | None
) -> None:
    safety = SafetyState(SafetySettings(armed=armed, latch=latch), simulated=not real)
    assert safety.armed is (not real if armed is None else armed)
    safety.arm()
    safety.command(0)
    assert safety.stop(StopReason.DISCONNECTED)
    latches = real if latch is None else latch
    assert safety.armed is not latches
    assert safety.latched == (StopReason.DISCONNECTED if latches else None)


@pytest.mark.parametrize("latch", [False, True])
@pytest.mark.parametrize(
    ("reason", "always"),
    [(StopReason.BODY, False), (StopReason.FAULT, False), *((each, True) for each in ALWAYS)],
)
def test_at_rest_a_lost_body_disarms_what_latches_and_no_stop_is_counted(
    reason: StopReason, always: bool, latch: bool
) -> None:
    """The guardian's stops and hardware faults do so in any case, and latch."""
    safety = SafetyState(SafetySettings(latch=latch), simulated=True)
    assert not safety.stop(StopReason.DISCONNECTED) and safety.armed
    assert not safety.stop(reason)
    assert safety.armed is not (latch or always)
    assert safety.latched == (reason if always else None) and not safety.stops


@pytest.mark.parametrize(
    ("asked", "real", "timeout_ns"),
    [(None, False, 0), (None, True, 500 * MS), (0.0, True, 0), (0.2, False, 200 * MS)],
)
def test_a_real_body_has_a_deadline_unless_it_is_switched_off(
    asked: float | None, real: bool, timeout_ns: int
) -> None:
    safety = SafetyState(SafetySettings(command_timeout_s=asked), simulated=not real)
    assert safety.deadline() is None  # nothing moves yet
    safety.command(7)
    assert safety.deadline() == (7 + timeout_ns if timeout_ns else None)
    safety.stop("disconnected")
    assert safety.deadline() is None


def test_a_controller_that_waits_for_the_end_of_its_step_is_not_silent() -> None:
    safety = SafetyState(SafetySettings(command_timeout_s=0.2), simulated=True, stepped=True)
    safety.command(100)
    safety.alive(300)
    safety.command(200)  # the line carried until 300 what the controller waited for
    assert (safety.silent_ns(200), safety.silent_ns(310)) == (0, 10)
    assert safety.deadline() == 300 + 200 * MS
    safety.waits_for_us = True
    assert safety.silent_ns(10_000) == 0 and safety.deadline() is None


def test_defaults_stop_wheels_and_send_lifts_home_or_hold_them() -> None:
    wheel = Device(name="wheel", kind="RotationalMotor", index=1)
    home = Device(name="home", kind="LinearMotor", index=2, default=0.25)
    holds = Device(name="holds", kind="LinearMotor", index=3)
    assert default_command(wheel, None) == MotorCommand(1, "velocity", 0.0)
    assert default_command(home, 0.7) == MotorCommand(2, "position", 0.25)
    assert default_command(holds, 0.6) == MotorCommand(3, "position", 0.6)
    assert default_command(holds, None) is None
    assert default_command(Device(name="ds", kind="DistanceSensor", index=0), 1.0) is None


@pytest.mark.parametrize(
    ("command", "mode", "stops"),
    [
        (MotorCommand(1, "position", 0.0), MotorMode.POSITION, False),
        (MotorCommand(1, "position", math.inf), MotorMode.VELOCITY, False),
        (MotorSettings(1, 0.5, 1.0, -1.0, 1.0), MotorMode.POSITION, False),
        (MotorSettings(1, math.inf, 1.0, -1.0, 1.0), MotorMode.VELOCITY, False),
        (MotorSettings(1, 0.5, 0.0, -1.0, 1.0), MotorMode.POSITION, True),
        (MotorCommand(1, "velocity", 2.0), MotorMode.VELOCITY, False),
        (MotorCommand(1, "velocity", 0.0), MotorMode.VELOCITY, True),
        (MotorCommand(1, "torque", 0.0), MotorMode.FORCE, False),
        (MotorCommand(1, "acceleration", 0.0), None, False),
        (MotorPid(1, 1.0, 0.0, 0.0), None, False),
    ],
)
def test_a_command_selects_a_mode_and_velocity_0_is_a_stop(
    command: Command, mode: MotorMode | None, stops: bool
) -> None:
    assert (mode_of(command), stands_still(command)) == (mode, stops)


ROBOT, BUMPER, FORCE = (
    [Device(name="d", kind="TouchSensor", index=0, fields=fields)]
    for fields in (None, TouchSensorFields(), TouchSensorFields(type="force-3d"))
)


def test_devices_differ_by_kind_and_by_what_they_report() -> None:
    assert differing(BUMPER, BUMPER) == [] and is_same(ROBOT[0], BUMPER[0])
    (text,) = differing(BUMPER, FORCE)
    assert text.startswith("'d' reports ") and not is_same(BUMPER[0], FORCE[0])
    other = [Device(name="d", kind="LED", index=4)]
    assert differing(BUMPER, other) == ["'d' is a TouchSensor and a LED"]


def test_channels_that_cannot_be_forwarded_are_named() -> None:
    assert Forwarding(channels={5: 12, -1: 0}).errors() == []
    wrong = Forwarding(channels={CHANNEL_MAX + 1: 1, 6: 2, 7: 2}).errors()
    assert [where for where, *_ in wrong] == ["channels", "channels.7"]


def test_a_packet_changes_its_channel_on_its_way_to_the_medium_and_back() -> None:
    forwarding = Forwarding(channels={5: 12, 7: 3})
    assert [forwarding.on_medium(channel) for channel in (5, 7, 9)] == [12, 3, 9]
    assert [forwarding.in_world(channel) for channel in (12, 3, 9)] == [5, 7, 9]


def test_a_line_carries_whole_bytes_in_a_period_and_names_more_as_too_many() -> None:
    assert LineLoad(96, 9600, 10, 100 * MS).overload == ""
    assert "needs 97 bytes" in LineLoad(97, 9600, 10, 100 * MS).overload
    assert LineLoad(1, 9600, 10, 100 * MS, idle_ns=50 * MS).possible == 48


def test_many_commands_in_one_step_are_no_way_around_the_rate() -> None:
    slew = Slew(50.0, 0.0, brakes=True)
    for now in range(0, STEP_NS, STEP_NS // 100):
        slew.aim(100.0, now)
    assert slew.value <= 2.0 + 1e-9
