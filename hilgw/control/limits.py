"""The rate limit of a motor: the value that is let through follows the one that is wanted."""

from __future__ import annotations

import math

STEP_NS = 20_000_000
"""A changing value is sent on this grid; one command never moves it further than one step."""


class Slew:
    """Follows a target at `rate` per second from `value`.

    brakes: the value is a velocity, and getting slower is never held back.
    """

    def __init__(self, rate: float, value: float, *, brakes: bool) -> None:
        self.value = value
        self._step = rate * STEP_NS / 1e9
        self._rate = rate
        self._brakes = brakes
        self._target = value
        self._moved_ns: int | None = None

    def aim(self, target: float, now: int) -> float:
        """A new target; the value to let through now. Infinity selects a mode: let through."""
        self._target = target
        return self._move(now)

    def expire(self, now: int) -> float | None:
        """The next value on the way, when it is due."""
        due = self.next_deadline()
        return None if due is None or now < due else self._move(now)

    def next_deadline(self) -> int | None:
        if self.value == self._target or self._moved_ns is None:
            return None
        return self._moved_ns + STEP_NS

    def settle(self, value: float) -> None:
        """The value was set past the limit (failsafe)."""
        self.value = self._target = value

    def _move(self, now: int) -> float:
        elapsed = STEP_NS if self._moved_ns is None else now - self._moved_ns
        self._moved_ns = now
        start, target = self.value, self._target
        if math.isinf(target) or math.isinf(start):
            self.value = target
            return target
        if self._brakes:
            # Slower in the same direction is at once; the other direction begins at a stop.
            start = _nearer_zero(start, target)
        reach = min(self._step, self._rate * elapsed / 1e9)
        self.value = min(max(target, start - reach), start + reach)
        return self.value


def _nearer_zero(start: float, target: float) -> float:
    if start * target <= 0:
        return 0.0
    return math.copysign(min(abs(start), abs(target)), start)
