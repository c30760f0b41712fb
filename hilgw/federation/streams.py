"""The numbers of packets between two gateways: nothing twice, and each loss counted at both ends.

A stream is the packets of one type from one gateway to another, numbered from 1. The receiving end
takes a number once, in order; what it passes over is lost. It reports how many it received and
lost, and the sending end counts the same numbers.
"""

from __future__ import annotations

LARGEST_GAP = 1_000_000
"""Packets that are lost at once, at most: a larger gap is not of a gateway."""


class OutStream:
    """The sending end. sent: the number of the last packet; delivered, lost: of those, as the other
    end reported."""

    __slots__ = ("delivered", "lost", "sent")

    def __init__(self) -> None:
        self.sent = self.delivered = self.lost = 0

    @property
    def unsettled(self) -> int:
        """Packets of which the other end has reported nothing."""
        return self.sent - self.delivered - self.lost

    def next(self) -> int:
        """The number of one more packet."""
        self.sent += 1
        return self.sent

    def settle(self, received: int, lost: int) -> tuple[int, int]:
        """The other end received and lost so many in all; returns how many more of each. ValueError
        where that is not possible."""
        delivered, missing = received - self.delivered, lost - self.lost
        if delivered < 0 or missing < 0 or received + lost > self.sent:
            raise ValueError("counts that go back, or more than was sent")
        self.delivered, self.lost = received, lost
        return delivered, missing

    def give_up(self) -> int:
        """What is not settled is lost; returns how many."""
        count = self.unsettled
        self.lost += count
        return count


class InStream:
    """The receiving end. late: packets that came again, or after they were counted as lost."""

    __slots__ = ("last", "late", "lost", "received")

    def __init__(self) -> None:
        self.last = self.received = self.lost = self.late = 0

    def accept(self, number: int) -> bool:
        """Whether the packet of this number is new. ValueError for a number that none can have."""
        if number <= self.last:
            self.late += 1
            return False
        self._pass(number)
        self.lost -= 1
        self.received += 1
        return True

    def reach(self, sent: int) -> None:
        """So many were sent before this: what has not come is lost. ValueError as of `accept`."""
        if sent > self.last:
            self._pass(sent)

    def _pass(self, number: int) -> None:
        if number - self.last > LARGEST_GAP:
            raise ValueError("a number far beyond the last one")
        self.lost += number - self.last
        self.last = number
