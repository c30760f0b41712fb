"""The motors of body `text`, and the lines that move and stop them."""

import math
from collections.abc import Mapping
from enum import Enum

from hilgw.bodies.text.lines import PLACEHOLDER, Sendable, sendable
from hilgw.bodies.text.settings import DeclaredMotion, TextBodySettings, TextMotor
from hilgw.control.events import Command, MotorCommand, MotorField, MotorSettings
from hilgw.control.limits import Slew
from hilgw.devices.kinds import MOTOR, Device, Devices, Refusal
from hilgw.reasons import RequestRefused
from hilgw.units import earliest, ms_to_ns

VELOCITY = "velocity"  # the placeholder
LARGEST_NUMBER = 1e15  # on a line


class SlewingMotor(Slew):
    """value: a velocity in rad/s or m/s; with position control the largest.

    target: the position that was commanded since the last stop, None without one. sent: how its
    number was written since then. cut: its last number was beyond the limits of the line. zeros:
    the number of the work zero, by motor.
    """

    def __init__(self, device: Device, settings: TextMotor, zeros: Mapping[str, float]) -> None:
        self.device = device
        self._zeros = zeros
        self.by_position = settings.mode == "position"
        self.optional = self.by_position and settings.text != "{}"
        self.cut = False
        self._settings = settings
        self._scale = -settings.scale if settings.reverse else settings.scale
        rate = device.limits.rate
        _, fastest = device.limits.bounds("velocity")
        self._fastest = fastest if rate is None else min(fastest, rate)
        super().__init__(None if self.by_position else rate)
        self.rest()

    def rest(self) -> None:
        self.settle(self._settings.maxVelocity if self.by_position else 0.0)
        self.target: float | None = None
        self.sent: str | None = None
        self.is_held = False

    def hold(self) -> None:
        """Stop it where it is, until the next command moves it."""
        if self.by_position:
            self.is_held = True
        else:
            self.settle()

    @property
    def largest_velocity(self) -> float:
        """Return the velocity of position control, within the limits of velocity and rate.

        The limits also hold before a controller has set one.
        """
        return min(abs(self.value), self._fastest)

    @property
    def moves(self) -> bool:
        """True if it has a position to go to, and may: position control."""
        return self.target is not None and self.value != 0 and not self.is_held

    def command(self, command: Command, now: int) -> Refusal | None:
        position, velocity = _wanted(command)
        if position is None and velocity is None:
            return self._refuse("has no force and torque control")
        if self.by_position:
            if position == math.inf:
                return self._refuse("has position control only")
            if position is not None and abs(self._number(position)) >= LARGEST_NUMBER:
                return self._too_large(position)
            self.settle(self.value if velocity is None else velocity)
            self.target = self.target if position is None else position
            self.is_held &= position is None
            return None
        if position is not None and position != math.inf and velocity != 0:
            return self._refuse("has velocity control only")
        if velocity is not None and abs(self._number(velocity)) >= LARGEST_NUMBER:
            return self._too_large(velocity)
        if velocity is not None:
            self.aim(velocity, now)
        return None

    def _refuse(self, text: str) -> Refusal:
        return Refusal(RequestRefused.NOT_SETTABLE, f"'{self.device.name}' {text}")

    def _too_large(self, value: float) -> Refusal:
        text = f"'{self.device.name}': {value:g} is too large for a number on the line"
        return Refusal(RequestRefused.OUT_OF_RANGE, text)

    def _number(self, amount: float) -> float:
        settings = self._settings
        number = amount * self._scale + settings.offset + self._zeros.get(self.device.name, 0.0)
        low = -math.inf if settings.smallest is None else settings.smallest
        high = math.inf if settings.largest is None else settings.largest
        self.cut = not low <= number <= high
        return min(max(number, low), high)

    def text(self) -> str:
        """Return its number as it is written on the line."""
        amount = (self.target or 0.0) if self.by_position else self.value
        number = written(self._number(amount), self._settings.decimals)
        return self._settings.text.replace("{}", number)


