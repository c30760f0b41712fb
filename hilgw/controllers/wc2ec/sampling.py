"""Which sensor values a controller wants: all, until it says otherwise (WC2EC 128, 129, 131)."""

from __future__ import annotations


class Sampling:
    """By device index: wanted at every step, never, or at a period from when it was asked for."""

    def __init__(self) -> None:
        self._period_ns: dict[int, int] = {}
        self._due_ns: dict[int, int] = {}

    def clear(self) -> None:
        """A new controller: everything at every step."""
        self._period_ns.clear()
        self._due_ns.clear()

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        """None: every step; 0: off."""
        self._due_ns.pop(index, None)
        if period_ms is None:
            self._period_ns.pop(index, None)
            return
        self._period_ns[index] = round(period_ms * 1_000_000)
        if period_ms:
            self._due_ns[index] = now + self._period_ns[index]

    def is_due(self, index: int, now: int) -> bool:
        """Whether a value that comes now is wanted; it then counts as sent."""
        period = self._period_ns.get(index)
        if period is None:
            return True
        # Values come with the jitter of their steps: a little early is on time.
        if not period or now < self._due_ns[index] - period // 4:
            return False
        due = self._due_ns[index] + period
        self._due_ns[index] = due if due > now else now + period
        return True
