"""The interface of a transport: it moves bytes and reports up or down. It knows no protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hilgw.errors import PortError

ReadHandler = Callable[[bytes], None]
LostHandler = Callable[[PortError], None]
SwitchModemLine = Callable[[str, bool], None]


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
    """One open byte stream. `TransportDefaults` has the answers where a medium lacks something.

    notices: lines for the user about this port. unsent: bytes that were pending when the stream
    ended. read_bytes: the most bytes per call of on_data, where the transport reads them from the
    kernel itself; other ports are served in between. on_drained: called when the last pending byte
    is written (flow control). on_half_close: called when the peer has ended its direction and may
    still receive; when None, that ends the stream.
    """

    name: str
    notices: list[str]
    unsent: int
    read_bytes: int
    on_drained: Callable[[], None] | None
    on_half_close: Callable[[], None] | None

    @property
    def pending(self) -> int:
        """Bytes accepted by write() that the kernel has not accepted yet."""

    @property
    def in_waiting(self) -> int:
        """Received bytes that wait in the kernel; 0 where that is unknown."""

    @property
    def out_waiting(self) -> int:
        """Bytes that the kernel or the driver has not sent yet; 0 where that is unknown."""

    def fileno(self) -> int:
        """The descriptor, for an emergency stop from another thread; -1: closed, or none."""

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        """Begins to read. on_lost is called once when the stream ends by itself, never after
        close()."""

    def write(self, data: bytes) -> None:
        """Accepts all of `data`; what the kernel does not take at once waits in a bounded buffer.

        Raises PortError: full, and nothing is sent; or lost.
        """

    def pause_reading(self) -> None:
        """Reads no more bytes from the kernel (flow control); a hang-up is still detected."""

    def resume_reading(self) -> None: ...

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switches "dtr" or "rts". Raises PortError: unsupported, or lost."""

    def close(self) -> None:
        """Ends at once and discards pending bytes; any further call does nothing."""

    async def wait_closed(self) -> None:
        """Returns when the port is closed, or after a deadline."""


class TransportDefaults:
    """The answers of a `Transport` without descriptor, queues in a driver and modem lines."""

    name: str
    read_bytes: int = 65536

    @property
    def in_waiting(self) -> int:
        return 0

    @property
    def out_waiting(self) -> int:
        return 0

    def fileno(self) -> int:
        return -1

    def set_modem_line(self, name: str, on: bool) -> None:
        what = f"this port has no {name.upper()}"
        raise PortError(what, reason=PortError.UNSUPPORTED, where=self.name)


class DeviceSide(Protocol):
    """The hardware's end of a virtual port or of an in-memory pipe, used by a mock.

    `on_data(data, host_baud)` gets the bytes of the client at the line rate; write() sends the
    bytes of the device to the client at the line rate. unplug() makes the port disappear for the
    client, plug() makes it reappear under the same `path` (a pty: with another pts number).
    stall() stops reading, like firmware that hangs: the bytes of the client wait at its end until
    unstall(). on_modem_line: called with "dtr" or "rts" when the client switches it.
    """

    path: str
    plugged: bool
    on_modem_line: SwitchModemLine | None

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None: ...

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None: ...

    def write(self, data: bytes) -> None: ...

    def stall(self) -> None: ...

    def unstall(self) -> None: ...

    def unplug(self) -> None: ...

    def plug(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class ConnectionSide(DeviceSide, Protocol):
    """The hardware's end of a network connection. on_open, on_close: called for each one."""

    on_open: Callable[[], None] | None
    on_close: Callable[[], None] | None

    def hang_up(self) -> None:
        """Closes the connection; the peer reads the end of the stream."""
