"""The copies a station has to send: those that wait, bounded in bytes, and those in flight."""

from __future__ import annotations

from collections import deque

from hilgw.medium.packet import Copy
from hilgw.reasons import PacketRefused, RefusedReason

UNLIMITED_BYTES = 16 * 1024 * 1024


class TransmitQueue:
    """The sending half of one station, in order. A bufferSize of -1 is a cap of 16 MiB.

    A copy waits, then it is in flight: outstanding under the token that the hardware will
    acknowledge, or on the wire until its last byte has left according to the line pacer.
    """

    def __init__(self, bufferSize: int) -> None:
        self.limit = UNLIMITED_BYTES if bufferSize < 0 else bufferSize
        self.full_reason = PacketRefused.CAP if bufferSize < 0 else PacketRefused.OVERFLOW
        self.waiting: deque[Copy] = deque()
        self.outstanding: dict[int, Copy] = {}
        self.on_wire: deque[tuple[int, Copy, RefusedReason | None]] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        """Copies accepted and neither delivered nor refused."""
        return len(self.waiting) + len(self.outstanding) + len(self.on_wire)

    def add(self, copy: Copy) -> bool:
        """Queues a copy; False when it does not fit."""
        size = len(copy.packet.data)
        if self.bytes + size > self.limit:
            return False
        self.waiting.append(copy)
        self.bytes += size
        return True

    def take(self) -> Copy:
        """Removes the head; the caller sends it or gives it up."""
        copy = self.waiting.popleft()
        self.bytes -= len(copy.packet.data)
        return copy

    def sent(
        self, copy: Copy, token: int | None, ends_ns: int, lost: RefusedReason | None = None
    ) -> None:
        """A copy is in flight: under a token, or until its last byte has left. lost: the reason
        why it does not count as delivered then."""
        if token is None:
            self.on_wire.append((ends_ns, copy, lost))
        else:
            self.outstanding[token] = copy

    def take_sent(self, now: int) -> tuple[Copy, RefusedReason | None] | None:
        """Removes a copy whose last byte has left by now, with the reason why it is lost, if it
        is; None when there is no such copy."""
        if self.on_wire and self.on_wire[0][0] <= now:
            _, copy, lost = self.on_wire.popleft()
            return copy, lost
        return None

    def drop_in_flight(self) -> int:
        """Gives up the copies in flight; returns their number."""
        count = len(self.outstanding) + len(self.on_wire)
        self.outstanding.clear()
        self.on_wire.clear()
        return count

    def drop_waiting(self) -> int:
        """Gives up the copies that wait; returns their number."""
        count = len(self.waiting)
        self.waiting.clear()
        self.bytes = 0
        return count
