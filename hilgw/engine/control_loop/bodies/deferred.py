"""Requests that wait while the line to a body is busy: the newest of each kind for each device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.transports.base import Handle, Scheduler

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
        self._timer: Handle | None = None

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
        if self._timer is None and self._waiting:
            self._timer = self._scheduler.call_at(self._scheduler.now() + LOOK_NS, self._look)

    def _look(self) -> None:
        self._timer = None
        while self._waiting and not self._is_busy(now := self._scheduler.now()):
            key = next(iter(self._waiting))
            act, _ = self._waiting.pop(key)
            act(now)
        self._look_later()