class Halted(Enum):
    """Reason why a motion has no line now."""

    INCOMPLETE = "a motor in it has no position yet"
    STOPPED = "none of its motors moves"


class MotionLine:
    """A line for several motors.

    active: it was sent since the last stop. last: its bytes then, None when the robot may not have
    obeyed them.
    """

    def __init__(
        self, settings: DeclaredMotion, motors: dict[str, SlewingMotor], end: bytes, failed: str
    ) -> None:
        self.line: Sendable = sendable(settings, end, failed, fills=True)
        names = PLACEHOLDER.findall(settings.send)
        self.motors = [motors[name] for name in names if name in motors]
        self.repeats = settings.repeat or not settings.expect
        self.again_ns = 0  # when a robot with a watchdog needs it again
        self.rest()
        self._by_name = motors
        self._settings = settings

    def rest(self) -> None:
        self.active = False
        self.last: bytes | None = None

    def data(self) -> bytes | Halted:
        positioned = [motor for motor in self.motors if motor.by_position]
        if any(motor.target is None and not motor.optional for motor in positioned):
            return Halted.INCOMPLETE
        held = [motor for motor in positioned if not motor.moves]
        fixed = [motor for motor in held if not motor.optional]
        # A servo with velocity 0 keeps its number, for the others in its line.
        kept = all(motor.sent is not None and not motor.is_held for motor in fixed)
        if not kept or (held and held == self.motors):
            return Halted.STOPPED
        return self.line.filled(self._value)

    def _value(self, name: str) -> str:
        motor = self._by_name.get(name)
        if motor is not None:
            if motor.by_position and not motor.moves:
                return "" if motor.optional else motor.sent or ""
            return motor.text()
        if name != VELOCITY:
            return f"{{{name}}}"
        velocities = [each.largest_velocity for each in self.motors if each.moves]
        settings = self._settings
        number = min(velocities, default=0.0) * settings.velocity_scale
        number = min(max(number, -LARGEST_NUMBER), LARGEST_NUMBER)
        return written(number, settings.velocity_decimals)


def written(number: float, decimals: int) -> str:
    """Write a number with this many digits after the point; never -0, nor an exponent."""
    text = f"{number:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text


def _wanted(command: Command) -> tuple[float | None, float | None]:
    """Position and velocity that a command sets; both None: it sets neither."""
    if isinstance(command, MotorSettings):
        return command.position, command.velocity
    if isinstance(command, MotorCommand):
        if command.field == MotorField.VELOCITY:
            return None, command.value
        if command.field == MotorField.POSITION:
            return command.value, None
    return None, None


