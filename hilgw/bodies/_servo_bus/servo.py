"""A servo of the body: units, its operating mode, and the registers that a command sets."""

import math
from abc import ABC, abstractmethod
from collections import Counter

from hilgw.bodies._servo_bus.bus import Series, ServoKind
from hilgw.bodies._servo_bus.settings import ServoSettings
from hilgw.control.events import Command, MotorCommand, MotorField, MotorSettings
from hilgw.control.limits import Slew
from hilgw.control.safety import SAG_RAD, stands_still
from hilgw.devices.kinds import Device, Refusal
from hilgw.reasons import RequestRefused

LARGEST = 32_767  # of a profile
_POSITIONS = (0, 4095)  # limits, until the servo's own are read

Writes = dict[int, int]  # registers and their new numbers


class Servo(ABC):
    """mode: the operating mode of the servo now, None while it is unknown or the torque is off.

    changing: the mode that it is being set to. torque: as it was set last, None: unknown. pulses:
    its last position. held: the goal of the last stop, None after a command. waiting: what is to be
    written of the newest command. rad_s: the unit of its velocities. is_lost: it was silent, or may
    have restarted, since the last position.
    """

    def __init__(
        self,
        kind: ServoKind,
        device: Device,
        settings: ServoSettings,
        series: Series,
        counts: Counter[str],
    ) -> None:
        self._kind = kind
        self.device = device
        self._counts = counts
        self.number = settings.id
        self.series = series
        self.settings = settings
        self._rad_per_pulse = math.tau / self.series.pulses
        self._zero = self.series.zero if settings.zero is None else settings.zero
        self.wanted = 0.0
        self._slew = Slew(device.limits.rate)
        self.pulses: int | None = None
        self.held: int | None = None
        self.answered_ns = 0
        self.is_lost = False
        self.waiting: Writes = {}
        self.forget()

    def forget(self) -> None:
        """Forget what it was set to: it may have been exchanged, or switched off."""
        self._velocity, self._positions = LARGEST, _POSITIONS
        self._acceleration = 0
        self._largest = LARGEST, LARGEST  # of the profile of acceleration and velocity
        self.set_unit(self.series.rad_s)
        self._force: int | None = None
        self.let_go()
        self.torque: int | None = None
        self.stop()

    def set_unit(self, rad_s: float) -> None:
        self.rad_s = rad_s
        fastest = self.device.limits.bounds("velocity")[1]
        # Of a position command that comes without a velocity.
        is_limited = fastest < math.inf
        self._speed = max(1, int(fastest / rad_s)) if is_limited else self._kind.unlimited

    def let_go(self) -> None:
        self.held = None  # it may be moved by hand
        self.mode: int | None = None
        self.changing: int | None = None
        self._target: int | None = None
        self.torque = 0
        self._sent: Writes = {}

    def stop(self) -> None:
        if self.waiting.keys() & self._kind.goals:
            self._counts["superseded"] += 1
        self.waiting = {}
        self.changing = None
        self._target = self.mode
        self._rest()

    def _rest(self) -> None:
        self.wanted = 0.0
        self._slew.settle()

    def hold(self, mode: int) -> None:
        """Note that it was found in this mode with its torque on, and holds its position."""
        self.mode = self._target = mode
        self.torque = 1
        self._force = 1000  # what was set before is unknown

    # --- what the servo reports ---------------------------------------------------------------

    def identify(self, model: int) -> None:
        self._rad_per_pulse = math.tau / self.series.turns.get(model, self.series.pulses)

    @abstractmethod
    def take_limits(self, data: bytes) -> None:
        """Take the registers `ServoKind.limits`."""

    def take(self, pulses: int) -> None:
        self.pulses, self.is_lost = pulses, False

    @abstractmethod
    def expected(self, register: int) -> int | None:
        """Return the number of a register that is read back, but the torque; None: any."""

    @property
    def position(self) -> float | None:
        """The position in rad; None before the first reading."""
        return None if self.pulses is None else self._angle(self.pulses)

    def _angle(self, pulses: float) -> float:
        return (pulses - self._zero) * self._rad_per_pulse * self._sign

    def velocity(self, raw: int) -> float:
        """Return the velocity of this number, in rad/s."""
        return raw * self.rad_s * self._sign

    def torque_of(self, raw: int) -> float:
        return raw / self._full_load * self.settings.max_torque * self._sign

    @property
    def _full_load(self) -> int:
        return 1000

    @property
    def _sign(self) -> int:
        return -1 if self.settings.reverse else 1

    # --- commands -----------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> Refusal | None:
        """Let a command wait, in place of the one before; the control loop has checked it."""
        if isinstance(command, MotorSettings):
            return self._settings(command, now)
        if not isinstance(command, MotorCommand) or command.field == MotorField.TORQUE:
            text = "gains and torque control are not supported; set the available torque"
            return Refusal(RequestRefused.NOT_SETTABLE, f"'{self.device.name}': {text}")
        if command.field == MotorField.VELOCITY:
            self._by_velocity(command.value, now)
        elif command.field == MotorField.POSITION:
            if command.value != math.inf:
                return self._by_position(command.value)
            self._by_velocity(self.wanted, now)
        elif command.field == MotorField.ACCELERATION:
            self._acceleration = self._profile_acceleration(command.value)
            self._wait({self._kind.acceleration: self._acceleration})
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
        self._acceleration = self._profile_acceleration(command.acceleration)
        self._force = self._force_of(command.available)
        if command.position != math.inf:
            self._speed = max(1, _profile(command.velocity, self.rad_s, self._largest[1]))

    def _by_velocity(self, velocity: float, now: int) -> None:
        self.wanted = self._slew.aim(velocity, now)
        self._aim(self._kind.velocity_mode, {self._kind.goal_velocity: self._raw_velocity()})

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
        goal = {self._kind.speed: self._speed, self._kind.goal_position: pulses}
        self._aim(self._mode_of_positions, goal)
        return None

    @property
    def _mode_of_positions(self) -> int:
        return self._kind.position_mode

    def _aim(self, mode: int, goal: Writes) -> None:
        head = {self._kind.acceleration: self._acceleration} | self._limit_force(mode)
        self._wait(head | goal, mode)

    def _wait(self, writes: Writes, mode: int | None = None) -> None:
        """Let it wait; a goal (with its mode) takes the place of all that waits."""
        if self.waiting.keys() & set(self._kind.goals if mode is not None else writes):
            self._counts["superseded"] += 1
        if mode is not None:
            self.waiting, self._target, self.held = {}, mode, None
        self.waiting |= writes

    def _limit_force(self, mode: int | None) -> Writes:
        return {} if self._force is None else self._force_writes(self._force, mode)

    @abstractmethod
    def _force_writes(self, force: int, mode: int | None) -> Writes:
        """Return what limits the torque in this mode. force: in thousandths of the largest."""

    def _force_of(self, available: float) -> int:
        return round(1000 * min(1.0, available / self.settings.max_torque))

    def _profile_acceleration(self, amount: float) -> int:
        return _profile(amount, self.series.rad_s2, self._largest[0])

    def _raw_velocity(self) -> int:
        raw = max(-self._velocity, min(self._velocity, self.wanted / self.rad_s))
        return round(raw) * self._sign

    def next_deadline(self) -> int | None:
        return self._slew.next_deadline()

    def expire(self, now: int) -> None:
        value = self._slew.expire(now)
        if value is not None and self._target == self._kind.velocity_mode:
            self.wanted = value
            self.waiting[self._kind.goal_velocity] = self._raw_velocity()

    # --- what is written ----------------------------------------------------------------------

    @property
    def must_change(self) -> bool:
        return bool(self.waiting) and self.changing is None and self._target != self.mode

    @property
    def is_ready(self) -> bool:
        return bool(self.waiting) and self.changing is None and self._target == self.mode

    def has(self, register: int) -> bool:
        """Return whether the setting that waits was written before. A goal is always written."""
        is_setting = register in self._kind.profile
        return is_setting and self._sent.get(register) == self.waiting[register]

    def took(self) -> None:
        self._sent |= self.waiting
        self.waiting = {}

    def change(self) -> tuple[int, Writes]:
        """Begin the change of mode; return the mode, and the settings that follow it."""
        assert self._target is not None
        mode = self.changing = self._target
        self.mode = None
        self._sent.clear()
        settings = [register for register in self._kind.profile if register in self.waiting]
        return mode, {register: self.waiting.pop(register) for register in settings}

    def written(self, register: int, amount: int, *, last: bool) -> None:
        """Note that it has confirmed this register of a change of mode. last: the change ends."""
        if register == self._kind.torque:
            self.torque = amount
            if amount:
                self.mode = self.changing
        if last:
            self.changing = None

    # --- stops --------------------------------------------------------------------------------

    def is_still(self, command: Command) -> bool:
        """Return whether this command asks for velocity 0; a selected mode keeps the velocity."""
        if isinstance(command, MotorCommand) and command.field == MotorField.POSITION:
            return command.value == math.inf and self.wanted == 0
        return stands_still(command)

    def still(self, command: Command) -> None:
        """Let velocity 0 wait after another command.

        It needs a goal only, and no other mode: under position control the last position.
        """
        self._rest()
        if isinstance(command, MotorSettings):
            self._keep(command)
        mode = self.changing if self.mode is None else self.mode
        if mode in (None, self._kind.velocity_mode) or self.pulses is None:
            goal = {self._kind.goal_velocity: 0}
        else:
            goal = {self._kind.goal_position: self.hold_position()}
        if self.waiting.keys() & self._kind.goals:
            self._counts["superseded"] += 1
        self.waiting, self._target = goal, mode

    def held_pulses(self) -> int:
        """Return the goal that holds the position.

        That of the last stop as long as the servo is there, else its last position, within its
        limits, beyond which it takes none. Changes nothing.
        """
        assert self.pulses is not None
        sag = SAG_RAD / self._rad_per_pulse
        if self.held is not None and self.torque and abs(self.pulses - self.held) <= sag:
            return self.held
        if self.mode != self._kind.position_mode:
            return self.pulses
        return max(self._positions[0], min(self._positions[1], self.pulses))

    def hold_position(self) -> int:
        """Hold the position with this stop, and the next one the same; return its goal."""
        self.held = self.held_pulses()
        return self.held

    @abstractmethod
    def stop_blocks(self, before_torque: bool) -> dict[int, bytes]:
        """Return the registers that stop it, and those that follow them.

        before_torque: it has none, and gets it next. Changes nothing.
        """

    def stop_command(self) -> MotorCommand | None:
        """Return the command that stops it in its present mode; None: it has not moved."""
        modes = [mode for mode in (self.mode, self.changing, self._target) if mode is not None]
        if not modes:
            return None
        if modes[0] == self._kind.velocity_mode:
            return MotorCommand(self.device.index, MotorField.VELOCITY, 0.0)
        return self.hold_command()

    def hold_command(self) -> MotorCommand | None:
        """Return the command that holds the last position; None before the first reading."""
        position = self.position
        if position is None:
            return None
        return MotorCommand(self.device.index, MotorField.POSITION, position)


def _profile(amount: float, unit: float, largest: int) -> int:
    return 0 if amount < 0 else min(largest, max(1, round(amount / unit)))
