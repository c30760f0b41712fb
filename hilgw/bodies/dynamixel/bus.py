"""The half-duplex bus: one request at a time, and the time that its answers may take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hilgw.bodies.dynamixel.packet import OVERHEAD, Status

Answered = Callable[[Status, int], None]


@dataclass(slots=True)
class Exchange:
    """A request, and the servos that answer it. answered: called for each answer, with the time.
    size: data bytes of one answer. vital: whether a missing answer is a failure at once."""

    request: bytes
    numbers: list[int]
    answered: Answered | None = None
    size: int = 0
    vital: bool = False

    @property
    def answer_bytes(self) -> int:
        return len(self.numbers) * (OVERHEAD + 1 + self.size)


class Bus:
    """Requests in their order. missed: the servos whose answer did not come in the last exchange;
    failed: one of a vital exchange."""

    def __init__(self, byte_ns: int, answer_ns: int) -> None:
        self._byte_ns = byte_ns
        self._answer_ns = answer_ns
        self.clear()

    def clear(self) -> None:
        self._queue: deque[Exchange] = deque()
        self._current: Exchange | None = None
        self._awaited: list[int] = []
        self._until_ns = 0
        self.failed: int | None = None

    def drop_waiting(self) -> None:
        """Forgets the requests that have not been written."""
        self._queue.clear()

    def add(self, exchange: Exchange) -> None:
        self._queue.append(exchange)

    @property
    def idle(self) -> bool:
        return self._current is None and not self._queue

    @property
    def has_waiting(self) -> bool:
        """Whether a request waits for the answers of the one before."""
        return bool(self._queue)

    def next_deadline(self) -> int | None:
        return self._until_ns if self._current is not None else None

    def take(self, status: Status, now: int) -> None:
        """An answer; one from a servo that was not asked is ignored."""
        if self._current is None or status.number not in self._awaited:
            return
        self._awaited.remove(status.number)
        current = self._current
        if not self._awaited:
            self._current = None
        if current.answered is not None and (status.error or len(status.data) == current.size):
            current.answered(status, now)

    def bytes_due(self, now: int) -> bytes:
        """The bytes to write now: requests up to the next one that is answered."""
        if self._current is not None:
            if now < self._until_ns:
                return b""
            if self._current.vital and self._awaited:
                self.failed = self._awaited[0]
            self._current = None
        data = b""
        while self._queue and self._current is None:
            exchange = self._queue.popleft()
            data += exchange.request
            if exchange.numbers:
                self._current = exchange
                self._awaited = list(exchange.numbers)
                duration = (len(data) + exchange.answer_bytes) * self._byte_ns
                self._until_ns = now + duration + self._answer_ns
        return data
