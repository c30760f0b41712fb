"""The commands of a stepped controller, sent again while it goes on stepping.

A motor in Webots keeps its last command, so controllers command it once. Firmware stops motors that
get no command. While the controller steps, hilgw sends its last commands again; a controller that
freezes asks for no step, and the robot's own watchdog stops the motors.
"""

from __future__ import annotations

from hilgw.control.events import Command, MotorCommand, MotorField, MotorSettings
from hilgw.control.safety import Mode, mode_of
from hilgw.units import NS_PER_MS

REPEAT_NS = 100 * NS_PER_MS
_MOTION = (MotorField.POSITION, MotorField.VELOCITY)
_FORCE = (MotorField.FORCE, MotorField.TORQUE)
_LIMITS = (MotorField.ACCELERATION, MotorField.AVAILABLE_FORCE, MotorField.AVAILABLE_TORQUE)
MOTIONS = (*_MOTION, *_FORCE, MotorSettings.__name__)
"""The kinds of commands that move a motor."""


class Repeater:
    """The last command of each kind for each motor, since the last stop."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, str], Command] = {}
        self._sent_ns = 0

    def keep(self, command: Command, now: int, *, first: bool) -> None:
        """A command was sent. first: of those after a stop, which made the others void."""
        if first:
            self._last.clear()
        index, kind = command.index, kind_of(command)
        for other in superseded_by(kind):
            self._last.pop((index, other), None)
        self._last.pop((index, kind), None)  # the newest is the last
        self._last[index, kind] = command
        self._sent_ns = now

    def forget(self, index: int) -> None:
        """This motor was stopped: its motion is not sent again."""
        for kind in MOTIONS:
            self._last.pop((index, kind), None)

    def replace(self, command: Command) -> None:
        """This command takes the place of the last one of its kind, and need not be sent again."""
        self._last.pop((command.index, kind_of(command)), None)

    def due(self, now: int) -> list[Command]:
        """The commands to send now, in the order in which the controller sent them."""
        if not self._last or now - self._sent_ns < REPEAT_NS:
            return []
        self._sent_ns = now
        return list(self._last.values())

    def for_another_body(self) -> list[Command]:
        """The commands that also hold for a body that takes this one's place, as libController
        sends them then: velocities of motors in velocity control, and what limits or tunes a
        motor; neither positions nor forces."""
        modes = [(command, mode_of(command)) for command in self._last.values()]
        placed = {command.index for command, mode in modes if mode is Mode.POSITION}
        return [
            command
            for command, mode in modes
            if mode is None or (mode is Mode.VELOCITY and command.index not in placed)
        ]


def kind_of(command: Command) -> str:
    """What a command sets: a newer one of the same kind takes its place."""
    return command.field if isinstance(command, MotorCommand) else type(command).__name__


def superseded_by(kind: str) -> tuple[str, ...]:
    """The kinds of earlier commands to the same motor that one of this kind makes void."""
    settings = MotorSettings.__name__
    if kind == settings:
        return (*_MOTION, *_FORCE, *_LIMITS)
    if kind in _FORCE:
        return (*_MOTION, settings)
    return _FORCE if kind in _MOTION else ()
