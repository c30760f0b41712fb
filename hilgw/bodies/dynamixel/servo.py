"""One servo of the body: units, its operating mode, and the registers that a command sets.

e-manual, XL430-W250 and PH54-200-S500-R. Available torque is Goal Current where the model holds a
position with it, else Goal PWM.
"""

from __future__ import annotations

import math

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.series import SERIES, P
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import Command, MotorCommand, MotorSettings
from hilgw.control.limits import Slew
from hilgw.devices.kinds import Device, Refusal
from hilgw.reasons import RequestRefused

LARGEST = 32_767  # of a profile of series X
VELOCITY_MODE, POSITION_MODE, EXTENDED_MODE, CURRENT_MODE = 1, 3, 4, 5
WITH_CURRENT = {1020, 1030, 1040, 1050, 1110, 1120, 1130}
"""Models with Goal Current: XM430 and XH430, XM540, XH540."""
# Limits of an XL430, until the servo's own are read.
_PWM, _CURRENT, _VELOCITY, _POSITIONS = 885, 0, 265, (0, 4095)

Writes = list[tuple[int, int]]
"""Registers and their new numbers, in order."""


class Servo:
    """mode: the operating mode of the servo now, None while it is unknown or the torque is off.
    pulses: its last position. offset: of its registers (`packet`)."""

    def __init__(self, device: Device, settings: ServoSettings) -> None:
        self.device = device
        self.number = settings.id
        self.series = SERIES[settings.series]
        self.offset = self.series.offset
        self.settings = settings
        self.has_current = False
        self._rad_per_pulse = math.tau / self.series.pulses
        self._zero = self.series.zero if settings.zero is None else settings.zero
        self.wanted = 0.0
        rate = device.limits.rate
        self._slew = None if rate is None else Slew(rate, 0.0, brakes=True)
        self.forget()

    def forget(self) -> None:
        """The servo may have been exchanged, or switched off."""
        self.mode: int | None = None
        self.pulses: int | None = None
        self.answered_ns = 0
        self._pwm, self._current, self._velocity = _PWM, _CURRENT, _VELOCITY
        self._positions = _POSITIONS
        self._acceleration = 0
        self._largest = LARGEST, LARGEST  # of the profile of acceleration and velocity
        fastest = self.device.limits.bounds("velocity")[1]
        # Of a position command that comes without a velocity; 0: as fast as the servo can.
        self._speed = 0 if fastest == math.inf else max(1, int(fastest / self.series.rad_s))
        self._force: int | None = None
        self.rest()

    def rest(self) -> None:
        """It was stopped."""
        self.wanted = 0.0
        if self._slew is not None:
            self._slew.settle(0.0)

    # --- what the servo reports ---------------------------------------------------------------

    def identify(self, model: int) -> None:
        self.has_current = model in WITH_CURRENT
        self._rad_per_pulse = math.tau / self.series.turns.get(model, self.series.pulses)

    def take_limits(self, data: bytes) -> None:
        """Registers 36 to 55."""
        self._pwm, self._current = packet.signed(data[0:2]), packet.signed(data[2:4])
        self._velocity = packet.signed(data[8:12])
        if self.series is P:
            self._largest = packet.signed(data[4:8]), self._velocity
        self._positions = packet.signed(data[16:20]), packet.signed(data[12:16])

    @property
    def position(self) -> float | None:
        """In rad; None before the first reading."""
        if self.pulses is None:
            return None
        return (self.pulses - self._zero) * self._rad_per_pulse * self._sign

    def velocity(self, raw: int) -> float:
        """In rad/s."""
        return raw * self.series.rad_s * self._sign

    def torque(self, raw: int) -> float:
        """In N m, from Present Load, or from Present Current where the servo measures it."""
        measured = (self.has_current or self.series is P) and self._current > 0
        share = raw / (self._current if measured else 1000)
        return share * self.settings.max_torque * self._sign

    @property
    def _sign(self) -> int:
        return -1 if self.settings.reverse else 1

    # --- commands -----------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> Writes | Refusal:
        """The registers for a command that the control loop has checked."""
        if isinstance(command, MotorSettings):
            return self._settings(command, now)
        if not isinstance(command, MotorCommand) or command.field == "torque":
            what = "gains and torque control are not supported; set the available torque"
            return Refusal(RequestRefused.NOT_SETTABLE, f"'{self.device.name}': {what}")
        if command.field == "velocity":
            return self._by_velocity(command.value, now)
        if command.field == "position":
            if command.value == math.inf:
                return self._by_velocity(self.wanted, now)
            return self._by_position(command.value)
        if command.field == "acceleration":
            self._acceleration = self._profile_acceleration(command.value)
            return [(packet.PROFILE_ACCELERATION, self._acceleration)]
        self._force = self._force_of(command.value)
        return self._limit_force()

    def _settings(self, command: MotorSettings, now: int) -> Writes | Refusal:
        kept = self._acceleration, self._force, self._speed
        self._acceleration = self._profile_acceleration(command.acceleration)
        self._force = self._force_of(command.available)
        if command.position == math.inf:
            return self._by_velocity(command.velocity, now)
        self._speed = max(1, _profile(command.velocity, self.series.rad_s, self._largest[1]))
        writes = self._by_position(command.position, still=command.velocity == 0)
        if isinstance(writes, Refusal):
            self._acceleration, self._force, self._speed = kept
        return writes

    def _by_velocity(self, velocity: float, now: int) -> Writes:
        self.wanted = velocity if self._slew is None else self._slew.aim(velocity, now)
        head = self._enter(VELOCITY_MODE)
        return [*head, (packet.GOAL_VELOCITY, self._raw_velocity())]

    def _by_position(self, position: float, *, still: bool = False) -> Writes | Refusal:
        pulses = round(position / self._rad_per_pulse * self._sign) + self._zero
        multi = self.settings.multi_turn
        reach = self.series.reach
        low, high = (-reach, reach) if multi else self._positions
        if not low <= pulses <= high:
            text = f"'{self.device.name}': position {position:g} is beyond the servo's limits"
            return Refusal(RequestRefused.OUT_OF_RANGE, text)
        if still and self.pulses is not None:
            pulses = self.pulses  # Webots: at velocity 0 a motor does not move
        self.wanted = 0.0
        mode = EXTENDED_MODE if multi else POSITION_MODE
        if self.has_current:
            mode = CURRENT_MODE  # the limits of position are those that were checked above
        head = self._enter(mode)
        return [*head, (packet.PROFILE_VELOCITY, self._speed), (packet.GOAL_POSITION, pulses)]

    def _enter(self, mode: int) -> Writes:
        """The registers that select a mode, which needs the torque off, and resets the others."""
        head: Writes = []
        if self.mode != mode:
            self.mode = mode
            head = [(packet.TORQUE, 0), (packet.MODE, mode), (packet.TORQUE, 1)]
        head.append((packet.PROFILE_ACCELERATION, self._acceleration))
        return head + self._limit_force()

    def _limit_force(self) -> Writes:
        if self._force is None:
            return []
        if self.mode == CURRENT_MODE:
            return [(packet.GOAL_CURRENT, self._force * self._current // 1000)]
        return [(packet.GOAL_PWM, self._force * self._pwm // 1000)]

    def _force_of(self, available: float) -> int:
        """In thousandths of the largest torque."""
        return round(1000 * min(1.0, available / self.settings.max_torque))

    def _profile_acceleration(self, amount: float) -> int:
        return _profile(amount, self.series.rad_s2, self._largest[0])

    def _raw_velocity(self) -> int:
        raw = max(-self._velocity, min(self._velocity, self.wanted / self.series.rad_s))
        return round(raw) * self._sign

    def next_deadline(self) -> int | None:
        return None if self._slew is None else self._slew.next_deadline()

    def expire(self, now: int) -> Writes:
        """The next velocity on the way to the one commanded."""
        value = None if self._slew is None else self._slew.expire(now)
        if value is None or self.mode != VELOCITY_MODE:
            return []
        self.wanted = value
        return [(packet.GOAL_VELOCITY, self._raw_velocity())]

    # --- stops --------------------------------------------------------------------------------

    def stop_command(self) -> MotorCommand | None:
        """The command that stops it in its present mode; None: it has not moved."""
        if self.mode is None:
            return None
        if self.mode == VELOCITY_MODE:
            return MotorCommand(self.device.index, "velocity", 0.0)
        return self.hold_command()

    def hold_command(self) -> MotorCommand | None:
        """The command that holds the last position; None before the first reading."""
        position = self.position
        if position is None:
            return None
        return MotorCommand(self.device.index, "position", position)


def _profile(amount: float, unit: float, largest: int) -> int:
    """A number of a profile; 0, which is unlimited there, for -1."""
    return 0 if amount < 0 else min(largest, max(1, round(amount / unit)))
