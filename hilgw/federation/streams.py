"""The numbers of packets between two gateways: nothing twice, and each loss counted at both ends.

A stream is the packets of one type from one gateway to another, numbered from 1. The receiving end
takes a number once, in order; what it passes over is lost. It reports how many it received and
lost, and the sending end counts the same numbers.

The highest bits of a number are the epoch of its stream, 0 at first. Where the other end reports
again and again on what cannot be this stream, such as one that has forgotten this end meanwhile, a
new epoch begins; the other end takes it up once it has asked for it.
"""

from __future__ import annotations

LARGEST_GAP = 1024
"""Packets that a packet may pass over: of more, only the report of the sending end counts."""
EPOCH_BITS, EPOCHS = 40, 1 << 20
_COUNT = (1 << EPOCH_BITS) - 1


class OutStream:
    """The sending end. base: the epoch, in a number. sent: packets of it; delivered, lost: of
    those, as the other end reported. given_up: of the lost ones, those of which it reported
    nothing."""

    __slots__ = ("base", "delivered", "given_up", "lost", "sent")

    def __init__(self) -> None:
        self.base = self.sent = self.delivered = self.lost = self.given_up = 0

    @property
    def unsettled(self) -> int:
        """Packets of which the other end has reported nothing."""
        return self.sent - self.delivered - self.lost

    def next(self) -> int:
        """The number of one more packet."""
        self.sent += 1
        return self.base + self.sent

    def settle(self, received: int, lost: int) -> tuple[int, int]:
        """The other end received and lost so many in all; returns how many more of each: less than
        0 are lost where it reports on what was given up. ValueError where that is not possible."""
        received -= self.base
        delivered, missing = received - self.delivered, lost - self.lost
        if delivered < 0 or missing < -self.given_up or received + lost > self.sent:
            raise ValueError("counts that go back, or more than was sent")
        self.delivered, self.lost, self.given_up = received, lost, 0
        return delivered, missing

    def restart(self, received: int) -> None:
        """The epoch after this one, and after that of the report, begins."""
        epoch = max(self.base, received) >> EPOCH_BITS
        self.base = (epoch + 1) % EPOCHS << EPOCH_BITS
        self.sent = self.delivered = self.lost = self.given_up = 0

    def give_up(self) -> int:
        """What is not settled is lost, until the other end reports on it; returns how many."""
        count = self.unsettled
        self.lost += count
        self.given_up += count
        return count


class InStream:
    """The receiving end. last: the largest number. received, lost: of its epoch. late: packets that
    came again, or after they were counted as lost."""

    __slots__ = ("last", "late", "lost", "received")

    def __init__(self) -> None:
        self.last = self.received = self.lost = self.late = 0

    def accept(self, number: int) -> bool:
        """Whether the packet of this number is new. ValueError for one too far beyond the last."""
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
        """The sending end has sent this number last: what has not come is lost."""
        if self._is_other(sent):
            self.last, self.received, self.lost = sent & ~_COUNT, 0, 0
        if sent > self.last:
            self.lost += sent - self.last
            self.last = sent

    def lacks(self, sent: int) -> bool:
        """Whether not all that was sent until this number has come or is counted as lost."""
        return self.last < sent or self._is_other(sent)

    def acknowledged(self) -> tuple[int, int]:
        """What `OutStream.settle` takes."""
        return (self.last & ~_COUNT) + self.received, self.lost

    def _is_other(self, number: int) -> bool:
        """Whether this number is of another epoch."""
        return number >> EPOCH_BITS != self.last >> EPOCH_BITS
