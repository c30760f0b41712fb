"""When to act: at whichever deadline comes first, or at an event that is about to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from hilgw.transports.base import Handle, Scheduler


@runtime_checkable
class Expecting(Protocol):
    """An event loop that can ask for events before it sleeps, and call what follows those that came
    together: see `hilgw.engine.event_loop.direct_loop.DirectLoop`."""

    def expect_event(self) -> None: ...

    def call_after_round(self, callback: Callable[[], object]) -> None: ...


def event_expectation(loop: AbstractEventLoop) -> Callable[[], None]:
    """What to call where the next event is a few microseconds away, and to sleep and to be woken
    would take longer: an event loop that can asks for events for a while before it sleeps."""
    return loop.expect_event if isinstance(loop, Expecting) else lambda: None


class Wakeup:
    """One timer that moves. `callback` gets the time it was set to."""

    __slots__ = ("_callback", "_handle", "_scheduler", "at")

    def __init__(self, scheduler: Scheduler, callback: Callable[[int], None]) -> None:
        self.at: int | None = None  # ns
        self._callback = callback
        self._handle: Handle | None = None
        self._scheduler = scheduler

    def set(self, due: int | None) -> None:
        """Wakes at this time and at no other; None: not at all."""
        if due == self.at:
            return
        if self._handle is not None:
            self._handle.cancel()
        self.at = due
        self._handle = None if due is None else self._scheduler.call_at(due, self._ring)

    def _ring(self) -> None:
        due, self.at, self._handle = self.at, None, None
        assert due is not None
        self._callback(due)
