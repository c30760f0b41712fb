"""What a station has to send: waiting copies, bounded in bytes, and copies in flight."""

from __future__ import annotations

from collections import deque

from hilgw.medium.packet import Copy

UNLIMITED_BYTES = 16 * 1024 * 1024


class TransmitQueue:
    """The outward half of one station, in order. bufferSize -1 is a cap of 16 MiB.

    A copy waits, then it is in flight: outstanding under the token the hardware will name, or on
    the wire until its last byte has left by the line's reckoning.
    """

    def __init__(self, bufferSize: int) -> None:
        self.limit = UNLIMITED_BYTES if bufferSize < 0 else bufferSize
        self.full_reason = "cap" if bufferSize < 0 else "overflow"
        self.waiting: deque[Copy] = deque()
        self.outstanding: dict[int, Copy] = {}
        self.on_wire: deque[tuple[int, Copy]] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        """Copies accepted and neither delivered nor refused."""
        return len(self.waiting) + len(self.outstanding) + len(self.on_wire)

    def admit(self, copy: Copy) -> bool:
        """Takes a copy, or has no room for it."""
        size = len(copy.packet.data)
        if self.bytes + size > self.limit:
            return False
        self.waiting.append(copy)
        self.bytes += size
        return True

    def take(self) -> Copy:
        """The head leaves the queue; the caller puts it in flight or gives it up."""
        copy = self.waiting.popleft()
        self.bytes -= len(copy.packet.data)
        return copy

    def fly(self, copy: Copy, token: int | None, ends_ns: int) -> None:
        """A copy is in flight: under a token, or until its last byte has left."""
        if token is None:
            self.on_wire.append((ends_ns, copy))
        else:
            self.outstanding[token] = copy

    def landed(self, now: int) -> Copy | None:
        """A copy whose last byte has left by now, taken out; None when there is none."""
        if self.on_wire and self.on_wire[0][0] <= now:
            return self.on_wire.popleft()[1]
        return None

    def drop_in_flight(self) -> int:
        """Gives up what is in flight; returns how many copies that were."""
        count = len(self.outstanding) + len(self.on_wire)
        self.outstanding.clear()
        self.on_wire.clear()
        return count

    def drop_waiting(self) -> int:
        """Gives up what waits; returns how many copies that were."""
        count = len(self.waiting)
        self.waiting.clear()
        self.bytes = 0
        return count
