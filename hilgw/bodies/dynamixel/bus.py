"""The half-duplex bus: one request at a time, and the time that its bytes and answers may take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from hilgw.bodies.dynamixel.packet import OVERHEAD, Status

Answered = Callable[[Status, int], None]


@dataclass(slots=True, eq=False)
class Transaction:
    """A request, and the servos that answer it. answered: called for each answer, with the time.
    size: data bytes of one answer. vital: part of a change of mode of this servo; a missing answer
    is a failure at once."""

    request: bytes
    numbers: list[int]
    answered: Answered | None = None
    size: int = 0
    vital: int | None = None

    @property
    def answer_bytes(self) -> int:
        return len(self.numbers) * (OVERHEAD + 1 + self.size)


class Bus:
    """Requests in their order. failed: the servo that has not answered a vital exchange. lag_ns:
    what the last answers took beside their bytes."""

    def __init__(self, byte_ns: int, answer_ns: int) -> None:
        self._byte_ns = byte_ns
        self._answer_ns = answer_ns
        self.reset()

    def reset(self) -> None:
        """The port is new, or closed."""
        self._queue: deque[Transaction] = deque()
        self._current: Transaction | None = None
        self._awaited: list[int] = []
        self._ends_ns = self._until_ns = self._free_ns = self.lag_ns = 0
        self.failed: int | None = None

    def forget(self) -> None:
        """Drops the requests that wait. Answers that are under way still take their time."""
        self._queue.clear()
        self.failed = None
        if self._current is not None:
            self._current = replace(self._current, answered=None, vital=None)

    def drop_change(self, number: int) -> bool:
        """Drops what waits of the change of mode of this servo; whether an answer is awaited, which
        may not come."""
        self._queue = deque(each for each in self._queue if each.vital != number)
        if self._current is None or self._current.vital != number:
            return False
        self._current = replace(self._current, vital=None)
        return True

    def add(self, exchange: Transaction, *, first: bool = False) -> None:
        if first:
            self._queue.appendleft(exchange)
        else:
            self._queue.append(exchange)

    # --- state --------------------------------------------------------------------------------

    def has(self, exchange: Transaction | None) -> bool:
        """Whether this exchange waits, or its answers are awaited."""
        return exchange is not None and (exchange is self._current or exchange in self._queue)

    @property
    def has_waiting(self) -> bool:
        """Whether a request waits to be written."""
        return bool(self._queue)

    @property
    def awaits(self) -> bool:
        """Whether answers are awaited, until `next_deadline`."""
        return self._current is not None

    def next_deadline(self) -> int | None:
        return self._until_ns if self._current is not None else None

    @property
    def free_ns(self) -> int:
        """When the line has carried all that was written."""
        return self._free_ns

    def end_late(self, now: int) -> None:
        """Ends an exchange whose time is over."""
        if self._current is not None and now >= self._until_ns:
            if self._current.vital is not None:
                self.failed = self._current.vital
            self._current = None

    def is_free(self, now: int) -> bool:
        """Whether a request may be written now."""
        return self._current is None and now >= self._free_ns

    def duration_ns(self, size: int) -> int:
        """How long the line carries so many bytes."""
        return size * self._byte_ns

    # --- traffic ------------------------------------------------------------------------------

    def take(self, status: Status, now: int) -> None:
        """An answer; one from a servo that was not asked is ignored."""
        if self._current is None or status.number not in self._awaited:
            return
        self._awaited.remove(status.number)
        current = self._current
        if not self._awaited:
            self._current = None
            self.lag_ns = max(0, now - self._ends_ns)
        if current.answered is not None and (status.error or len(status.data) == current.size):
            current.answered(status, now)

    def occupy(self, size: int, now: int) -> None:
        """So many bytes are written now."""
        self._free_ns = max(now, self._free_ns) + size * self._byte_ns

    def bytes_due(self, data: bytes, now: int) -> bytes:
        """What is written now, when the bus is free: these bytes, and the requests up to the next
        one that is answered."""
        while self._queue and self._current is None:
            exchange = self._queue.popleft()
            data += exchange.request
            if exchange.numbers:
                self._current = exchange
                self._awaited = list(exchange.numbers)
                self._ends_ns = now + (len(data) + exchange.answer_bytes) * self._byte_ns
                self._until_ns = self._ends_ns + self._answer_ns
        self.occupy(len(data), now)
        return data
