"""The safety of a control loop: stops, latch, deadline, and the defaults of motors."""

import math

import pytest

from hilgw.control.events import Command, MotorCommand, MotorPid, MotorSettings, StopReason
from hilgw.control.forwarding import Forwarding
from hilgw.control.modes import differing, is_same
from hilgw.control.safety import MotorMode, SafetyState, default_command, mode_of, stands_still
from hilgw.control.safety_settings import SafetySettings
from hilgw.devices.fields import CHANNEL_MAX
from hilgw.devices.kinds import Device
from hilgw.devices.properties import TouchSensorFields

MS = 1_000_000


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
