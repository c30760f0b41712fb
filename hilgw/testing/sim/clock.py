"""A scheduler whose time advances only when a test advances it."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count

from hilgw.units import NS_PER_S

CALLS_AT_ONCE = 20_000  # more calls at one instant than this: time does not advance


class StuckError(AssertionError):
    """The callbacks at one instant do not end: each of them asks for another one at once."""


class Alarm:
    """One callback that waits for its time; `hilgw.transports.base.Handle`."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Clock:
    """A `hilgw.transports.base.Scheduler`, with close() as `hilgw.engine.scheduler.Timer` has it.

    time: integer nanoseconds. Callbacks run in the order of their times and, at equal times, of
    their calls, inside step(), run_until() and run(). A test that adds to `time` itself simulates a
    program that did not run meanwhile: what became due runs late. fired: how many callbacks ran.

    In other threads than the one that created the clock, now() is 0: a thread that compares times
    (a watchdog) does not race with the jumps of the test.
    """

    def __init__(self, time_ns: int = NS_PER_S) -> None:
        self.time = time_ns
        self.fired = 0
        self._owner = threading.get_ident()
        self._heap: list[tuple[int, int, Alarm]] = []
        self._order = count()
        self._at_once = 0

    @property
    def waiting(self) -> int:
        """The number of callbacks that wait."""
        return sum(alarm.callback is not None for _, _, alarm in self._heap)

    def now(self) -> int:
        return self.time if threading.get_ident() == self._owner else 0

    def call_at(self, when: int, callback: Callable[[], None]) -> Alarm:
        alarm = Alarm(callback)
        heapq.heappush(self._heap, (when, next(self._order), alarm))
        return alarm

    def close(self) -> None:
        """Cancels all callbacks."""
        self._heap.clear()

    def next(self) -> int | None:
        """The time of the first callback that waits; None: there is none."""
        while self._heap and self._heap[0][2].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def step(self, end: int, late_ns: int = 0) -> bool:
        """Runs the first callback that is due by `end`, `late_ns` after its time; returns whether
        there was one. If not, the time is `end`. Raises StuckError."""
        when = self.next()
        if when is None or when + late_ns > end:
            self.time = max(self.time, end)
            return False
        alarm = heapq.heappop(self._heap)[2]
        self._at_once = 0 if when + late_ns > self.time else self._at_once + 1
        if self._at_once >= CALLS_AT_ONCE:
            raise StuckError(f"{CALLS_AT_ONCE} deadlines at one instant")
        self.time = max(self.time, when + late_ns)
        callback, alarm.callback = alarm.callback, None
        assert callback is not None
        self.fired += 1
        callback()
        return True

    def run_until(self, when: int, late_ns: int = 0) -> None:
        """Advances the time to `when`; each callback runs `late_ns` after its time."""
        while self.step(when, late_ns):
            pass

    def run(self, duration_ns: int, late_ns: int = 0) -> None:
        """Advances the time by so many nanoseconds."""
        self.run_until(self.time + duration_ns, late_ns)
