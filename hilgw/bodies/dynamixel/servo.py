"""One servo of the body: units, its operating mode, and the registers that a command sets.

e-manual, XL430-W250 and PH54-200-S500-R. Available torque is Goal Current where the model holds a
position with it, else Goal PWM.
"""

from __future__ import annotations

import math
from collections import Counter

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.packet import SERIES, P
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import Command, MotorCommand, MotorField, MotorSettings
from hilgw.control.limits import Slew
from hilgw.control.safety import SAG_RAD, stands_still
from hilgw.devices.kinds import Device, Refusal
from hilgw.reasons import RequestRefused

LARGEST = 32_767  # of a profile of series X
VELOCITY_MODE, POSITION_MODE, EXTENDED_MODE, CURRENT_MODE = 1, 3, 4, 5
POSITION_MODES = (POSITION_MODE, EXTENDED_MODE, CURRENT_MODE)
WITH_CURRENT = {1020, 1030, 1040, 1050, 1110, 1120, 1130}
"""Models with Goal Current: XM430 and XH430, XM540, XH540."""
# Limits of an XL430, until the servo's own are read.
_PWM, _CURRENT, _VELOCITY, _POSITIONS = 885, 0, 265, (0, 4095)
GOALS = (packet.GOAL_VELOCITY, packet.GOAL_POSITION)
PROFILE = (
    packet.PROFILE_ACCELERATION, packet.GOAL_PWM, packet.GOAL_CURRENT, packet.PROFILE_VELOCITY,
)  # fmt: skip
"""What a goal needs first."""

Writes = dict[int, int]
"""Registers and their new numbers."""


