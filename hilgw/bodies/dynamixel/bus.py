"""The half-duplex bus: one request at a time, and the time that its bytes and answers may take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from hilgw.bodies.dynamixel.packet import OVERHEAD, PING, Status, packet
from hilgw.units import NS_PER_MS

Answered = Callable[[Status, int], None]
QUIET_NS = 100 * NS_PER_MS
"""After a ping without an answer: no late one comes any more."""


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
    the time of the last answers without their bytes.

    No byte of an answer names its question. After a missing answer the bus therefore pings a servo
    first: answers keep their order, so whatever arrives before that of the ping is late. Where the
    ping has none either, nothing is asked before silence; what needs no answer is still written."""

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
        self._missed = self._is_fenced = False  # a ping is due; its answer is awaited
        self._silent_ns = 0  # no question before
        self._alive: int | None = None  # the servo that has answered last
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
        return self._missed or bool(self._queue)

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

    @property
    def asks_ns(self) -> int:
        """When the next question may be written."""
        return max(self._free_ns, self._silent_ns)

    def end_late(self, now: int) -> None:
        """Ends an exchange whose time is over: a ping follows, unless it was one."""
        if self._current is not None and now >= self._until_ns:
            if self._current.vital is not None:
                self.failed = self._current.vital
            if self._alive in (None, *self._awaited):
                self._alive = self._awaited[-1]  # one before it keeps the others waiting
            self._missed = not self._is_fenced
            self._silent_ns = now + QUIET_NS if self._is_fenced else 0
            self._current, self._is_fenced = None, False

    def is_free(self, now: int) -> bool:
        """Whether a request may be written now."""
        return self._current is None and now >= self._free_ns

    def duration_ns(self, size: int) -> int:
        """How long the line carries so many bytes."""
        return size * self._byte_ns

    # --- traffic ------------------------------------------------------------------------------

    def take(self, status: Status, now: int) -> Transaction | None:
        """Return the exchange that this answer belongs to; None: it is late, or not asked for."""
        current = self._current
        if current is None or status.number not in self._awaited:
            return None
        if len(status.data) != current.size and (self._is_fenced or not status.error):
            return None
        self._awaited.remove(status.number)
        self._alive = status.number
        if not self._awaited:
            self._current, self._is_fenced = None, False
            self.lag_ns = max(0, now - self._ends_ns)
        if current.answered is not None:
            current.answered(status, now)
        return current

    def occupy(self, size: int, now: int) -> None:
        """So many bytes are written now."""
        self._free_ns = max(now, self._free_ns) + size * self._byte_ns

    def bytes_due(self, data: bytes, now: int) -> bytes:
        """What is written now, when the bus is free: these bytes, and the requests up to the next
        one that is answered."""
        if self._missed and self._alive is not None:
            self._missed, self._is_fenced = False, True
            ping = Transaction(packet(self._alive, PING), [self._alive], size=3)
            data = self._await(ping, data, now)
        while self._queue and self._current is None:
            if not self._queue[0].numbers:
                data += self._queue.popleft().request
            elif now < self._silent_ns:
                break
            else:
                data = self._await(self._queue.popleft(), data, now)
        self.occupy(len(data), now)
        return data

    def _await(self, exchange: Transaction, data: bytes, now: int) -> bytes:
        """Begin to wait for the answers to this request. Return the bytes with it."""
        data += exchange.request
        self._current, self._awaited = exchange, list(exchange.numbers)
        self._ends_ns = now + (len(data) + exchange.answer_bytes) * self._byte_ns
        self._until_ns = self._ends_ns + self._answer_ns
        return data
