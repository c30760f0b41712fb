"""The safety of a control loop: stops, latch, deadline, and the defaults of motors."""

import math

import pytest

from hilgw.control.events import MotorCommand, MotorSettings, StopReason
from hilgw.control.safety import Mode, SafetyState, default_command, mode_of
from hilgw.control.safety_settings import SafetySettings
from hilgw.devices.kinds import Device

MS = 1_000_000


def test_a_stop_counts_once_per_movement() -> None:
    safety = SafetyState(SafetySettings(), simulated=True)
    assert not safety.stop("disconnected")
    safety.command(0)
    assert safety.stop("disconnected")
    assert not safety.stop("protocol")
    safety.command(1)
    assert safety.stop("protocol")
    assert safety.stops == {"disconnected": 1, "protocol": 1}
    assert safety.latched is None


def test_only_a_stop_of_what_moved_is_latched_and_an_orderly_end_is_not() -> None:
    safety = SafetyState(SafetySettings(latch=True), simulated=True)
    safety.stop("disconnected")
    assert safety.latched is None
    safety.command(0)
    safety.stop("gateway_ended", latch=False)
    assert safety.latched is None
    safety.command(0)
    safety.stop("disconnected")
    assert safety.latched == "disconnected"
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


def test_at_rest_a_lost_body_disarms_what_latches_and_no_stop_is_counted() -> None:
    for latch in (False, True):
        safety = SafetyState(SafetySettings(latch=latch), simulated=True)
        assert not safety.stop(StopReason.DISCONNECTED) and safety.armed
        assert not safety.stop(StopReason.BODY)
        assert safety.armed is not latch
        assert safety.latched is None and not safety.stops


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


def test_defaults_stop_wheels_and_send_lifts_home_or_hold_them() -> None:
    wheel = Device(name="wheel", kind="RotationalMotor", index=1)
    home = Device(name="home", kind="LinearMotor", index=2, default=0.25)
    holds = Device(name="holds", kind="LinearMotor", index=3)
    assert default_command(wheel, None) == MotorCommand(1, "velocity", 0.0)
    assert default_command(home, 0.7) == MotorCommand(2, "position", 0.25)
    assert default_command(holds, 0.6) == MotorCommand(3, "position", 0.6)
    assert default_command(holds, None) is None
    assert default_command(Device(name="ds", kind="DistanceSensor", index=0), 1.0) is None


def test_the_position_of_a_command_selects_the_mode() -> None:
    assert mode_of(MotorCommand(1, "position", 0.5)) is Mode.POSITION
    assert mode_of(MotorCommand(1, "position", math.inf)) is Mode.VELOCITY
    assert mode_of(MotorSettings(1, 0.5, 1.0, -1.0, 1.0)) is Mode.POSITION
    assert mode_of(MotorSettings(1, math.inf, 1.0, -1.0, 1.0)) is Mode.VELOCITY
    assert mode_of(MotorCommand(1, "velocity", 2.0)) is Mode.VELOCITY
    assert mode_of(MotorCommand(1, "acceleration", 2.0)) is None
