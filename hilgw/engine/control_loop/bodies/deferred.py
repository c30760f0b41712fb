"""Requests that wait for room on a busy line: the newest of each kind for each device."""

from collections.abc import Callable

from hilgw.transports.base import Scheduler, Wakeup
from hilgw.units import NS_PER_MS

Act = Callable[[int], object]

LOOK_NS = 5 * NS_PER_MS
"""Between two looks whether the line has room."""


class Deferred:
    """A newer request takes the place of an older one: the number of devices bounds the memory.

    waiting: what to do for each, by the index of its device and its kind.
    """

    def __init__(self, scheduler: Scheduler, is_busy: Callable[[int], bool]) -> None:
        self._scheduler = scheduler
        self._is_busy = is_busy
        self.waiting: dict[tuple[int, str], Act] = {}
        self._wakeup = Wakeup(scheduler, lambda _: self._look())

    def put(self, index: int, kind: str, act: Act) -> None:
        """Call act(now) once the line has room, in the order of the newest requests."""
        self.waiting.pop((index, kind), None)
        self.waiting[index, kind] = act
        self._look()

    def clear(self) -> None:
        self.waiting.clear()

    def _look(self) -> None:
        while self.waiting and not self._is_busy(now := self._scheduler.now()):
            self.waiting.pop(next(iter(self.waiting)))(now)
        if self.waiting and self._wakeup.at is None:
            self._wakeup.set(self._scheduler.now() + LOOK_NS)
