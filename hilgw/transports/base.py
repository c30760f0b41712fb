"""The interface of a transport: it moves bytes and reports up or down. It knows no protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hilgw.errors import PortError

ReadHandler = Callable[[bytes], None]
LostHandler = Callable[[PortError], None]


# Direction control of an RS-485 line: not by the driver; by the driver with RTS on, or off, while
# it sends.
RS485_MODES = ("none", "half-duplex", "half-duplex-inverted")


class Handle(Protocol):
    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """The timer service; `hilgw.engine.scheduler.Timer` implements it."""

    def now(self) -> int:
        """Monotonic time, integer nanoseconds."""

    def call_at(self, when: int, callback: Callable[[], None]) -> Handle:
        """Runs callback once in the event loop at or after `when`; never early."""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """A UART line. byteSize: bits per byte on the wire, start + data + parity + stop."""

    baudRate: int = 9600
    data_bits: int = 8
    parity: str = "N"  # N, E, O
    stop_bits: int = 1
    rtscts: bool = False
    dtr: bool | None = None  # None: unchanged
    rts: bool | None = None
    rs485: str = "none"  # one of RS485_MODES

    @property
    def byteSize(self) -> int:
        return 1 + self.data_bits + (self.parity != "N") + self.stop_bits


class Transport(Protocol):
    """One open byte stream.

    write() accepts all of `data`, or none and raises PortError(reason="full"); bytes that the
    kernel does not take at once wait in a bounded buffer of `pending` bytes. `on_lost` is called
    exactly once when the stream ends by itself, never after close(). close() is idempotent,
    returns at once and never flushes.

    notices: lines for the user about this port. unsent: bytes that were pending when the stream
    ended. on_drained: called when the last pending byte is written (flow control). on_half_close:
    called when the peer has ended its direction and may still receive; when None, that ends the
    stream.
    """

    name: str
    notices: list[str]
    unsent: int
    on_drained: Callable[[], None] | None
    on_half_close: Callable[[], None] | None

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
    """A transport whose port has modem lines."""

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switches "dtr" or "rts". Raises PortError: unsupported, or lost."""


class DeviceSide(Protocol):
    """The hardware's end of a virtual port or of an in-memory pipe, used by a mock.

    `on_data(data, host_baud)` gets the bytes of the client at the line rate; write() sends the
    bytes of the device to the client at the line rate. unplug() makes the port disappear for the
    client, plug() makes it reappear under the same `path` (a pty: with another pts number).
    """

    path: str
    plugged: bool

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None: ...

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None: ...

    def write(self, data: bytes) -> None: ...

    def unplug(self) -> None: ...

    def plug(self) -> None: ...

    def close(self) -> None: ...
