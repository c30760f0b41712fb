"""The serial port of a bridge: a supervisor keeps it open, and all clients share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.bridge.flow import FULL, PORT_DOWN, Flow, read_in_turns
from hilgw.errors import PortError
from hilgw.transports.virtual.pacing import PacedLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.errors import HilgwError
    from hilgw.transports.base import LineSettings, Scheduler, Transport

# With more unsent bytes than this, writers are paused until all are sent.
HIGH_WATER_BYTES = 65536
# Less when paced: a command spends time in this queue.
PACED_HIGH_BYTES = 4096
PACED_LOW_BYTES = 2048

LONGEST_SLICE_BYTES = 64
# A late process catches up by at most this time; the long-term rate is still the line rate.
CATCH_UP_NS = 500_000_000


class BridgePort:
    """One serial port, a `hilgw.engine.supervisor.Supervised`.

    on_full, on_room: writers must pause, may continue. While the port is down, data is dropped and
    counted: a late command must not reach the device when it is back.
    """

    def __init__(
        self,
        name: str,
        line: LineSettings,
        flow: Flow,
        on_full: Callable[[], None],
        on_room: Callable[[], None],
    ) -> None:
        self.name = name
        self.identity = f"{line.baudRate} {line.data_bits}{line.parity}{line.stop_bits}"
        self.on_ready: Callable[[str], None] | None = None
        self.on_not_ready: Callable[[str], None] | None = None
        self.on_failed: Callable[[HilgwError], None] | None = None
        self.data_received: Callable[[bytes], None] = lambda data: None
        self.on_lost: Callable[[], None] = lambda: None
        self.framed = False
        self._flow = flow
        self._on_full = on_full
        self._on_room = on_room
        self._stream: Transport | None = None
        self._full = False
        self._held = False
        self._paced: PacedLine | None = None

    def pace(self, scheduler: Scheduler, line: LineSettings) -> None:
        """From now on data leaves at the rate of this line."""
        self._paced = PacedLine(
            scheduler,
            self._send_slice,
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
            slice_bytes=slice_bytes(line),
            catch_up_ns=CATCH_UP_NS,
        )

    # --- the supervisor calls these ---------------------------------------------------------------

    def attach(self, transport: Transport) -> None:
        self._stream = stream = transport
        stream.on_drained = self._drained
        if self.framed:
            read_in_turns(stream)
        if self._held:
            stream.pause_reading()
        if self.on_ready is not None:
            self.on_ready(self.identity)

    def detach(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            self._flow.take_back(stream.unsent, PORT_DOWN)
        if self._paced is not None:
            self._flow.dropped[PORT_DOWN] += self._paced.clear()
            self._paced.release()
        self._make_room()
        self.on_lost()

    # --- the clients call these -------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        stream = self._stream
        if stream is None:
            self._flow.dropped[PORT_DOWN] += len(data)
            return
        if self._paced is not None:
            self._paced.put(data)
            if len(self._paced) > PACED_HIGH_BYTES:
                self._stop_writers()
            return
        try:
            stream.write(data)
        except PortError as error:
            self._refused(len(data), error)
            return
        self._flow.sent_bytes += len(data)
        if stream.pending > HIGH_WATER_BYTES:
            self._stop_writers()

    def hold(self) -> None:
        """Stops reading from the port, because a client does not keep up."""
        self._held = True
        if self._stream is not None:
            self._stream.pause_reading()

    def release(self) -> None:
        self._held = False
        if self._stream is not None:
            self._stream.resume_reading()

    # --- flow control -----------------------------------------------------------------------------

    def _refused(self, size: int, error: PortError) -> None:
        """The stream is full or lost; the transport reports a loss to the supervisor itself."""
        lost = error.reason == PortError.LOST
        self._flow.dropped[PORT_DOWN if lost else FULL] += size

    def _send_slice(self, data: bytes) -> None:
        paced, stream = self._paced, self._stream
        if paced is None or stream is None:
            return
        try:
            stream.write(data)
        except PortError as error:
            self._refused(len(data), error)
            return
        self._flow.sent_bytes += len(data)
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
            self._on_full()

    def _make_room(self) -> None:
        if self._full:
            self._full = False
            self._on_room()


def slice_bytes(line: LineSettings) -> int:
    """Bytes that a paced bridge sends together: about four milliseconds, at most 64 bytes.

    A power of two, so that packets of the usual sizes end with a slice. Shorter slices would wake
    the processor more often, and it would then be late more often.
    """
    bytes_in_slice = line.baudRate * 4 // (line.byteSize * 1000)
    return min(LONGEST_SLICE_BYTES, 1 << bytes_in_slice.bit_length())
