"""The base of all firmware mocks: UART, deadlines, and the interface that the host expects."""

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from firmware_mocks.air import Air
from firmware_mocks.parameters import Parameters

Action = Callable[[int], None]

MS = 1_000_000  # nanoseconds
_TIME = itemgetter(0)
RATE_TOLERANCE = 0.045  # two UARTs whose rates differ by less read each other


class Timers:
    """Named one-shot deadlines; `start` with the same name moves one."""

    def __init__(self) -> None:
        self._due: dict[str, tuple[int, Action]] = {}
        self._first: int | None = None  # of all; None: not looked for since a change

    def start(self, name: str, when: int, action: Action) -> None:
        self._due[name] = (when, action)
        self._first = None

    def stop(self, name: str) -> None:
        if self._due.pop(name, None) is not None:
            self._first = None

    def clear(self) -> None:
        self._due.clear()
        self._first = None

    def __contains__(self, name: str) -> bool:
        return name in self._due

    def next(self) -> int | None:
        if self._first is None and self._due:
            self._first = min(self._due.values(), key=_TIME)[0]
        return self._first

    def run(self, now: int) -> None:
        """Run the actions due by `now`, in order of time."""
        while (first := self.next()) is not None and first <= now:
            name = min(self._due, key=lambda name: self._due[name][0])
            _, action = self._due[name]
            self.stop(name)
            action(now)


