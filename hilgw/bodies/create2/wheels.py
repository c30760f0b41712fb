"""The wheels of a Create 2: the velocities that were commanded, and the angles of its encoders."""

from __future__ import annotations

import math

from hilgw.bodies.create2.oi import FASTEST_MM_S, drive_direct
from hilgw.control.events import Command, MotorCommand, MotorSettings
from hilgw.control.limits import Slew
from hilgw.devices.kinds import Device, Refusal
from hilgw.reasons import RequestRefused

# Specification, packets 43 and 44: counts per turn, wheel diameter in mm.
MM_PER_COUNT = math.pi * 72.0 / 508.8


class Wheel:
    """One motor: its velocity in rad/s; 0 until a controller commands one."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.velocity = 0.0
        rate = device.limits.rate
        self._slew = None if rate is None else Slew(rate, 0.0, brakes=True)

    def command(self, command: Command, now: int) -> Refusal | None:
        """Follows a command that the control loop has checked, or refuses it."""
        wanted = _velocity_of(command, self.velocity)
        if wanted is None:
            what = f"'{self.device.name}': the robot has velocity control only, without gains,"
            return Refusal(RequestRefused.NOT_SETTABLE, f"{what} acceleration and torque")
        self.velocity = wanted if self._slew is None else self._slew.aim(wanted, now)
        return None

    def stop(self) -> None:
        self.velocity = 0.0
        if self._slew is not None:
            self._slew.settle(0.0)

    def next_deadline(self) -> int | None:
        return None if self._slew is None else self._slew.next_deadline()

    def expire(self, now: int) -> bool:
        """Whether the velocity changed, on its way to the one commanded."""
        value = None if self._slew is None else self._slew.expire(now)
        if value is None:
            return False
        self.velocity = value
        return True


def _velocity_of(command: Command, present: float) -> float | None:
    """The velocity that a command selects; None: the robot cannot follow it. Position +infinity
    alone selects velocity control and leaves the velocity."""
    if isinstance(command, MotorCommand):
        if command.field == "velocity":
            return command.value
        is_mode = command.field == "position" and command.value == math.inf
        return present if is_mode else None
    if isinstance(command, MotorSettings) and command.position == math.inf:
        return command.velocity
    return None


def drive(left: float, right: float, radius_m: float) -> bytes:
    """The command for two velocities in rad/s. One beyond the robot's 500 mm/s is cut to it."""
    return drive_direct(_mm_s(left, radius_m), _mm_s(right, radius_m))


def is_cut(velocity: float, radius_m: float) -> bool:
    """Whether the robot cannot turn its wheel so fast."""
    return abs(velocity) * radius_m * 1000 > FASTEST_MM_S + 0.5


def _mm_s(velocity: float, radius_m: float) -> int:
    return round(max(-FASTEST_MM_S, min(FASTEST_MM_S, velocity * radius_m * 1000)))


class Odometer:
    """The angle of one wheel since the start, from an encoder of 16 bits that wraps around.

    Between two readings the wheel turns less than half the range: 14.5 m, 29 s at full speed.
    """

    def __init__(self, radius_m: float) -> None:
        self._rad_per_count = MM_PER_COUNT / 1000 / radius_m
        self._raw: int | None = None
        self._counts = 0

    def read(self, raw: int) -> float:
        """The angle in rad, after this reading of the encoder."""
        if self._raw is not None:
            self._counts += (raw - self._raw + 0x8000 & 0xFFFF) - 0x8000
        self._raw = raw
        return self._counts * self._rad_per_count