class Servo:
    """mode: the operating mode of the servo now, None while it is unknown or the torque is off.

    changing: the mode that it is being set to. torque: as it was set last, None: unknown. pulses:
    its last position. held: the goal of the last stop, None after a command. waiting: what is to be
    written of the newest command. offset: of its registers (`packet`).
    """

    def __init__(self, device: Device, settings: ServoSettings, counts: Counter[str]) -> None:
        self.device = device
        self._counts = counts
        self.number = settings.id
        self.series = SERIES[settings.series]
        self.offset = self.series.offset
        self.settings = settings
        self.has_current = False
        self._rad_per_pulse = math.tau / self.series.pulses
        self._zero = self.series.zero if settings.zero is None else settings.zero
        self.wanted = 0.0
        self._slew = Slew(device.limits.rate)
        self.pulses: int | None = None
        self.held: int | None = None
        self.answered_ns = 0
        self.waiting: Writes = {}
        self.forget()

    def forget(self) -> None:
        """The servo may have been exchanged, or switched off."""
        self._pwm, self._current, self._velocity = _PWM, _CURRENT, _VELOCITY
        self._positions = _POSITIONS
        self._acceleration = 0
        self._largest = LARGEST, LARGEST  # of the profile of acceleration and velocity
        fastest = self.device.limits.bounds("velocity")[1]
        # Of a position command that comes without a velocity; 0: as fast as the servo can.
        self._speed = 0 if fastest == math.inf else max(1, int(fastest / self.series.rad_s))
        self._force: int | None = None
        self.let_go()
        self.torque: int | None = None
        self.stop()

    def let_go(self) -> None:
        """Its torque is off: the next command sets its mode."""
        self.held = None  # it may be moved by hand
        self.mode: int | None = None
        self.changing: int | None = None
        self._target: int | None = None
        self.torque = 0
        self._sent: Writes = {}

    def stop(self) -> None:
        """It was stopped: nothing that waits may be written any more."""
        if self.waiting.keys() & GOALS:
            self._counts["superseded"] += 1
        self.waiting = {}
        self.changing = None
        self._target = self.mode
        self._rest()

    def _rest(self) -> None:
        self.wanted = 0.0
        self._slew.settle()

    def hold(self, mode: int) -> None:
        """It was found in this mode with its torque on, and holds its position."""
        self.mode = self._target = mode
        self.torque = 1
        self._force = 1000  # what was set before is unknown

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
        """The position in rad; None before the first reading."""
        if self.pulses is None:
            return None
        return (self.pulses - self._zero) * self._rad_per_pulse * self._sign

    def velocity(self, raw: int) -> float:
        """The velocity of this number, in rad/s."""
        return raw * self.series.rad_s * self._sign

    def torque_of(self, raw: int) -> float:
        """The torque in N m, from Present Load, or Present Current where the servo measures it."""
        measured = (self.has_current or self.series is P) and self._current > 0
        return raw / (self._current if measured else 1000) * self.settings.max_torque * self._sign

    @property
    def _sign(self) -> int:
        return -1 if self.settings.reverse else 1

    # --- commands -----------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> Refusal | None:
        """A command that the control loop has checked: it waits, in place of the one before."""
        if isinstance(command, MotorSettings):
            return self._settings(command, now)
        if not isinstance(command, MotorCommand) or command.field == MotorField.TORQUE:
            what = "gains and torque control are not supported; set the available torque"
            return Refusal(RequestRefused.NOT_SETTABLE, f"'{self.device.name}': {what}")
        if command.field == MotorField.VELOCITY:
            self._by_velocity(command.value, now)
        elif command.field == MotorField.POSITION:
            if command.value != math.inf:
                return self._by_position(command.value)
            self._by_velocity(self.wanted, now)
        elif command.field == MotorField.ACCELERATION:
            self._acceleration = self._profile_acceleration(command.value)
            self._wait({packet.PROFILE_ACCELERATION: self._acceleration})
        else:
            self._force = self._force_of(command.value)
            self._wait(self._limit_force(self._target))
        return None

    def _settings(self, command: MotorSettings, now: int) -> Refusal | None:
        kept = self._acceleration, self._force, self._speed
        self._keep(command)
        if command.position == math.inf:
            self._by_velocity(command.velocity, now)
            return None
        refusal = self._by_position(command.position, still=command.velocity == 0)
        if refusal is not None:
            self._acceleration, self._force, self._speed = kept
        return refusal

    def _keep(self, command: MotorSettings) -> None:
        """The settings that the next goal needs."""
        self._acceleration = self._profile_acceleration(command.acceleration)
        self._force = self._force_of(command.available)
        if command.position != math.inf:
            self._speed = max(1, _profile(command.velocity, self.series.rad_s, self._largest[1]))

    def _by_velocity(self, velocity: float, now: int) -> None:
        self.wanted = self._slew.aim(velocity, now)
        self._aim(VELOCITY_MODE, {packet.GOAL_VELOCITY: self._raw_velocity()})

    def _by_position(self, position: float, *, still: bool = False) -> Refusal | None:
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
        self._aim(mode, {packet.PROFILE_VELOCITY: self._speed, packet.GOAL_POSITION: pulses})
        return None

    def _aim(self, mode: int, goal: Writes) -> None:
        """A goal in this mode, and the settings that it needs: a change of mode resets them."""
        head = {packet.PROFILE_ACCELERATION: self._acceleration} | self._limit_force(mode)
        self._wait(head | goal, mode)

    def _wait(self, writes: Writes, mode: int | None = None) -> None:
        """mode: of a goal, which takes the place of all that waits."""
        if self.waiting.keys() & (GOALS if mode is not None else writes.keys()):
            self._counts["superseded"] += 1
        if mode is not None:
            self.waiting, self._target, self.held = {}, mode, None
        self.waiting |= writes

    def _limit_force(self, mode: int | None) -> Writes:
        if self._force is None:
            return {}
        if mode == CURRENT_MODE:
            return {packet.GOAL_CURRENT: self._force * self._current // 1000}
        return {packet.GOAL_PWM: self._force * self._pwm // 1000}

    def _force_of(self, available: float) -> int:
        """The available torque in thousandths of the largest one."""
        return round(1000 * min(1.0, available / self.settings.max_torque))

    def _profile_acceleration(self, amount: float) -> int:
        return _profile(amount, self.series.rad_s2, self._largest[0])

    def _raw_velocity(self) -> int:
        raw = max(-self._velocity, min(self._velocity, self.wanted / self.series.rad_s))
        return round(raw) * self._sign

    def next_deadline(self) -> int | None:
        return self._slew.next_deadline()

    def expire(self, now: int) -> None:
        """The next velocity on the way to the one commanded."""
        value = self._slew.expire(now)
        if value is not None and self._target == VELOCITY_MODE:
            self.wanted = value
            self.waiting[packet.GOAL_VELOCITY] = self._raw_velocity()

    # --- what is written ----------------------------------------------------------------------

    @property
    def must_change(self) -> bool:
        """Whether what waits needs another mode, which is not being set yet."""
        return bool(self.waiting) and self.changing is None and self._target != self.mode

    @property
    def is_ready(self) -> bool:
        """Whether what waits may be written."""
        return bool(self.waiting) and self.changing is None and self._target == self.mode

    def has(self, register: int) -> bool:
        """Whether the setting that waits was written before. A goal is always written."""
        return register in PROFILE and self._sent.get(register) == self.waiting[register]

    def took(self) -> None:
        """What waited was written."""
        self._sent |= self.waiting
        self.waiting = {}

    def change(self) -> tuple[int, Writes]:
        """Begins the change of mode: the mode, and the settings that follow it."""
        assert self._target is not None
        mode = self.changing = self._target
        self.mode = None
        self._sent.clear()
        return mode, {each: self.waiting.pop(each) for each in PROFILE if each in self.waiting}

    def written(self, register: int, amount: int, *, last: bool) -> None:
        """The servo has confirmed this register of a change of mode. last: the change ends."""
        if register == packet.TORQUE:
            self.torque = amount
            if amount:
                self.mode = self.changing
        if last:
            self.changing = None

    # --- stops --------------------------------------------------------------------------------

    def is_still(self, command: Command) -> bool:
        """Whether this command asks for velocity 0; a selected mode keeps the velocity."""
        if isinstance(command, MotorCommand) and command.field == MotorField.POSITION:
            return command.value == math.inf and self.wanted == 0
        return stands_still(command)

    def still(self, command: Command) -> None:
        """Velocity 0 after another command.

        It needs a goal only, and no other mode: under position control the last position.
        """
        self._rest()
        if isinstance(command, MotorSettings):
            self._keep(command)
        mode = self.changing if self.mode is None else self.mode
        if mode is None or mode == VELOCITY_MODE or self.pulses is None:
            goal = {packet.GOAL_VELOCITY: 0}
        else:
            goal = {packet.GOAL_POSITION: self.hold_position()}
        if self.waiting.keys() & GOALS:
            self._counts["superseded"] += 1
        self.waiting, self._target = goal, mode

    def held_pulses(self) -> int:
        """The goal that holds the position.

        That of the last stop as long as the servo is there, else its last position, within its
        limits, beyond which it takes none. Changes nothing.
        """
        assert self.pulses is not None
        sag = SAG_RAD / self._rad_per_pulse
        if self.held is not None and self.torque and abs(self.pulses - self.held) <= sag:
            return self.held
        if self.mode != POSITION_MODE:
            return self.pulses
        return max(self._positions[0], min(self._positions[1], self.pulses))

    def hold_position(self) -> int:
        """A stop holds the position, and the next one the same: returns its goal."""
        self.held = self.held_pulses()
        return self.held

    def stop_command(self) -> MotorCommand | None:
        """The command that stops it in its present mode; None: it has not moved."""
        mode = self.mode or self.changing or self._target
        if mode is None:
            return None
        if mode == VELOCITY_MODE:
            return MotorCommand(self.device.index, MotorField.VELOCITY, 0.0)
        return self.hold_command()

    def hold_command(self) -> MotorCommand | None:
        """The command that holds the last position; None before the first reading."""
        position = self.position
        if position is None:
            return None
        return MotorCommand(self.device.index, MotorField.POSITION, position)


def _profile(amount: float, unit: float, largest: int) -> int:
    """A number of a profile; 0, which is unlimited there, for -1."""
    return 0 if amount < 0 else min(largest, max(1, round(amount / unit)))
