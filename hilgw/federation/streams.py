"""The numbers of packets between two gateways: nothing twice, and each loss counted at both ends.

A stream is the packets of one type from one gateway to another, numbered from 1. The receiving end
takes a number once, in order; numbers that it skips are lost. It reports how many it received and
lost, and the sending end counts the same numbers.

The highest bits of a number are the epoch of its stream, 0 at first. If the other end repeatedly
reports counts that cannot be of this stream, such as after it has forgotten this end, a new epoch
starts; the other end takes it up once it has asked for it.
"""

from __future__ import annotations

LARGEST_GAP = 1024
"""Packets that a packet may skip: beyond it, only the report of the sending end counts."""
EPOCH_BITS, EPOCHS = 40, 1 << 20
_COUNT = (1 << EPOCH_BITS) - 1


class OutStream:
    """The sending end.

    base: the epoch, in a number. sent: packets of it; delivered, lost: packets of these, as the
    other end reported. given_up: lost packets of which it reported nothing.
    """

    __slots__ = ("base", "delivered", "given_up", "lost", "sent")

    def __init__(self) -> None:
        self.base = self.sent = self.delivered = self.lost = self.given_up = 0

    @property
    def unsettled(self) -> int:
        """Packets of which the other end has reported nothing."""
        return self.sent - self.delivered - self.lost

    def next(self) -> int:
        """Return the number of one more packet."""
        self.sent += 1
        return self.base + self.sent

    def settle(self, received: int, lost: int) -> tuple[int, int]:
        """Store the totals that the other end received and lost; return the increase of each.

        The increase of `lost` is negative if it reports on packets that were given up.

        Raises:
          ValueError: the totals are impossible.
        """
        received -= self.base
        delivered, missing = received - self.delivered, lost - self.lost
        if delivered < 0 or missing < -self.given_up or received + lost > self.sent:
            raise ValueError("counts that go back, or more than was sent")
        self.delivered, self.lost, self.given_up = received, lost, 0
        return delivered, missing

    def restart(self, received: int) -> None:
        """Start the epoch after this one, and after that of the report."""
        epoch = max(self.base, received) >> EPOCH_BITS
        self.base = (epoch + 1) % EPOCHS << EPOCH_BITS
        self.sent = self.delivered = self.lost = self.given_up = 0

    def give_up(self) -> int:
        """Count unsettled packets as lost, until the other end reports on them; return how many."""
        count = self.unsettled
        self.lost += count
        self.given_up += count
        return count


class InStream:
    """The receiving end.

    last: the largest number. received, lost: of its epoch. late: packets that came again, or after
    they were counted as lost.
    """

    __slots__ = ("last", "late", "lost", "received")

    def __init__(self) -> None:
        self.last = self.received = self.lost = self.late = 0

    def accept(self, number: int) -> bool:
        """Return True for a new number. Raises ValueError for one too far beyond the last."""
        if number == self.last + 1:  # as nearly always
            self.last = number
            self.received += 1
            return True
        if number <= self.last and not self._is_other(number):
            self.late += 1
            return False
        if number - self.last > LARGEST_GAP or self._is_other(number):
            raise ValueError("a number far beyond the last one")
        self.reach(number)
        self.lost -= 1
        self.received += 1
        return True

    def reach(self, sent: int) -> None:
        """Count packets up to this number, the last one sent, as lost if they did not arrive."""
        if self._is_other(sent):
            self.last, self.received, self.lost = sent & ~_COUNT, 0, 0
        if sent > self.last:
            self.lost += sent - self.last
            self.last = sent

    def lacks(self, sent: int) -> bool:
        """Return True if a packet up to this number neither arrived nor is counted as lost."""
        return self.last < sent or self._is_other(sent)

    def acknowledged(self) -> tuple[int, int]:
        """Return the counts for `OutStream.settle`."""
        return (self.last & ~_COUNT) + self.received, self.lost

    def _is_other(self, number: int) -> bool:
        return number >> EPOCH_BITS != self.last >> EPOCH_BITS
