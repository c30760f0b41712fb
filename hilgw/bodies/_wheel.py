"""A motor with velocity control only: what it is told to do, and how it gets there."""

from __future__ import annotations

import math

from hilgw.control.events import Command, MotorCommand, MotorSettings
from hilgw.control.limits import Slew
from hilgw.devices.kinds import Device, Refusal
from hilgw.reasons import RequestRefused


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
