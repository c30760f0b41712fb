"""Commands that are kept: those that wait for a busy line, and those that are sent again.

`Deferred` has the newest request of each kind for each device, until the line has room. `Repeater`
has the last commands of a stepped controller, and sends them again while it goes on stepping. A
motor in Webots keeps its last command, so controllers command it once. Firmware stops motors that
get no command. While the controller steps, hilgw sends its last commands again; a controller that
freezes asks for no step, and the robot's own watchdog stops the motors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import Command, MotorCommand, MotorField, MotorSettings
from hilgw.control.safety import Mode, mode_of
from hilgw.transports.wakeup import Wakeup
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.transports.base import Scheduler

    Act = Callable[[int], None]

LOOK_NS = 5 * NS_PER_MS
"""Between two looks whether the line has room."""


class Deferred:
    """A newer request takes the place of an older one: the number of devices bounds the memory."""

    def __init__(self, scheduler: Scheduler, is_busy: Callable[[int], bool]) -> None:
        """is_busy(now): whether the line has no room."""
        self._scheduler = scheduler
        self._is_busy = is_busy
        self._waiting: dict[tuple[int, str], tuple[Act, Callable[[], None] | None]] = {}
        self._wakeup = Wakeup(scheduler, lambda _: self._look())

    def put(
        self, index: int, kind: str, act: Act, on_dropped: Callable[[], None] | None = None
    ) -> None:
        """Calls act(now) once the line has room, in the order of the newest requests; on_dropped()
        instead where it is dropped."""
        self.drop(index, kind)
        self._waiting[index, kind] = act, on_dropped
        self._look_later()

    def has(self, index: int, kind: str = "") -> bool:
        """Whether a request waits for this device; kind: one of this kind."""
        waiting = self._waiting
        return bool(waiting) and any(each[0] == index and kind in ("", each[1]) for each in waiting)

    def drop(self, index: int, *kinds: str) -> None:
        """Drops the requests of these kinds for a device; of all kinds where none is named."""
        for key in [each for each in self._waiting if each[0] == index]:
            if not kinds or key[1] in kinds:
                _, on_dropped = self._waiting.pop(key)
                if on_dropped is not None:
                    on_dropped()

    def clear(self) -> None:
        """The connection is gone."""
        for index, kind in list(self._waiting):
            self.drop(index, kind)

    def _look_later(self) -> None:
        if self._wakeup.at is None and self._waiting:
            self._wakeup.set(self._scheduler.now() + LOOK_NS)

    def _look(self) -> None:
        while self._waiting and not self._is_busy(now := self._scheduler.now()):
            key = next(iter(self._waiting))
            act, _ = self._waiting.pop(key)
            act(now)
        self._look_later()


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
