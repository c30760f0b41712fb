"""A scheduler whose time advances only when a test advances it."""

from __future__ import annotations

import threading

from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.units import NS_PER_S

CALLS_AT_ONCE = 20_000  # more calls at one instant than this: time does not advance


class StuckError(AssertionError):
    """The callbacks at one instant do not end: each of them asks for another one at once."""


class Clock(SimulatedClock):
    """The clock of simulated runs, with what tests ask of it beyond.

    Callbacks run inside step(), run_until() and run(). A test that adds to `time` itself simulates
    a program that did not run meanwhile: what became due runs late. fired: how many callbacks ran.

    In other threads than the one that created the clock, now() is 0: a thread that compares times
    (a watchdog) does not race with the jumps of the test.
    """

    def __init__(self, time_ns: int = NS_PER_S) -> None:
        super().__init__(time_ns)
        self.fired = 0
        self._owner = threading.get_ident()
        self._at_once = 0

    def now(self) -> int:
        return self.time if threading.get_ident() == self._owner else 0

    def step(self, end: int, late_ns: int = 0) -> bool:
        """Runs the first callback that is due by `end`, `late_ns` after its time; returns whether
        there was one. If not, the time is `end`. Raises StuckError."""
        when = self.next()
        if when is None or when + late_ns > end:
            self.time = max(self.time, end)
            return False
        self._at_once = 0 if when + late_ns > self.time else self._at_once + 1
        if self._at_once >= CALLS_AT_ONCE:
            raise StuckError(f"{CALLS_AT_ONCE} deadlines at one instant")
        self.fired += 1
        self.time = max(self.time, when + late_ns)
        return super().step(when)

    def run_until(self, when: int, late_ns: int = 0) -> None:
        """Advances the time to `when`; each callback runs `late_ns` after its time."""
        while self.step(when, late_ns):
            pass

    def run(self, duration_ns: int, late_ns: int = 0) -> None:
        """Advances the time by so many nanoseconds."""
        self.run_until(self.time + duration_ns, late_ns)
