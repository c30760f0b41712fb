"""The half-duplex bus: one request at a time, and the time that its bytes and answers may take."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from hilgw.bodies.dynamixel.packet import OVERHEAD, PING, Status, packet
from hilgw.control.exchange import Exchange, Question
from hilgw.units import NS_PER_MS

Answered = Callable[[Status, int], None]
QUIET_NS = 100 * NS_PER_MS
"""After a ping without an answer: no late one comes any more."""


@dataclass(slots=True, eq=False)
class Transaction(Question[Status]):
    """A request.

    numbers: the servos whose answers are missing. answered: called for each answer, with the time.
    data_bytes: of one answer. vital: part of a change of mode of this servo; a missing answer is a
    failure at once.
    """

    numbers: list[int]
    answered: Answered | None = None
    data_bytes: int = 0
    vital: int | None = None

    @property
    def answer_bytes(self) -> int:
        return len(self.numbers) * (OVERHEAD + 1 + self.data_bytes)

    def take(self, answer: Status) -> bool:
        if answer.number not in self.numbers:
            return False
        if len(answer.data) != self.data_bytes and (self.is_fence or not answer.error):
            return False
        self.numbers.remove(answer.number)
        return True

    @property
    def is_answered(self) -> bool:
        return not self.numbers


class Bus(Exchange[Transaction, Status]):
    """Requests in their order.

    lag_ns: the time of the last answers without their bytes. free_ns: when the line has carried all
    that was written. The fence is a ping.
    """

    fences: ClassVar[bool] = True

    def __init__(self, counts: Counter[str], byte_ns: int, answer_ns: int) -> None:
        super().__init__(counts, byte_ns, answer_ns, QUIET_NS)

    def clear(self) -> None:
        """The port is new, or closed."""
        super().clear()
        self._queue: deque[Transaction] = deque()
        self.free_ns = self.lag_ns = 0
        self._alive: int | None = None  # the servo that has answered last

    def forget(self) -> None:
        """Drops the requests that wait. Answers that are under way still take their time."""
        self._queue.clear()
        for each in self.waiting:
            each.answered = each.vital = None

    def drop_change(self, number: int) -> bool:
        """Drops what waits of the change of mode of this servo.

        Whether an answer is awaited, which may not come.
        """
        self._queue = deque(each for each in self._queue if each.vital != number)
        awaited = [each for each in self.waiting if each.vital == number]
        for each in awaited:
            each.vital = None
        return bool(awaited)

    def add(self, request: Transaction, *, first: bool = False) -> None:
        if first:
            self._queue.appendleft(request)
        else:
            self._queue.append(request)

    # --- state --------------------------------------------------------------------------------

    def has(self, request: Transaction | None) -> bool:
        """Whether this request waits, or its answers are awaited."""
        return request in self.waiting or request in self._queue

    @property
    def has_waiting(self) -> bool:
        """Whether a request waits to be written."""
        return self.needs_fence or bool(self._queue)

    def duration_ns(self, size: int) -> int:
        """How long the line carries so many bytes."""
        return size * self._byte_ns

    # --- traffic ------------------------------------------------------------------------------

    def end_late(self, now: int) -> list[Transaction]:
        lost = super().end_late(now)
        for each in lost:
            if self._alive in (None, *each.numbers):
                self._alive = each.numbers[-1]  # one before it keeps the others waiting
        return lost

    def take(self, answer: Status, now: int) -> tuple[Transaction, list[Transaction]] | None:
        found = super().take(answer, now)
        if found is None:
            self.late(1, now)
            return None
        request, _ = found
        self._alive = answer.number
        if request.is_answered:
            self.lag_ns = max(0, now - request.until_ns + self._answer_ns)
        if request.answered is not None:
            request.answered(answer, now)
        return found

    def occupy(self, size: int, now: int) -> None:
        """So many bytes are written now."""
        self.free_ns = max(now, self.free_ns) + self.duration_ns(size)

    def bytes_due(self, data: bytes, now: int) -> bytes:
        """What is written now, when the bus is free.

        These bytes, and the requests up to the next one that is answered.
        """
        if self.needs_fence and self._alive is not None:
            ping = packet(self._alive, PING)
            self._queue.appendleft(Transaction(ping, [self._alive], None, 3, is_fence=True))
        while self._queue and not self.waiting:
            request = self._queue[0]
            if request.numbers and not self.may_ask(request, now):
                break
            if request.numbers:
                self.asked(request, now, len(data))
            data += self._queue.popleft().request
        self.occupy(len(data), now)
        return data
