"""Commands that hold for the motors of one body: one record per motor, and the order of all.

A record has the newest command of each kind that holds: those that were written to the robot, and
those that wait until the line to it has room. A stop makes them void.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from hilgw.control.events import Command, MotorCommand, MotorField, MotorPid, MotorSettings
from hilgw.control.safety import MotorMode, mode_of
from hilgw.units import NS_PER_MS

REFRESH_NS = 100 * NS_PER_MS
_WHOLE, _GAINS = MotorSettings.__name__, MotorPid.__name__
_MOTION = (MotorField.POSITION, MotorField.VELOCITY)
_FORCE = (MotorField.FORCE, MotorField.TORQUE)
_LIMITS = (MotorField.ACCELERATION, MotorField.AVAILABLE_FORCE, MotorField.AVAILABLE_TORQUE)
_MOVES = (*_MOTION, *_FORCE, _WHOLE)
_VOIDS: dict[str, tuple[str, ...]] = {
    _WHOLE: (*_MOTION, *_FORCE, *_LIMITS),
    **dict.fromkeys(_FORCE, (*_MOTION, _WHOLE)),
    **dict.fromkeys(_MOTION, _FORCE),
    **dict.fromkeys((*_LIMITS, _GAINS), ()),
}
"""The kinds of earlier commands to the same motor that one of this kind makes void."""


@dataclass(slots=True)
class Set:
    """A command that holds.

    order: of all that were set. stops: how often the robot was stopped before; one of before the
    last stop is void. waits: it is not written yet. is_lacking: the robot has nothing of it.
    """

    command: Command
    order: int
    stops: int
    waits: bool
    is_lacking: bool = False


@dataclass(slots=True)
class MotorRecord:
    """Record of a motor.

    sets: the commands that hold, by what they set, and those that wait. is_held: it was stopped
    alone, and has got no command since. prepared: the mode for which its stop is ready; none since
    the last stop. lacking: what the controller has set of it that the robot lacks; a stop changes
    nothing of that.
    """

    sets: dict[str, Set] = field(default_factory=dict)
    is_held: bool = False
    prepared: tuple[MotorMode | None, ...] = ()
    lacking: dict[str, float] = field(default_factory=dict)

    def take(self, kind: str) -> Set | None:
        """Return the command of this kind that waits: it is written now, or void."""
        waiting = self.sets.get(kind)
        return self.sets.pop(kind) if waiting is not None and waiting.waits else None


class MotorRecords:
    """The records of one body. motors: by their indices. stops: how often the robot was stopped."""

    def __init__(self) -> None:
        self.stops = 0
        self.motors: defaultdict[int, MotorRecord] = defaultdict(MotorRecord)
        self._order = 0
        self._written_ns = 0

    # --- commands -----------------------------------------------------------------------------

    def has_waiting(self, index: int) -> bool:
        """Return whether a command to this motor waits, which a newer one may not overtake."""
        record = self.motors.get(index)
        return record is not None and any(each.waits for each in record.sets.values())

    def set(self, command: Command, now: int, *, waits: bool) -> list[Command]:
        """Keep a command that was written, or that waits for the line.

        Return those that waited, and whose place this one takes.
        """
        record, kind = self.motors[command.index], kind_of(command)
        sets = record.sets
        replaced = []
        for kind_set in (*_VOIDS[kind], kind):
            if kind_set in sets and (waits or not sets[kind_set].waits):  # what waits is newer
                old = sets.pop(kind_set)
                if old.waits:
                    replaced.append(old.command)
        self._order += 1
        sets[kind] = Set(command, self._order, self.stops, waits)
        if not waits:
            record.is_held, self._written_ns = False, now
        return replaced

    def dropped(self, command: Command) -> None:
        """Keep what the robot has nothing of: it may hold for another body."""
        self._order += 1
        kept = Set(command, self._order, self.stops, waits=False, is_lacking=True)
        self.motors[command.index].sets[kind_of(command)] = kept

    def refresh(self, now: int) -> list[Command]:
        """Return what was written since the last stop, oldest set first, each REFRESH_NS."""
        if now - self._written_ns < REFRESH_NS:
            return []
        self._written_ns = now
        return [each.command for each in self._sets() if not (each.waits or each.is_lacking)]

    def carry(self) -> list[Command]:
        """Return what also holds for a body that takes this one's place.

        As libController sends it then: velocities of motors in velocity control, and what limits or
        tunes a motor; neither positions nor forces.
        """
        holding = [each.command for each in self._sets() if each.stops == self.stops]
        modes = [(command, mode_of(command)) for command in holding]
        placed = {command.index for command, mode in modes if mode is MotorMode.POSITION}
        return [
            command
            for command, mode in modes
            if mode is None or (mode is MotorMode.VELOCITY and command.index not in placed)
        ]

    def _sets(self) -> list[Set]:
        sets = [each for record in self.motors.values() for each in record.sets.values()]
        return sorted(sets, key=lambda each: each.order)

    # --- stops --------------------------------------------------------------------------------

    def stop(self) -> None:
        """Make void what was written to all motors, and what waits.

        What waits stays until the line has room, and is then reported as replaced.
        """
        self.stops += 1
        for record in self.motors.values():
            record.prepared = ()
            record.sets = {kind: each for kind, each in record.sets.items() if each.waits}

    def stop_motor(self, index: int) -> list[Command]:
        """Make void the motion of one motor; return what waited of it."""
        sets = self.motors[index].sets
        voided = [sets.pop(each) for each in _MOVES if each in sets]
        return [each.command for each in voided if each.waits]

    def clear(self) -> list[Command]:
        """Forget the commands to a body that is gone or left for another one: it rests then.

        Return what waited.
        """
        waiting = [each.command for each in self._sets() if each.waits]
        for record in self.motors.values():
            record.sets, record.is_held, record.prepared = {}, False, ()
        return waiting

    def forget_lacking(self) -> None:
        """Forget the settings that the robot lacks: it is gone, or its controller is."""
        for record in self.motors.values():
            record.lacking.clear()


def kind_of(command: Command) -> str:
    """Return what a command sets: a newer one of the same kind takes its place."""
    return command.field if isinstance(command, MotorCommand) else type(command).__name__
