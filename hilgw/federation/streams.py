"""The numbers of packets between two gateways: nothing twice, and each loss counted at both ends.

A stream is the packets of one type from one gateway to another, numbered from 1. The receiving end
takes a number once, in order; what it passes over is lost. It reports how many it received and
lost, and the sending end counts the same numbers.
"""

from __future__ import annotations

LARGEST_GAP = 1024
"""Packets that a packet may pass over: of more, only the report of the sending end counts."""


class OutStream:
    """The sending end. sent: the number of the last packet; delivered, lost: of those, as the other
    end reported. given_up: of the lost ones, those of which it has reported nothing."""

    __slots__ = ("delivered", "given_up", "lost", "sent")

    def __init__(self) -> None:
        self.sent = self.delivered = self.lost = self.given_up = 0

    @property
    def unsettled(self) -> int:
        """Packets of which the other end has reported nothing."""
        return self.sent - self.delivered - self.lost

    def next(self) -> int:
        """The number of one more packet."""
        self.sent += 1
        return self.sent

    def settle(self, received: int, lost: int) -> tuple[int, int]:
        """The other end received and lost so many in all; returns how many more of each: less than
        0 are lost where it reports on what was given up. ValueError where that is not possible."""
        delivered, missing = received - self.delivered, lost - self.lost
        if delivered < 0 or missing < -self.given_up or received + lost > self.sent:
            raise ValueError("counts that go back, or more than was sent")
        self.delivered, self.lost, self.given_up = received, lost, 0
        return delivered, missing

    def give_up(self) -> int:
        """What is not settled is lost, until the other end reports on it; returns how many."""
        count = self.unsettled
        self.lost += count
        self.given_up += count
        return count


class InStream:
    """The receiving end. late: packets that came again, or after they were counted as lost."""

    __slots__ = ("last", "late", "lost", "received")

    def __init__(self) -> None:
        self.last = self.received = self.lost = self.late = 0

    def accept(self, number: int) -> bool:
        """Whether the packet of this number is new. ValueError for one too far beyond the last."""
        if number == self.last + 1:  # as nearly always
            self.last = number
            self.received += 1
            return True
        if number <= self.last:
            self.late += 1
            return False
        if number - self.last > LARGEST_GAP:
            raise ValueError("a number far beyond the last one")
        self.reach(number)
        self.lost -= 1
        self.received += 1
        return True

    def reach(self, sent: int) -> None:
        """The sending end has sent so many before this: what has not come is lost."""
        if sent > self.last:
            self.lost += sent - self.last
            self.last = sent
