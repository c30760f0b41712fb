"""The duty cycle of 868 MHz: a band in which nobody may send for more than a share of each hour."""

from __future__ import annotations

HOUR_NS = 3_600_000_000_000


class DutyCycle:
    """Air time as a bucket that fills by itself. share: of an hour; 1: no limit."""

    def __init__(self) -> None:
        self.share = 1.0
        self._spent_ns = 0.0
        self._at = 0

    def spend(self, air_ns: int, now: int) -> bool:
        """Take so much air time; False when there is not so much left."""
        if self.share >= 1:
            return True
        self._spent_ns = max(0.0, self._spent_ns - (now - self._at) * self.share)
        self._at = now
        if self._spent_ns + air_ns > self.share * HOUR_NS:
            return False
        self._spent_ns += air_ns
        return True