class Uart:
    """The serial pins: bytes to send and their times, and noise where the rates differ.

    `host_baud` is the rate the client has set, None when it is unknown. The noise comes from a
    generator seeded by `seed`, so a run can be repeated.
    """

    def __init__(self, seed: str, baud_rate: int = 9600, bits_per_byte: int = 10) -> None:
        self.baud_rate = baud_rate
        self.bits_per_byte = bits_per_byte
        self.host_baud: int | None = None
        self._noise = random.Random(seed)
        self._queue: deque[tuple[int, bytes | Action]] = deque()
        self._queued = 0
        self._shifting_until = 0

    @property
    def byte_ns(self) -> int:
        return self.bits_per_byte * 1_000_000_000 // self.baud_rate

    def write(self, data: bytes, when: int) -> None:
        """Send `data` at `when`, or after the bytes written before it."""
        self._append(when, data)
        self._queued += len(data)

    def change(self, action: Action, when: int) -> None:
        """Run `action` when all bytes written before have left the pin."""
        self._append(when, action)

    def _append(self, when: int, item: bytes | Action) -> None:
        self._queue.append((max(when, self._queue[-1][0]) if self._queue else when, item))

    def held(self, now: int) -> int:
        """Count the bytes in the transmit buffer: written, but not yet sent."""
        shifting = max(0, self._shifting_until - now)
        return self._queued - (-shifting // self.byte_ns)

    def idle_at(self, now: int) -> int:
        """Return the time when the last byte written so far has been sent."""
        idle = max(now, self._shifting_until)
        for begins, item in self._queue:
            idle = max(idle, begins) + (0 if callable(item) else len(item) * self.byte_ns)
        return idle

    def clear(self) -> None:
        self._queue.clear()
        self._queued = 0
        self._shifting_until = 0

    def _due(self) -> int:
        when, item = self._queue[0]
        return max(when, self._shifting_until) if callable(item) else when

    def next_deadline(self) -> int | None:
        return self._due() if self._queue else None

    def take(self, now: int) -> bytes:
        """Return the bytes that begin to leave by `now`, as the client's UART reads them.

        Ends early at a `change`, so that it takes effect between the bytes.
        """
        taken = bytearray()
        while self._queue and (due := self._due()) <= now:
            _, item = self._queue.popleft()
            if callable(item):
                item(due)
                break
            self._queued -= len(item)
            self._shifting_until = max(self._shifting_until, due) + len(item) * self.byte_ns
            taken += self.distort(item)
        return bytes(taken)

    def distort(self, data: bytes) -> bytes:
        """Return `data` as a UART at the other rate reads it: noise unless the rates agree."""
        host = self.host_baud
        if host is None or abs(host - self.baud_rate) <= RATE_TOLERANCE * self.baud_rate:
            return data
        return self._noise.randbytes(len(data))


class Mock(ABC):
    """A device on a serial line. Times are integer monotonic nanoseconds.

    Subclasses add `receive` and `reset`, and `set` if they have parameters; `advance` runs the
    deadlines in `timers`.
    """

    def __init__(self, name: str, seed: object = 0) -> None:
        self.name = name
        self.uart = Uart(f"{seed}:{name}:uart")
        self.timers = Timers()

    @property
    def baud_rate(self) -> int:
        return self.uart.baud_rate

    @property
    def bits_per_byte(self) -> int:
        return self.uart.bits_per_byte

    @property
    def host_baud(self) -> int | None:
        return self.uart.host_baud

    @host_baud.setter
    def host_baud(self, rate: int | None) -> None:
        self.uart.host_baud = rate

    @abstractmethod
    def receive(self, data: bytes, now: int) -> None:
        """Read bytes from the client."""

    def set(self, name: str, value: str) -> None:
        """Set a parameter; ValueError names it and the values allowed."""
        raise ValueError(f"{name}: no parameter of this mock can be set while it runs")

    @abstractmethod
    def reset(self, now: int) -> None:
        """Power cycle."""

    def switch_off(self) -> None:  # noqa: B027 - most have nothing to do
        """Cut the power until the next `reset`; a device that has a battery may ignore it."""

    def _cancel(self) -> None:
        self.timers.clear()
        self.uart.clear()

    def describe(self) -> str:
        """Describe the state of this mock in words, for people."""
        return self.name

    def advance(self, now: int) -> None:
        self.timers.run(now)

    def take(self, now: int) -> bytes:
        return self.uart.take(now)

    def next_deadline(self) -> int | None:
        timer, line = self.timers.next(), self.uart.next_deadline()
        if timer is None or line is None:
            return line if timer is None else timer
        return min(timer, line)


class SelfStarting(Mock):
    """A mock that powers up with the first call that has a time."""

    _power = "new"

    @abstractmethod
    def _forget(self) -> None:
        """Cancel everything under way."""

    def advance(self, now: int) -> None:
        if self._power == "new":
            self.reset(now)
        super().advance(now)

    def switch_off(self) -> None:
        self._forget()
        self._power = "off"


S = TypeVar("S", bound=Parameters)
M_co = TypeVar("M_co", bound=Mock, covariant=True)


class Adjustable(Mock, Generic[S]):
    """A mock whose parameters may be set while it runs. settings: their values."""

    def __init__(self, name: str, air: Air, settings: S, seed: object = 0) -> None:
        super().__init__(name, seed)
        self.air = air
        self.settings = settings

    def set(self, name: str, value: str) -> None:
        before, self.settings = self.settings, self.settings.changed(name, value)
        try:
            self._adopt(name)
        except ValueError:
            self.settings = before
            raise

    @abstractmethod
    def _adopt(self, name: str) -> None:
        """Use the parameter that was set, and those that depend on it.

        Raises ValueError when it does not fit the others.
        """


class Create(Protocol[M_co]):
    """Makes a mock; ValueError names the parameter with a wrong value.

    A mock without a radio ignores the position in the air.
    """

    def __call__(
        self,
        name: str,
        air: Air,
        parameters: Mapping[str, Any],
        position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> M_co: ...


def creator(make: Callable[[str, Air, S], M_co], settings: type[S]) -> Create[M_co]:
    """Return the `create` of a mock with these parameters."""

    def create(
        name: str,
        air: Air,
        parameters: Mapping[str, Any],
        position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> M_co:
        of_air = {"position": position, "seed": air.seed}
        return make(name, air, settings.read(parameters, of_air))

    return create
