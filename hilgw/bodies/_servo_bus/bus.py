"""The half-duplex bus of a kind of servos: its registers and packets, one request at a time.

All kinds have the instructions of the first Dynamixel servos, and answer with status packets.
"""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, NamedTuple

from hilgw.control.exchange import Exchange, Question
from hilgw.units import NS_PER_MS

BROADCAST = 254
PING, READ, WRITE = 0x01, 0x02, 0x03
SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE = 0x82, 0x83, 0x92, 0x93
LONGEST = 256
Span = tuple[int, int]  # an address, and the bytes from there on


class ServoAnswer(NamedTuple):
    """The answer of one servo. error: its number; alert: it has a hardware error."""

    number: int
    error: int
    alert: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Series:
    """offset: what is added to an address in the RAM.

    zero: the pulse in the middle. reach: the largest pulse beyond one turn. rad_s, rad_s2: units of
    velocity and acceleration. turns: model -> pulses of one turn; other models have `pulses`.
    """

    name: str
    offset: int
    zero: int
    reach: int
    rad_s: float
    rad_s2: float
    pulses: int
    turns: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ServoKind(ABC):
    """Addresses of registers are those of the maker's control table.

    offsets: what is added to those in the RAM, by the servos' ids. width: bytes of an address, of a
    length and of a checksum. overhead: bytes of an instruction without its parameters;
    status_bytes: of a status packet without its data. sizes: register -> its bytes. setup: the
    registers that end with the mode. level: the register that makes servos answer all instructions,
    and its number. profile: what a goal needs first. read_back: registers that are compared with
    what was set, and their names. unlimited: the number of a profile of velocity without a limit.
    ends_cut: what comes before a stop, and ends an instruction that was cut. busy_ns: how long
    a servo takes nothing after a new mode.
    """

    offsets: Mapping[int, int]
    _: KW_ONLY
    title: str
    header: bytes
    width: int
    overhead: int
    status_bytes: int
    sizes: Mapping[int, int]
    mode: int
    torque: int
    hardware_error: int
    acceleration: int
    speed: int
    goal_velocity: int
    goal_position: int
    profile: tuple[int, ...]
    present: Span
    feedback: Span
    setup: Span
    limits: Span
    level: tuple[int, int]
    read_back: Mapping[int, str]
    velocity_mode: int
    position_mode: int
    position_modes: tuple[int, ...]
    hardware_errors: Mapping[int, str]
    errors: Mapping[int, str] = field(default_factory=dict)
    unlimited: int = 0
    ends_cut: bytes = b""
    busy_ns: int = 0

    @property
    def goals(self) -> tuple[int, int]:
        return self.goal_velocity, self.goal_position

    @abstractmethod
    def packet(self, number: int, instruction: int, parameters: bytes = b"") -> bytes:
        """Return a packet to this servo."""

    @abstractmethod
    def checksum(self, data: bytes) -> bytes:
        """Return the checksum of a packet, from its header on."""

    @abstractmethod
    def status(self, data: bytes) -> ServoAnswer | None:
        """Return what a whole packet reports; None: it is of another kind."""

    @abstractmethod
    def value(self, register: int, amount: int) -> bytes:
        """Return a number as the bytes of this register."""

    @abstractmethod
    def reading(self, data: bytes) -> tuple[int, int | None, int | None]:
        """Return position, velocity and load in an answer with `present` or `feedback`."""

    @abstractmethod
    def identity(self, number: int) -> tuple[bytes, int]:
        """Return the question for the model, and the data bytes of its answer.

        No other question has as many: it is the fence, too.
        """

    def place(self, number: int, register: int) -> bytes:
        return register.to_bytes(self.width, "little")

    def write(self, number: int, register: int, amount: int) -> bytes:
        data = self.place(number, register) + self.value(register, amount)
        return self.packet(number, WRITE, data)

    def read(self, number: int, register: int, size: int) -> bytes:
        data = self.place(number, register) + size.to_bytes(self.width, "little")
        return self.packet(number, READ, data)

    def write_all(self, register: int, amounts: Mapping[int, int]) -> bytes:
        """Return the packet that sets a register of several servos, by their ids."""
        blocks = {number: self.value(register, amount) for number, amount in amounts.items()}
        return self.write_blocks(register, blocks)

    def write_blocks(self, register: int, blocks: Mapping[int, bytes]) -> bytes:
        """Return the packet that sets adjacent registers of several servos, which do not answer."""
        size = len(next(iter(blocks.values())))
        return self._many(SYNC_WRITE, BULK_WRITE, register, size, blocks)

    def read_all(self, register: int, size: int, numbers: Iterable[int]) -> bytes:
        """Return the question for adjacent registers of servos, which answer in this order."""
        return self._many(SYNC_READ, BULK_READ, register, size, dict.fromkeys(numbers, b""))

    def _many(
        self, sync: int, bulk: int, register: int, size: int, blocks: Mapping[int, bytes]
    ) -> bytes:
        """Return a sync instruction, or a bulk one where registers have different addresses."""
        length = size.to_bytes(self.width, "little")
        places = {number: self.place(number, register) + length for number in blocks}
        head, *others = set(places.values())
        if others:
            parts = (bytes((number,)) + places[number] + blocks[number] for number in blocks)
            return self.packet(BROADCAST, bulk, b"".join(parts))
        parts = (bytes((number,)) + block for number, block in blocks.items())
        return self.packet(BROADCAST, sync, head + b"".join(parts))


class StatusReader:
    """Status packets from bytes in any chunks.

    Other packets are skipped: on a half-duplex adapter that echoes, those of the gateway itself.
    dropped: damaged packets, and bytes of none.
    """

    def __init__(self, kind: ServoKind) -> None:
        self.dropped: Counter[str] = Counter()
        self._kind = kind
        self._buffer = bytearray()

    def clear(self) -> None:
        """Forget a packet whose rest has not come."""
        if self._buffer:
            self.dropped["damaged"] += 1
            self._buffer.clear()

    def feed(self, data: bytes) -> list[ServoAnswer]:
        self._buffer += data
        answers = []
        while (whole := self._next()) is not None:
            status = self._kind.status(whole)
            if status is not None:
                answers.append(status)
        return answers

    def _next(self) -> bytes | None:
        buffer, kind = self._buffer, self._kind
        head = len(kind.header) + 1 + kind.width
        while True:
            start = buffer.find(kind.header)
            skipped = max(0, len(buffer) - len(kind.header) + 1) if start < 0 else start
            self.dropped["noise"] += skipped
            del buffer[:skipped]
            if len(buffer) < head or start < 0:
                return None
            size = head + int.from_bytes(buffer[head - kind.width : head], "little")
            if kind.overhead <= size <= LONGEST:
                if len(buffer) < size:
                    return None
                whole = bytes(buffer[:size])
                if kind.checksum(whole[: -kind.width]) == whole[-kind.width :]:
                    del buffer[:size]
                    return whole
            self.dropped["damaged"] += 1
            del buffer[:1]


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
