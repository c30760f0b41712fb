"""Sampling periods of sensors, as Webots' WbSensor counts them."""

from __future__ import annotations

from hilgw.units import NS_PER_MS, ms_to_ns

EARLY_NS = NS_PER_MS // 2
"""Steps and periods are whole milliseconds in Webots: half of one is rounding."""
JITTER_DECAY = 0.95  # per step
MOST_STEPS = 200
"""Steps that the estimate of a grid is made from: it follows a clock that drifts."""


class _Grid:
    """The instants of a body's steps, from values that come with jitter: the least-squares line
    through the arrivals. On a grid without jitter it returns `now`."""

    def __init__(self) -> None:
        self._count = 0
        self._arrived_ns = 0
        self._instant_ns = 0.0
        self._step_ns = 0.0
        self.jitter_ns = 0.0  # how far arrivals lately were from the line

    def instant(self, now: int) -> float:
        """A value came: the instant of its step."""
        interval, self._arrived_ns = now - self._arrived_ns, now
        self._count += 1
        if self._count == 1:
            self._instant_ns = now
        elif self._count == 2:
            self._step_ns, self._instant_ns = interval, now
        else:
            self._correct(now, interval)
        return self._instant_ns

    def _correct(self, now: int, interval: int) -> None:
        expected = self._instant_ns + self._step_ns
        error = now - expected
        if abs(error) > self._step_ns / 2:  # a pause, or other steps
            self._count, self._step_ns, self._instant_ns = 2, interval, now
            return
        self.jitter_ns = max(abs(error), self.jitter_ns * JITTER_DECAY)
        n = min(self._count, MOST_STEPS)
        self._instant_ns = expected + error * 2 * (2 * n - 1) / (n * (n + 1))
        self._step_ns += error * 6 / (n * (n + 1))


class _Period:
    """One sensor's period. A value is due once the period has elapsed since the last sample, which
    begins the next one: 50 ms at steps of 20 ms gives a value each 60 ms."""

    def __init__(self, period_ns: int, now: int) -> None:
        self._period_ns = period_ns
        self._sampled_ns: float = now
        self._grid = _Grid()

    def is_due(self, now: int) -> bool:
        instant = self._grid.instant(now)
        early_ns = EARLY_NS + self._grid.jitter_ns
        if instant - self._sampled_ns < self._period_ns - early_ns:
            return False
        self._sampled_ns = instant
        return True


class Sampling:
    """Which values a controller wants, by device index: every step (at first), at a period from the
    request on, or none (WC2EC 128, 129, 131)."""

    def __init__(self) -> None:
        self._periods: dict[int, _Period | None] = {}  # None: off

    def clear(self) -> None:
        """A new controller gets all values at every step."""
        self._periods.clear()

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        """None: every step; 0: off. The period begins now."""
        if period_ms is None:
            self._periods.pop(index, None)
        else:
            self._periods[index] = _Period(ms_to_ns(period_ms), now) if period_ms else None

    def is_due(self, index: int, now: int) -> bool:
        """Whether a value that came now is to be sent; it then counts as sent."""
        if index not in self._periods:
            return True
        period = self._periods[index]
        return period is not None and period.is_due(now)
