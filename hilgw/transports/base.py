"""The shape of a transport: it moves bytes and reports up or down. It knows no protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hilgw.errors import PortError

ReadHandler = Callable[[bytes], None]
LostHandler = Callable[[PortError], None]


# Who switches the direction of an RS-485 line: not the driver; the driver by RTS, on or off while
# it sends.
RS485_MODES = ("none", "half-duplex", "half-duplex-inverted")


class Handle(Protocol):
    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """The one timer service; `hilgw.engine.scheduler.Timer` implements it."""

    def now(self) -> int:
        """Monotonic time, integer nanoseconds."""

    def call_at(self, when: int, callback: Callable[[], None]) -> Handle:
        """Run callback once in the loop at or after `when`; never early."""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """A UART line. byteSize is bits per byte on the wire: start + data + parity + stop."""

    baudRate: int = 9600
    data_bits: int = 8
    parity: str = "N"  # N, E, O
    stop_bits: int = 1
    rtscts: bool = False
    dtr: bool | None = None  # None: left alone
    rts: bool | None = None
    rs485: str = "none"  # one of RS485_MODES

    @property
    def byteSize(self) -> int:
        return 1 + self.data_bits + (self.parity != "N") + self.stop_bits


class Transport(Protocol):
    """One open byte stream.

    write() accepts all of `data` or raises PortError(reason="full") and accepts none; what the
    kernel does not take at once waits in a bounded buffer, `pending` bytes of it. `on_lost` is
    called exactly once when the stream ends by itself, never after close(). close() is
    idempotent, returns at once, never flushes.
    """

    name: str

    @property
    def pending(self) -> int: ...

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None: ...

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...


@runtime_checkable
class ModemLines(Protocol):
    """What a transport has whose port has modem lines."""

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switches "dtr" or "rts". PortError: unsupported, or lost."""


class DeviceSide(Protocol):
    """The hardware's end of a virtual port or of an in-memory pipe: where a mock sits.

    `on_data(data, host_baud)` gets the client's bytes at the line rate; write() sends the
    device's bytes to the client at the line rate. unplug() makes the client see the port vanish,
    plug() makes it come back under the same `path` (with another pts number where there is one).
    """

    path: str
    plugged: bool

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None: ...

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None: ...

    def write(self, data: bytes) -> None: ...

    def unplug(self) -> None: ...

    def plug(self) -> None: ...

    def close(self) -> None: ...
