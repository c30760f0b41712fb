"""The serial port of a bridge: a supervisor keeps it open, and all clients share it."""

from collections.abc import Callable
from typing import Any, Protocol, cast

from hilgw.bridge.backlog import Backlog
from hilgw.bridge.flow import BridgeDropped, Flow
from hilgw.engine.supervisor import PortListener
from hilgw.errors import PortError
from hilgw.framing.base import TURN_BYTES
from hilgw.transports.base import LineSettings, Scheduler, Transport
from hilgw.transports.virtual.pipe import PacedLine

# With more unsent bytes than this, writers are paused until all are sent.
HIGH_WATER_BYTES = 65536
# Less when paced: a command spends time in this queue.
PACED_HIGH_BYTES = 4096
PACED_LOW_BYTES = 2048

LONGEST_SLICE_BYTES = 64
# A late process catches up by at most this time; the long-term rate is still the line rate.
CATCH_UP_NS = 500_000_000


class Writer(Protocol):
    """A writer to the port. to_serial: counts its bytes."""

    to_serial: Flow


class BridgePort:
    """The serial port, a `hilgw.engine.supervisor.Supervised`.

    on_full, on_room: writers must pause, may continue. While the port is down, data is dropped and
    counted: a late command must not reach the device when it is back.
    """

    def __init__(self, name: str, line: LineSettings) -> None:
        self.name = name
        self.identity = str(line)
        self.supervisor = PortListener()
        self.data_received: Callable[[bytes], None] = lambda data: None
        self.on_lost: Callable[[], None] = lambda: None
        self.framed = False
        self.flow = Flow()
        self.on_full: Callable[[], None] = lambda: None
        self.on_room: Callable[[], None] = lambda: None
        self._stream: Transport | None = None
        self._full = False
        self._held = False
        self._paced: PacedLine | None = None
        self._scheduler: Scheduler | None = None
        self.on_attached: Callable[[Transport], None] = lambda transport: None
        self.on_detached: Callable[[], None] = lambda: None
        self._backlog = Backlog()
        self._taken = 0  # bytes given to the transport, those that were taken back left out

    def pace(self, scheduler: Scheduler, line: LineSettings) -> None:
        """Send all data from now on at the rate of this line."""
        waiting = b"" if self._paced is None else self._paced.take()
        self._scheduler = scheduler
        self._paced = PacedLine(
            scheduler,
            self._send_slice,
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
            slice_bytes=slice_bytes(line),
            catch_up_ns=CATCH_UP_NS,
        )
        if self._stream is not None and self._stream.pending:
            self._paced.hold()
        self._paced.put(waiting)

    def set_line(self, line: LineSettings) -> None:
        """Note that the line of the open port has changed."""
        self.identity = str(line)
        if self._paced is not None and self._scheduler is not None:
            self.pace(self._scheduler, line)

    # --- the supervisor calls these ---------------------------------------------------------------

    def attach(self, transport: Transport) -> None:
        self._stream = stream = transport
        stream.on_drained = self._drained
        if self.framed:
            stream.read_bytes = TURN_BYTES  # at a time, for the framing
        if self._held:
            stream.pause_reading()
        self.on_attached(transport)
        self.supervisor.on_ready(self.identity)

    def detach(self) -> None:
        stream, self._stream = self._stream, None
        unsent = 0 if stream is None else stream.unsent
        paced = 0 if self._paced is None else self._paced.clear()
        self.flow.take_back(unsent, BridgeDropped.PORT_DOWN)
        self.flow.drop(BridgeDropped.PORT_DOWN, paced)
        self._take_back_from_writers(unsent + paced, BridgeDropped.PORT_DOWN)
        if self._paced is not None:
            self._paced.release()
        self._make_room()
        self.on_detached()
        self.on_lost()

    # --- the clients call these -------------------------------------------------------------------

    def write(self, data: bytes, client: Writer) -> None:
        size = len(data)
        stream = self._stream
        if stream is None:
            self._drop(BridgeDropped.PORT_DOWN, size, client)
            return
        if self._paced is not None:
            self._paced.put(data)
            client.to_serial.sent_bytes += size
            self._backlog.add(client, size)
            self._backlog.shrink(self.waiting_bytes)
            if len(self._paced) > PACED_HIGH_BYTES:
                self._stop_writers()
            return
        try:
            stream.write(data)
        except PortError as error:
            self._drop(_reason(error), size, client)
            return
        client.to_serial.sent_bytes += size
        self.flow.sent_bytes += size
        self._taken += size
        pending = stream.pending
        if pending:
            self._backlog.add(client, size)
            self._backlog.shrink(pending)
            if pending > HIGH_WATER_BYTES:
                self._stop_writers()

    @property
    def accepted_bytes(self) -> int:
        """The number of bytes that the driver has accepted so far."""
        return self._taken - self._unaccepted

    @property
    def waiting_bytes(self) -> int:
        """Bytes that the driver has not accepted yet."""
        return (0 if self._paced is None else len(self._paced)) + self._unaccepted

    @property
    def _unaccepted(self) -> int:
        """Bytes in the transport.

        When it has ended, they are dropped in `detach`, which comes in the next turn of the event
        loop.
        """
        stream = self._stream
        return 0 if stream is None else stream.pending + stream.unsent

    def report(self) -> dict[str, Any]:
        """Return the ledger of all bytes for the port."""
        return self.flow.as_dict(self._unaccepted, self.waiting_bytes)

    def report_of(self, client: Writer) -> dict[str, Any]:
        """Return the ledger of the bytes of one client."""
        waiting = self.waiting_from(client)
        return client.to_serial.ledger(waiting, waiting)

    def waiting_from(self, client: Writer) -> int:
        """Return how many of the waiting bytes are from this client."""
        self._backlog.shrink(self.waiting_bytes)
        return self._backlog.of(client)

    def drop_from(self, client: Writer, reason: str) -> None:
        """Drop and count the bytes of this client that the driver has not accepted yet."""
        stream = self._stream
        if stream is None or stream.unsent or not self.waiting_from(client):
            return
        unsent = stream.take_unsent()
        self.flow.sent_bytes -= len(unsent)
        self._taken -= len(unsent)
        queue = unsent if self._paced is None else unsent + self._paced.take()
        self._backlog.shrink(len(queue))  # some transports keep the first bytes
        kept = self._backlog.without(client, queue)
        self._backlog = Backlog()
        dropped = len(queue) - sum(len(data) for _, data in kept)
        self.flow.drop(reason, dropped)
        client.to_serial.take_back(dropped, reason)
        for owner, data in kept:
            writer = cast(Writer, owner)
            writer.to_serial.sent_bytes -= len(data)
            self.write(data, writer)
        if not stream.pending:
            self._drained()
        if not self.waiting_bytes:
            self._make_room()

    def drop_all(self, reason: str) -> None:
        """Drop and count all bytes that the driver has not accepted yet."""
        if self._stream is None or self._stream.unsent:
            return
        unsent = len(self._stream.take_unsent())
        paced = 0 if self._paced is None else self._paced.clear()
        self.take_back(unsent, reason)
        self.flow.drop(reason, paced)
        self._take_back_from_writers(unsent + paced, reason)
        self._drained()
        if not self.waiting_bytes:
            self._make_room()

    def drop_held(self, size: int, reason: str, client: Writer | None) -> None:
        """Count bytes of a client that were never written here."""
        self.flow.received_bytes += size
        if client is not None:
            client.to_serial.received_bytes += size
        self._drop(reason, size, client)

    def take_back(self, size: int, reason: str) -> None:
        """Count bytes that were written and never sent.

        These are at most the bytes that this bridge wrote, as a driver may hold bytes of the
        program before it.
        """
        size = min(size, self.flow.sent_bytes)
        self.flow.take_back(size, reason)
        self._taken -= size

    def _drop(self, reason: str, size: int, client: Writer | None) -> None:
        self.flow.drop(reason, size)
        if client is not None:
            client.to_serial.drop(reason, size)

    def _take_back_from_writers(self, size: int, reason: str) -> None:
        backlog, self._backlog = self._backlog, Backlog()
        backlog.shrink(size)
        for owner, dropped in backlog.sizes():
            cast(Writer, owner).to_serial.take_back(dropped, reason)

    def hold(self) -> None:
        """Stop reading from the port, because a client does not keep up."""
        self._held = True
        if self._stream is not None:
            self._stream.pause_reading()

    def release(self) -> None:
        self._held = False
        if self._stream is not None:
            self._stream.resume_reading()

    # --- flow control -----------------------------------------------------------------------------

    def _send_slice(self, data: bytes) -> None:
        paced, stream = self._paced, self._stream
        if paced is None or stream is None:
            return
        try:
            stream.write(data)
        except PortError as error:
            # The first waiting slice is dropped: none is sent before the transport is empty.
            reason = _reason(error)
            self.flow.drop(reason, len(data))
            self._backlog.shrink(self.waiting_bytes + len(data))
            for owner, dropped in self._backlog.sizes(len(data)):
                cast(Writer, owner).to_serial.take_back(dropped, reason)
            return
        self.flow.sent_bytes += len(data)
        self._taken += len(data)
        if stream.pending:
            paced.hold()  # the device accepts less than the line rate
        elif len(paced) <= PACED_LOW_BYTES:
            self._make_room()

    def _drained(self) -> None:
        if self._paced is None:
            self._make_room()
        else:
            self._paced.release()

    def _stop_writers(self) -> None:
        if not self._full:
            self._full = True
            self.on_full()

    def _make_room(self) -> None:
        if self._full:
            self._full = False
            self.on_room()


def _reason(error: PortError) -> str:
    return BridgeDropped.PORT_DOWN if error.reason == PortError.LOST else BridgeDropped.FULL


def slice_bytes(line: LineSettings) -> int:
    """Return the bytes that a paced bridge sends together: about 4 ms, at most 64 bytes.

    A power of two, so that packets of the usual sizes end with a slice. Shorter slices would wake
    the processor more often, and it would then be late more often.
    """
    return min(LONGEST_SLICE_BYTES, 1 << (line.baudRate * 4 // (line.byteSize * 1000)).bit_length())
