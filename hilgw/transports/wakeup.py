"""Time to act: at whichever deadline comes first."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.transports.base import Handle, Scheduler


class Wakeup:
    """A timer that moves. `callback` gets the time it was set to."""

    __slots__ = ("_callback", "_handle", "_scheduler", "at")

    def __init__(self, scheduler: "Scheduler", callback: "Callable[[int], None]") -> None:
        self.at: int | None = None  # ns
        self._callback = callback
        self._handle: Handle | None = None
        self._scheduler = scheduler

    def set(self, due: int | None) -> None:
        """Wake at this time and at no other; None: not at all."""
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
