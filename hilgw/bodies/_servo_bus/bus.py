"""The half-duplex bus: one request at a time, and the time that its bytes and answers may take."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from hilgw.bodies._servo_bus.kind import ServoAnswer, ServoKind
from hilgw.control.exchange import Exchange, Question
from hilgw.units import NS_PER_MS

STATUS_BYTES = 11  # without data, at most
QUIET_NS = 100 * NS_PER_MS  # after a fence without an answer: no late one comes any more


@dataclass(slots=True, eq=False)
class Transaction(Question[ServoAnswer]):
    """A request.

    numbers: the servos whose answers are missing. answered: called for each answer, with the time.
    data_bytes: of one answer. vital: part of a change of mode of this servo; a missing answer is a
    failure at once. of_stop: asks whether a servo has its stop.
    """

    numbers: list[int]
    answered: Callable[[ServoAnswer, int], None] | None = None
    data_bytes: int = 0
    vital: int | None = None
    of_stop: bool = False

    @property
    def answer_bytes(self) -> int:
        return len(self.numbers) * (STATUS_BYTES + self.data_bytes)

    def take(self, answer: ServoAnswer) -> bool:
        if answer.number not in self.numbers:
            return False
        if len(answer.data) != self.data_bytes and (self.is_fence or not answer.error):
            return False
        self.numbers.remove(answer.number)
        return True

    @property
    def is_answered(self) -> bool:
        return not self.numbers


class Bus(Exchange[Transaction, ServoAnswer]):
    """Requests in their order.

    lag_ns: the time of the last answers without their bytes. free_ns: when the line has carried all
    that was written. The fence asks a servo who it is.
    """

    fences: ClassVar[bool] = True

    def __init__(self, kind: ServoKind, counts: Counter[str], byte_ns: int, answer_ns: int) -> None:
        self._kind = kind
        super().__init__(counts, byte_ns, answer_ns, QUIET_NS)

    def clear(self) -> None:
        """Await and write nothing any more: the port is new, or closed."""
        super().clear()
        self._queue: deque[Transaction] = deque()
        self.free_ns = self.lag_ns = 0
        self._alive: int | None = None  # the servo that has answered last

    def forget(self) -> None:
        """Drop the requests that wait. Answers that are under way still take their time."""
        self._queue.clear()
        for request in self.waiting:
            request.answered = request.vital = None

    def drop_change(self, number: int) -> bool:
        """Drop what waits of the change of mode of this servo.

        Return whether an answer is awaited, which may not come.
        """
        self._queue = deque(each for each in self._queue if each.vital != number)
        awaited = [each for each in self.waiting if each.vital == number]
        for request in awaited:
            request.vital = None
        return bool(awaited)

    def add(self, request: Transaction, *, first: bool = False) -> None:
        if first:
            self._queue.appendleft(request)
        else:
            self._queue.append(request)

    # --- state --------------------------------------------------------------------------------

    def has(self, request: Transaction | None) -> bool:
        return request in self.waiting or request in self._queue

    @property
    def has_waiting(self) -> bool:
        return self.needs_fence or bool(self._queue)

    def duration_ns(self, size: int) -> int:
        return size * self._byte_ns

    # --- traffic ------------------------------------------------------------------------------

    def end_late(self, now: int) -> list[Transaction]:
        lost = super().end_late(now)
        for request in lost:
            if self._alive in (None, *request.numbers):
                self._alive = request.numbers[-1]  # one before it keeps the others waiting
        return lost

    def take(self, answer: ServoAnswer, now: int) -> tuple[Transaction, list[Transaction]] | None:
        taken = super().take(answer, now)
        if taken is None:
            self.late(1, now)
            return None
        request, _ = taken
        self._alive = answer.number
        if request.is_answered:
            self.lag_ns = max(0, now - request.until_ns + self._answer_ns)
        if request.answered is not None:
            request.answered(answer, now)
        return taken

    def occupy(self, size: int, now: int) -> None:
        self.free_ns = max(now, self.free_ns) + self.duration_ns(size)

    def bytes_due(self, data: bytes, now: int) -> bytes:
        """Return what is written now, when the bus is free.

        These bytes, and the requests up to the next one that is answered.
        """
        if self.needs_fence and self._alive is not None:
            fence, size = self._kind.identity(self._alive)
            self._queue.appendleft(Transaction(fence, [self._alive], None, size, is_fence=True))
        while self._queue and not self.waiting:
            request = self._queue[0]
            if request.numbers and not self.may_ask(request, now):
                break
            if request.numbers:
                self.asked(request, now, len(data))
            data += self._queue.popleft().request
        self.occupy(len(data), now)
        return data
