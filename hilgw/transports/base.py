"""The interface of a transport: it moves bytes and reports up or down.

It has no knowledge of any protocol.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hilgw.errors import PortError
from hilgw.units import NS_PER_S, s_to_ns

BytesHandler = Callable[[bytes], None]
ReadHandler = BytesHandler
LostHandler = Callable[[PortError], None]
Flag = bytes | mmap
"""The first byte is the flag; another process may set it."""
NOT_SET = b"\0"
SwitchModemLine = Callable[[str, bool], None]


# Direction control of an RS-485 line: not by the driver; by the driver with RTS on, or off, while
# it sends.
RS485_MODES = ("none", "half-duplex", "half-duplex-inverted")


class Handle(Protocol):
    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """The timer service; `hilgw.engine.event_loop.scheduler.Timer` implements it."""

    def now(self) -> int:
        """Return monotonic time in integer nanoseconds."""

    def call_at(self, when: int, callback: Callable[[], None]) -> Handle:
        """Run `callback` once in the event loop at or after `when`; never early."""


HELD_BACK = 32  # bytes that a UART or a USB adapter may pass on together


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

    def duration_ns(self, size: int) -> int:
        """Return how long the line takes for `size` bytes, rounded up."""
        return -(-size * self.byteSize * NS_PER_S // self.baudRate)

    def patience_ns(self, size: int, least_s: float = 2.0) -> int:
        """Return the time limit for `size` bytes: their time on the line, at least `least_s`."""
        return max(s_to_ns(least_s), self.duration_ns(size))


@dataclass(frozen=True, slots=True)
class ModemState:
    """The inputs among the modem lines."""

    cts: bool
    dsr: bool
    ri: bool
    cd: bool


class Observable:
    """Either end of a line, whose bytes can be observed from any time to any other.

    It has `write` and `start`, and passes received bytes to `_on_data`. While it is observed, two
    functions of the instance hide the methods of its class; otherwise the bytes take no other way
    than without this class.
    """

    _on_data: Callable[..., None] | None = None
    _unobserved: Callable[..., None] | None = None  # what `_on_data` is without the observer
    _is_observed = False

    if TYPE_CHECKING:
        write: Callable[[bytes], None]
        start: Callable[..., None]

    def observe(self, sent: BytesHandler, received: BytesHandler) -> None:
        """Report the bytes of both directions from now on.

        Args:
            sent: gets what this end has accepted for the other one.
            received: gets what came from there. Neither may raise or write.
        """
        self.unobserve()
        write, start = self.write, self.start

        def observed_write(data: bytes) -> None:
            write(data)
            sent(data)

        def observed_start(on_data: Callable[..., None], *rest: Any) -> None:
            start(self._observed(on_data, received), *rest)

        if self._on_data is not None:
            self._on_data = self._observed(self._on_data, received)
        self.write, self.start = observed_write, observed_start
        self._is_observed = True

    def unobserve(self) -> None:
        """End the calls that `observe` began."""
        if self._is_observed:
            del self.write, self.start  # those of the class remain
            self._on_data, self._is_observed = self._unobserved, False

    def _observed(
        self, on_data: Callable[..., None], received: BytesHandler
    ) -> Callable[..., None]:
        self._unobserved = on_data

        def observed(data: bytes, *rest: Any) -> None:
            received(data)
            on_data(data, *rest)

        return observed


class Transport(Observable, ABC):
    """An open byte stream.

    What is not abstract is the answer of one without descriptor, queues in a driver and modem
    lines.

    notices: lines for the user about this port. unsent: bytes that were pending when the stream
    ended. read_bytes: the most bytes per call of on_data, where the transport reads them from the
    kernel itself; other ports are served in between. on_drained: called when the last pending byte
    is written (flow control). on_half_close: called when the peer has ended its direction and may
    still receive; when None, that ends the stream. on_peer_ended: called once when that happens
    while reading is paused, so that received bytes may still wait (Linux; elsewhere it is not
    detected). unread: received bytes that were never read when the stream ended. handshake_s: how
    long its peer took for the handshake of TLS. silent_s: for how long nothing has come from the
    host of a TCP peer, acknowledgements included (Linux; else 0). flag: once its first byte is set,
    pending bytes are not written any more.
    """

    read_bytes: int = 65536
    unsent: int = 0
    unread: int = 0
    handshake_s: float = 0.0
    silent_s: float = 0.0
    flag: Flag = NOT_SET
    on_drained: Callable[[], None] | None = None
    on_half_close: Callable[[], None] | None = None
    on_peer_ended: Callable[[], None] | None = None
    _on_lost: LostHandler | None = None
    _lost: PortError | None = None
    _closed = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.notices: list[str] = []

    @property
    @abstractmethod
    def pending(self) -> int:
        """Bytes accepted by write() that the kernel has not accepted yet."""

    @property
    def in_waiting(self) -> int:
        """Received bytes that wait in the kernel; 0 where that is unknown."""
        return 0

    @property
    def out_waiting(self) -> int:
        """Bytes that the kernel or the driver has not sent yet; 0 where that is unknown."""
        return 0

    def fileno(self) -> int:
        """Return the descriptor, for an emergency stop from another thread; -1: closed, or none."""
        return -1

    @abstractmethod
    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        """Begin to read.

        `on_lost` is called once when the stream ends by itself, never after close().
        """

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Accept all of `data`; what the kernel does not take at once waits in a bounded buffer.

        Raises:
            PortError: full, and nothing is sent; or lost.
        """

    @abstractmethod
    def pause_reading(self) -> None:
        """Stop reading from the kernel (flow control); a hang-up is still detected."""

    @abstractmethod
    def resume_reading(self) -> None: ...

    def take_unsent(self) -> bytes:
        """Remove the pending bytes that can still be taken back, and return them.

        `on_drained` is not called for these bytes.
        """
        return b""

    def discard_received(self) -> int:
        """Discard the bytes that wait to be read while reading is paused; return their number."""
        return 0

    # The line of an open port. All these return at once and raise PortError: unsupported, and
    # nothing has changed; or lost.

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switch "dtr" or "rts"."""
        raise self._unsupported(f"this port has no {name.upper()}")

    def set_line(self, line: LineSettings) -> None:
        """Set rate, format and flow control; dtr, rts and rs485 are ignored."""
        raise self._unsupported("the line of this port cannot be set while it is open")

    def set_break(self, on: bool) -> None:
        """Begin or end a break."""
        raise self._unsupported("this port sends no break")

    def purge(self, *, received: bool, to_send: bool) -> int:
        """Discard what the driver holds; return how many bytes to send it discarded."""
        return 0

    def modem_state(self) -> ModemState:
        """Read the inputs."""
        raise self._unsupported("this port has no modem lines")

    @abstractmethod
    def close(self) -> None:
        """End at once and discard pending bytes; any further call does nothing."""

    @abstractmethod
    async def wait_closed(self) -> None:
        """Wait until the port is closed, or a deadline has passed."""

    def _report(self) -> None:
        if self._on_lost is not None and self._lost is not None and not self._closed:
            on_lost, self._on_lost = self._on_lost, None
            on_lost(self._lost)

    def _unsupported(self, ability: str) -> PortError:
        return PortError(ability, reason=PortError.UNSUPPORTED, where=self.name)


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
        """Close the connection; the peer reads the end of the stream."""


@runtime_checkable
class ListenerSide(DeviceSide, Protocol):
    """A network server with many clients. on_client: called with the connection of each."""

    on_client: Callable[[ConnectionSide], None] | None


def describe_modem_lines(line: LineSettings, platform: str = sys.platform) -> str:
    """Return the states of DTR and RTS once hilgw has opened the port.

    Linux raises both at each opening (drivers/tty/tty_port.c, tty_port_block_til_ready), before a
    program can lower one: a line that is to be off has a short pulse.
    """
    raised = "on" if platform == "linux" else "as the driver sets it"
    dtr = _state(line.dtr, raised, platform)
    if line.rtscts:
        rts = "by flow control"
    elif line.rs485 != "none":
        rts = "on while the port sends" if line.rs485 == "half-duplex" else "off while it sends"
    else:
        rts = _state(line.rts, raised, platform)
    why = ": Linux raises them at opening" if "on" in (dtr, rts) and platform == "linux" else ""
    return f"DTR {dtr}, RTS {rts}{why}"


def _state(wanted: bool | None, raised: str, platform: str) -> str:
    if wanted is None:
        return raised
    if wanted:
        return "on"
    return "off after a pulse at opening" if platform == "linux" else "off"


class Wakeup:
    """A timer that moves. `callback` gets the time it was set to."""

    __slots__ = ("_callback", "_handle", "_scheduler", "at")

    def __init__(self, scheduler: "Scheduler", callback: "Callable[[int], None]") -> None:
        self.at: int | None = None  # ns
        self._callback = callback
        self._handle: Handle | None = None
        self._scheduler = scheduler

    def set(self, due: int | None) -> None:
        """Wake at this time and at no other; None: not at all."""
        if due == self.at:
            return
        if self._handle is not None:
            self._handle.cancel()
        self.at = due
        self._handle = None if due is None else self._scheduler.call_at(due, self._ring)

    def _ring(self) -> None:
        due, self.at, self._handle = self.at, None, None
        assert due is not None
        self._callback(due)
