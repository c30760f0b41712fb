"""The safety of a control loop: stops, latch, deadline, and the defaults of motors."""

from __future__ import annotations

import pytest

from hilgw.control.events import MotorCommand
from hilgw.control.safety import SafetySettings, SafetyState, default_actuation
from hilgw.devices.kinds import Device, Devices

MS = 1_000_000


def test_a_stop_counts_once_per_movement() -> None:
    safety = SafetyState(SafetySettings(), real_body=False)
    assert not safety.stop("disconnected")
    safety.command(0)
    assert safety.stop("disconnected")
    assert not safety.stop("protocol")
    safety.command(1)
    assert safety.stop("protocol")
    assert safety.stops == {"disconnected": 1, "protocol": 1}
    assert safety.latched == ""


def test_only_a_stop_of_what_moved_is_latched_and_an_orderly_end_is_not() -> None:
    safety = SafetyState(SafetySettings(latch=True), real_body=False)
    safety.stop("disconnected")
    assert safety.latched == ""
    safety.command(0)
    safety.stop("gateway_ended", latch=False)
    assert safety.latched == ""
    safety.command(0)
    safety.stop("disconnected")
    assert safety.latched == "disconnected"
    assert safety.arm() and safety.latched == ""
    assert not safety.arm()


@pytest.mark.parametrize(
    ("asked", "real", "timeout_ns"),
    [(None, False, 0), (None, True, 500 * MS), (0.0, True, 0), (0.2, False, 200 * MS)],
)
def test_a_real_body_has_a_deadline_unless_it_is_switched_off(
    asked: float | None, real: bool, timeout_ns: int
) -> None:
    safety = SafetyState(SafetySettings(command_timeout_s=asked), real_body=real)
    assert safety.deadline() is None  # nothing moves yet
    safety.command(7)
    assert safety.deadline() == (7 + timeout_ns if timeout_ns else None)
    safety.stop("disconnected")
    assert safety.deadline() is None


def test_defaults_stop_wheels_and_send_lifts_home_or_hold_them() -> None:
    devices = Devices()
    for device in (
        Device(name="ds", kind="DistanceSensor", index=0),
        Device(name="wheel", kind="RotationalMotor", index=1),
        Device(name="home", kind="LinearMotor", index=2, default=0.25),
        Device(name="holds", kind="LinearMotor", index=3),
        Device(name="silent", kind="LinearMotor", index=4),
        Device(name="left", kind="RotationalMotor", index=9),
    ):
        devices.add(device)
    assert default_actuation(devices, {2: 0.7, 3: 0.6}) == [
        MotorCommand(1, "velocity", 0.0),
        MotorCommand(2, "position", 0.25),
        MotorCommand(3, "position", 0.6),
        MotorCommand(9, "velocity", 0.0),
    ]
