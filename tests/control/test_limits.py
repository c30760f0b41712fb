"""Which values reach a device, and how fast the commanded value of a motor may change."""

import math

import pytest
from hypothesis import given, strategies as st

from hilgw.control.events import MotorCommand, MotorSettings
from hilgw.control.limits import STEP_NS, Slew, check_command, check_settings, limit_errors
from hilgw.devices.kinds import KINDS, Device, MotorLimits

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


def test_a_negative_velocity_needs_velocity_control() -> None:
    assert check_settings(WHEEL, (INF, -1.0, -1.0, 1.0)) is None
    refusal = check_settings(WHEEL, (0.5, -1.0, -1.0, 1.0))
    assert refusal is not None and refusal.reason == "out_of_range"
    refusal = check_command(WHEEL, MotorSettings(1, INF, 1.0, -1.0, math.nan))
    assert refusal is not None and refusal.reason == "nan" and "wheel" in refusal.text


def test_limits_that_contradict_each_other_are_named() -> None:
    assert limit_errors(MotorLimits(), None) == []
    assert limit_errors(MotorLimits(max_velocity=6, rate=1), None) == []
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
