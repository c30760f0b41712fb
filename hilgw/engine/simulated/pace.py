"""How fast simulated time advances: so many times real time, or as fast as the machine can."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from hilgw.units import NS_PER_MS, NS_PER_S

# With a longer delay than this the run is slower than its pace, and does not hurry afterwards: a
# process that was suspended does not flood its user.
CATCH_UP_NS = 100 * NS_PER_MS


class Pace(Protocol):
    """Asked by the event loop before each jump of its clock."""

    def wait_s(self, now: int, end: int) -> float | None:
        """Real seconds until simulated time may advance from `now` to `end`; 0: at once; None:
        only an event from outside ends this wait."""

    def reached(self, now: int, end: int) -> int:
        """The simulated time at which an event from outside comes during such a wait."""


class Factor:
    """Simulated time advances `factor` times as fast as real time; slower where the machine is."""

    def __init__(self, factor: float, real_now: Callable[[], int] = time.monotonic_ns) -> None:
        self._factor = factor
        self._real_now = real_now
        self._real_ns: float | None = None  # this real time ...
        self._simulated_ns = 0  # ... is this simulated time

    def wait_s(self, now: int, end: int) -> float | None:
        real_ns = self._real_now()
        if self._real_ns is None:
            self._real_ns, self._simulated_ns = real_ns, now
        wait_ns = self._real_ns + (end - self._simulated_ns) / self._factor - real_ns
        if wait_ns < -CATCH_UP_NS:
            self._real_ns, self._simulated_ns = real_ns, end
        return max(wait_ns, 0.0) / NS_PER_S

    def reached(self, now: int, end: int) -> int:
        if self._real_ns is None:
            return now
        passed_ns = (self._real_now() - self._real_ns) * self._factor
        return min(max(now, self._simulated_ns + int(passed_ns)), end)


class Hold:
    """Simulated time stands still until release(), which may be repeated."""

    __slots__ = ("_holds", "deadline_ns", "holder", "longest_ns")

    def __init__(self, holds: Holds, holder: str, longest_ns: int, deadline_ns: int | None) -> None:
        self._holds = holds
        self.holder = holder
        self.longest_ns = longest_ns
        self.deadline_ns = deadline_ns

    def release(self) -> None:
        self._holds._held.discard(self)


class Holds:
    """Simulated time advances at once, unless a controller holds it. The pace `max`.

    A synchronized controller holds from the moment that it gets an answer until it asks for its
    next step. A holder that keeps its hold longer than it may, in real time, loses it: `on_expired`
    is called with the hold, and time goes on without the holder.

    Where simulated time has another pace, or time is real, nothing asks this object: holds have no
    effect and never expire.
    """

    def __init__(self, real_now: Callable[[], int] = time.monotonic_ns) -> None:
        self.on_expired: Callable[[Hold], None] = lambda hold: None
        self.expired = 0
        self._real_now = real_now
        self._held: set[Hold] = set()

    def hold(self, holder: str, longest_ns: int = 0) -> Hold:
        """holder: its name, for the user. longest_ns: how long at most, in real time; 0: until it
        is released."""
        deadline_ns = self._real_now() + longest_ns if longest_ns else None
        hold = Hold(self, holder, longest_ns, deadline_ns)
        self._held.add(hold)
        return hold

    def wait_s(self, now: int, end: int) -> float | None:
        real_ns = self._real_now()
        for hold in [each for each in self._held if _is_over(each, real_ns)]:
            hold.release()
            self.expired += 1
            self.on_expired(hold)
        if not self._held:
            return 0.0
        deadlines = [each.deadline_ns for each in self._held if each.deadline_ns is not None]
        return (min(deadlines) - real_ns) / NS_PER_S if deadlines else None

    def reached(self, now: int, end: int) -> int:
        return now


def _is_over(hold: Hold, real_ns: int) -> bool:
    return hold.deadline_ns is not None and hold.deadline_ns <= real_ns
