"""The interface of a transport: it moves bytes and reports up or down. It has no knowledge of any
protocol."""

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
    """The timer service; `hilgw.engine.event_loop.scheduler.Timer` implements it."""

    def now(self) -> int:
        """Monotonic time, integer nanoseconds."""

    def call_at(self, when: int, callback: Callable[[], None]) -> Handle:
        """Runs callback once in the event loop at or after `when`; never early."""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """A UART line. byteSize: bits per byte on the wire, start + data + parity + stop."""

    baudRate: int = 9600
    data_bits: int = 8
    parity: str = "N"  # N, E, O; M and S where the driver has them
    stop_bits: int = 1
    rtscts: bool = False
    dtr: bool | None = None  # None: unchanged
    rts: bool | None = None
    rs485: str = "none"  # one of RS485_MODES

    def __str__(self) -> str:
        return f"{self.baudRate} {self.data_bits}{self.parity}{self.stop_bits}"

    @property
    def byteSize(self) -> int:
        return 1 + self.data_bits + (self.parity != "N") + self.stop_bits


@dataclass(frozen=True, slots=True)
class ModemState:
    """The inputs among the modem lines."""

    cts: bool
    dsr: bool
    ri: bool
    cd: bool


class Transport(Protocol):
    """One open byte stream. `TransportDefaults` has the answers where a medium lacks something.

    notices: lines for the user about this port. unsent: bytes that were pending when the stream
    ended. read_bytes: the most bytes per call of on_data, where the transport reads them from the
    kernel itself; other ports are served in between. on_drained: called when the last pending byte
    is written (flow control). on_half_close: called when the peer has ended its direction and may
    still receive; when None, that ends the stream. on_peer_ended: called once when that happens
    while reading is paused, so that received bytes may still wait (Linux; elsewhere it is not
    detected). unread: received bytes that were never read when the stream ended. handshake_s: how
    long its peer took for the handshake of TLS.
    """

    name: str
    notices: list[str]
    unsent: int
    read_bytes: int
    unread: int
    handshake_s: float
    on_drained: Callable[[], None] | None
    on_half_close: Callable[[], None] | None
    on_peer_ended: Callable[[], None] | None

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

    def take_unsent(self) -> bytes:
        """Removes the pending bytes that can still be taken back, and returns them."""

    def discard_received(self) -> int:
        """Discards the bytes that wait to be read while reading is paused; returns their number."""

    # The line of an open port. All these return at once and raise PortError: unsupported, and
    # nothing has changed; or lost.

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switches "dtr" or "rts"."""

    def set_line(self, line: LineSettings) -> None:
        """Sets rate, format and flow control; dtr, rts and rs485 are ignored."""

    def set_break(self, on: bool) -> None:
        """Begins or ends a break."""

    def purge(self, *, received: bool, to_send: bool) -> int:
        """Discards what the driver holds; returns how many bytes were not sent therefore."""

    def modem_state(self) -> ModemState:
        """Reads the inputs."""

    def close(self) -> None:
        """Ends at once and discards pending bytes; any further call does nothing."""

    async def wait_closed(self) -> None:
        """Returns when the port is closed, or after a deadline."""


class TransportDefaults:
    """The answers of a `Transport` without descriptor, queues in a driver and modem lines."""

    name: str
    read_bytes: int = 65536
    unread: int = 0
    handshake_s: float = 0.0
    on_peer_ended: Callable[[], None] | None = None

    @property
    def in_waiting(self) -> int:
        return 0

    @property
    def out_waiting(self) -> int:
        return 0

    def fileno(self) -> int:
        return -1

    def set_modem_line(self, name: str, on: bool) -> None:
        raise self._unsupported(f"this port has no {name.upper()}")

    def take_unsent(self) -> bytes:
        return b""

    def discard_received(self) -> int:
        return 0

    def set_line(self, line: LineSettings) -> None:
        raise self._unsupported("the line of this port cannot be set while it is open")

    def set_break(self, on: bool) -> None:
        raise self._unsupported("this port sends no break")

    def purge(self, *, received: bool, to_send: bool) -> int:
        return 0

    def modem_state(self) -> ModemState:
        raise self._unsupported("this port has no modem lines")

    def _unsupported(self, what: str) -> PortError:
        return PortError(what, reason=PortError.UNSUPPORTED, where=self.name)


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


@runtime_checkable
class ListenerSide(DeviceSide, Protocol):
    """A network server with many clients. on_client: called with the connection of each."""

    on_client: Callable[[ConnectionSide], None] | None