class Motions:
    """motors: by the index of the device.

    stops: the lines that stop all of them. lines: those that move them. zeros: as of `Motor`.
    """

    def __init__(
        self, settings: TextBodySettings, devices: Devices, end: bytes, zeros: Mapping[str, float]
    ) -> None:
        named = {
            each.name: SlewingMotor(each, settings.motors[each.name], zeros)
            for each in devices.of_role(MOTOR)
        }
        self.motors = {motor.device.index: motor for motor in named.values()}
        self.stops = [sendable(each, end, settings.failed) for each in settings.stop]
        self.lines = [MotionLine(each, named, end, settings.failed) for each in settings.commands]
        self.line_of = {motor.device.index: line for line in self.lines for motor in line.motors}
        self._again_ns = ms_to_ns(settings.watchdog_ms) // 3
        self._waiting: dict[int, MotionLine] = {}  # by their place: lines with a new command
        self.must_halt = False  # a line may not wait, or one motor is held

    # --- motions ------------------------------------------------------------------------------

    def command(self, motor: SlewingMotor, command: Command, now: int) -> Refusal | None:
        refusal = motor.command(command, now)
        if refusal is None:
            self._wait(self.line_of[motor.device.index])
        return refusal

    def hold(self, motor: SlewingMotor) -> None:
        """Stop one motor: its line is sent with velocity 0.

        Or the stop, which holds a position, and then the line again for its other motors.
        """
        line = self.line_of[motor.device.index]
        motor.hold()
        self.must_halt |= motor.by_position and line.active
        self._wait(line)

    def hold_again(self, index: int) -> None:
        """Send the line of a stopped motor again: it may have been damaged on its way."""
        line = self.line_of[index]
        if line.active:
            self.lost(line)
        else:
            self.must_halt = True

    def refused(self, line: MotionLine) -> None:
        """Make a stop due: the robot refused this line, and its motors wait for another command."""
        for motor in line.motors:
            motor.hold()
        line.rest()
        self._waiting.pop(self.lines.index(line), None)
        self.must_halt = True

    def _wait(self, line: MotionLine) -> None:
        self._waiting[self.lines.index(line)] = line

    def next_deadline(self) -> int | None:
        """Return when a rate allows the next velocity, or a watchdog needs a line again."""
        rates = (motor.next_deadline() for motor in self.motors.values())
        return earliest(*rates, *(line.again_ns for line in self._guarded()))

    def _guarded(self) -> list[MotionLine]:
        """Return the lines that the watchdog of the robot needs again."""
        if not self._again_ns:
            return []
        waiting = self._waiting.values()
        return [line for line in self.lines if line.active and line not in waiting]

    def expire(self, now: int) -> None:
        for index, motor in self.motors.items():
            if motor.expire(now) is not None:
                self._wait(self.line_of[index])
        for line in self._guarded():
            if now >= line.again_ns:
                line.last = None
                self._wait(line)

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def due(self) -> list[tuple[MotionLine, bytes]]:
        """Return the lines to send and their bytes, in the order of the file.

        Those that change nothing are forgotten.
        """
        lines = []
        for place, line in sorted(self._waiting.items()):
            data = line.data()
            if isinstance(data, bytes) and (line.repeats or data != line.last):
                lines.append((line, data))
            else:
                del self._waiting[place]
        return lines

    def left(self, line: MotionLine, data: bytes, now: int) -> list[str]:
        """Note that the line was sent; return the names of the motors whose number was cut."""
        line.active, line.last, line.again_ns = True, data, now + self._again_ns
        for motor in line.motors:
            if not motor.by_position or motor.moves:
                motor.sent = motor.text()
        self._waiting.pop(self.lines.index(line), None)
        return [motor.device.name for motor in line.motors if motor.cut]

    def lost(self, line: MotionLine) -> None:
        """Send a line without an answer again, with the numbers of then."""
        line.last = None
        if line.active:
            self._wait(line)

    # --- stops --------------------------------------------------------------------------------

    def halt(self) -> bool:
        """Return whether the stop is due.

        It is when a motor under position control is held, or all motors of a line got velocity 0.
        It stops every motor: lines whose motors may move on wait again.
        """
        halted = {
            place: line for place, line in self._waiting.items() if line.data() is Halted.STOPPED
        }
        for place in halted:
            del self._waiting[place]
        if not (self.must_halt or any(line.active for line in halted.values())):
            return False
        self.must_halt = False
        for line in halted.values():
            line.rest()
        self.repeat()
        return True

    def repeat(self) -> None:
        """Send the motions again that follow a stop which was not meant for them."""
        for line in (each for each in self.lines if each.active):
            line.rest()
            self._wait(line)

    def rest(self) -> None:
        """Make void what was commanded before: the motors were stopped."""
        self._waiting.clear()
        self.must_halt = False
        for motor in self.motors.values():
            motor.rest()
        for line in self.lines:
            line.rest()

    def stop_data(self, *, whole: bool = False) -> bytes:
        """Return the stop lines; whole: with those that an answer decides."""
        return b"".join(line.filled({}) for line in self.stops if whole or line.after is None)
