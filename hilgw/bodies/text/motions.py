"""All motors of body `text`, and the lines to send for them: motions, and the stop."""

from __future__ import annotations

from hilgw.bodies.text.lines import sendable
from hilgw.bodies.text.motors import Halted, MotionLine, Motor
from hilgw.bodies.text.settings import TextBodySettings
from hilgw.control.events import Command, MotorCommand, MotorField
from hilgw.devices.kinds import Devices, Refusal


class Motions:
    """motors: by the index of the device. stops: the lines that stop all of them."""

    def __init__(self, settings: TextBodySettings, devices: Devices, end: bytes) -> None:
        named: dict[str, Motor] = {}
        for name, each in settings.motors.items():
            device = devices.by_name(name)
            assert device is not None
            named[name] = Motor(device, each)
        self.motors = {motor.device.index: motor for motor in named.values()}
        self.stops = [sendable(each, end, settings.failed) for each in settings.stop]
        self._lines = [MotionLine(each, named, end, settings.failed) for each in settings.commands]
        self._line_of = {motor.device.index: line for line in self._lines for motor in line.motors}
        self._waiting: dict[int, MotionLine] = {}  # by their place: lines with a new command
        self._must_halt = False  # for one motor that is held

    # --- motions ------------------------------------------------------------------------------

    def command(self, motor: Motor, command: Command, now: int) -> Refusal | None:
        """Follows a command that the control loop has checked, or refuses it."""
        refusal = motor.command(command, now)
        if refusal is None:
            self._wait(self._line_of[motor.device.index])
        return refusal

    def hold(self, motor: Motor) -> None:
        """One motor stops: its line is sent with velocity 0, or the stop, which holds a position,
        and then the line again for its other motors."""
        line = self._line_of[motor.device.index]
        motor.hold()
        self._must_halt |= motor.by_position and line.active
        self._wait(line)

    def line_of(self, index: int) -> MotionLine:
        """The line of this motor."""
        return self._line_of[index]

    def demand_halt(self) -> None:
        """A stop is due: a line may not wait."""
        self._must_halt = True

    def refused(self, line: MotionLine) -> None:
        """The robot refused this line, and goes on with the one before: a stop is due, and its
        motors wait for another command."""
        for motor in line.motors:
            motor.hold()
        line.rest()
        self._waiting.pop(self._lines.index(line), None)
        self._must_halt = True

    def _wait(self, line: MotionLine) -> None:
        self._waiting[self._lines.index(line)] = line

    def next_deadline(self) -> int | None:
        """When the rate of a motor allows its next velocity."""
        dues = (motor.next_deadline() for motor in self.motors.values())
        return min((due for due in dues if due is not None), default=None)

    def expire(self, now: int) -> None:
        for index, motor in self.motors.items():
            if motor.expire(now) is not None:
                self._wait(self._line_of[index])

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def due(self) -> list[tuple[MotionLine, bytes]]:
        """The lines to send and their bytes, in the order of the file. Those that say nothing new
        are forgotten."""
        found = []
        for place, line in sorted(self._waiting.items()):
            data = line.data()
            if isinstance(data, bytes) and (line.repeats or data != line.last):
                found.append((line, data))
            else:
                del self._waiting[place]
        return found

    def left(self, line: MotionLine, data: bytes) -> list[str]:
        """The line was sent; the names of the motors whose number was cut."""
        line.active, line.last = True, data
        self._waiting.pop(self._lines.index(line), None)
        return [motor.device.name for motor in line.motors if motor.cut]

    def lost(self, line: MotionLine) -> None:
        """The line was not answered: it is sent again, with the numbers of then."""
        line.last = None
        if line.active:
            self._wait(line)

    def active(self) -> list[MotionLine]:
        """The lines that were sent since the last stop."""
        return [line for line in self._lines if line.active]

    # --- stops --------------------------------------------------------------------------------

    def halt(self) -> bool:
        """Whether the stop is due because a motor under position control is held, or all motors of
        a line got velocity 0. It stops every motor: lines whose motors may move on wait again."""
        halted = {
            place: line for place, line in self._waiting.items() if line.data() is Halted.STOPPED
        }
        for place in halted:
            del self._waiting[place]
        if not (self._must_halt or any(line.active for line in halted.values())):
            return False
        self._must_halt = False
        for line in halted.values():
            line.rest()
        self.repeat()
        return True

    def repeat(self) -> None:
        """A stop leaves that was not meant for the motions that were sent since: they follow it."""
        for line in self.active():
            line.rest()
            self._wait(line)

    def rest(self) -> None:
        """The motors were stopped: what was commanded before is void."""
        self._waiting.clear()
        self._must_halt = False
        for motor in self.motors.values():
            motor.rest()
        for line in self._lines:
            line.rest()

    def stop_commands(self) -> list[Command]:
        """The commands that the stop lines stand for."""
        return [MotorCommand(index, MotorField.VELOCITY, 0.0) for index in self.motors]

    def stop_data(self) -> bytes:
        return b"".join(line.filled({}) for line in self.stops)
