"""Queues of bytes: for the port, by client, which are dropped when it is gone; for a client."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from hilgw.transports.base import Scheduler, Wakeup

# Bytes of a client that is gone become late commands when the device accepts nothing for this time.
STALE_NS = 2_000_000_000
LOOK_NS = 100_000_000

_IAC = b"\xff"

T = TypeVar("T")


class Backlog:
    """The writers of the bytes of a queue, in their order."""

    def __init__(self) -> None:
        self._owners: deque[object] = deque()
        self._sizes: deque[int] = deque()
        self._size = 0

    def add(self, owner: object, size: int) -> None:
        """Note that the owner has appended `size` bytes to the queue."""
        self._size += size
        if self._owners and self._owners[-1] is owner:
            self._sizes[-1] += size
        else:
            self._owners.append(owner)
            self._sizes.append(size)

    def shrink(self, size: int) -> None:
        """Note that the queue holds `size` bytes now: the first ones have left it."""
        left = self._size - size
        if left <= 0:
            return
        self._size = size
        while left:
            gone = min(left, self._sizes[0])
            left -= gone
            self._sizes[0] -= gone
            if not self._sizes[0]:
                self._sizes.popleft()
                self._owners.popleft()

    def of(self, owner: object) -> int:
        """Return how many bytes of the queue the owner wrote."""
        return sum(size for each, size in self.sizes() if each is owner)

    def sizes(self, first: int | None = None) -> Iterator[tuple[object, int]]:
        """Yield the owners of the first bytes of the queue, in their order; None: of all."""
        left = self._size if first is None else first
        for owner, size in zip(self._owners, self._sizes, strict=True):
            if left <= 0:
                return
            yield owner, min(size, left)
            left -= size

    def without(self, owner: object, queue: bytes) -> list[tuple[object, bytes]]:
        """Return the bytes of the queue that others wrote, with their owners."""
        kept, start = [], 0
        for writer, size in zip(self._owners, self._sizes, strict=True):
            if writer is not owner:
                kept.append((writer, queue[start : start + size]))
            start += size
        return kept


class StaleWatch(Generic[T]):
    """A watch that calls on_stuck for each client that is gone, when the device is stuck.

    A device is stuck when `accepted_bytes` has not changed for STALE_NS. waits: returns True while
    bytes of this client wait. The time counts from watch(), so that a short stall drops nothing.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        accepted_bytes: Callable[[], int],
        waits: Callable[[T], bool],
        on_stuck: Callable[[T], None],
    ) -> None:
        self._scheduler = scheduler
        self._accepted_bytes = accepted_bytes
        self._waits = waits
        self._on_stuck = on_stuck
        self._since: dict[T, int] = {}
        self._accepted = 0
        self._wakeup = Wakeup(scheduler, self._look)

    def watch(self, client: T) -> None:
        """Start to watch over the bytes of a client that sends no more."""
        if client in self._since or not self._waits(client):
            return
        now = self._scheduler.now()
        self._since[client] = now
        if self._wakeup.at is None:
            self._accepted = self._accepted_bytes()
            self._wakeup.set(now + LOOK_NS)

    def close(self) -> None:
        self._since.clear()
        self._wakeup.set(None)

    def _look(self, _due: int) -> None:
        now = self._scheduler.now()
        before, self._accepted = self._accepted, self._accepted_bytes()
        for client, since in list(self._since.items()):
            if not self._waits(client):
                del self._since[client]
            elif before != self._accepted:
                self._since[client] = now
            elif now - since >= STALE_NS:
                del self._since[client]
                self._on_stuck(client)
        if self._since:
            self._wakeup.set(now + LOOK_NS)


class TelnetQueue:
    """The unsent bytes of a telnet stream: data, and replies to commands.

    Bytes are as on the wire: data has each IAC twice.
    """

    def __init__(self) -> None:
        self._parts: deque[tuple[bytes, bool]] = deque()  # whether it is data
        self._size = 0

    def add(self, wire: bytes, unsent: int, *, is_data: bool) -> None:
        """Note that these bytes were written; `unsent` bytes of the stream are unsent now."""
        self._parts.append((wire, is_data))
        self._size += len(wire)
        self._forget_sent(unsent)

    def data_bytes(self, unsent: int) -> int:
        """Return how many bytes of data are among the last `unsent` bytes of the stream.

        A byte of data whose last byte on the wire is unsent is unsent.
        """
        self._forget_sent(unsent)
        sent, size = self._size - unsent, 0
        for wire, is_data in self._parts:
            if is_data:
                size += _data_bytes(wire, len(wire)) - _data_bytes(wire, sent)
            sent = 0
        return size

    def _forget_sent(self, unsent: int) -> None:
        parts = self._parts
        while parts and self._size - len(parts[0][0]) >= unsent:
            self._size -= len(parts.popleft()[0])


def _data_bytes(wire: bytes, end: int) -> int:
    escapes = wire.count(_IAC, 0, end)
    return end - escapes + escapes // 2
