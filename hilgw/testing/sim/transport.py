"""A transport in memory: the test is the other end and the kernel between them."""

from collections.abc import Callable

from hilgw.errors import PortError
from hilgw.transports.base import LostHandler, ReadHandler, Transport


class FakeTransport(Transport):
    """A `hilgw.transports.base.Transport` that records what is written to it.

    written: what reached the other end, in writes. full: write() raises PortError full. gone:
    write() raises PortError lost. stalled: written bytes wait (`pending`) until accept(). paused,
    closed: what its user did to it. send(), end() and lose() are the other end's part.
    """

    def __init__(self, name: str = "fake") -> None:
        super().__init__(name)
        self.unsent = self.unread = 0
        self.on_peer_ended: Callable[[], None] | None = None
        self.written: list[bytes] = []
        self.full = self.gone = self.stalled = False
        self.started = self.closed = self.paused = self.ended = False
        self._waiting = bytearray()  # written, and not accepted by the other end
        self._kernel = bytearray()  # sent by the other end, and not read
        self._on_data: ReadHandler = _ignore
        self._on_lost: LostHandler = _ignore

    # --- the transport ----------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._waiting)

    @property
    def in_waiting(self) -> int:
        return len(self._kernel)

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost, self.started = on_data, on_lost, True
        self._deliver()

    def write(self, data: bytes) -> None:
        if self.gone:
            raise PortError("the connection is lost", reason=PortError.LOST)
        if self.full:
            raise PortError("the write buffer is full", reason=PortError.FULL)
        if self.stalled:
            self._waiting += data
        else:
            self.written.append(bytes(data))

    def take_unsent(self) -> bytes:
        rest, self._waiting = bytes(self._waiting), bytearray()
        return rest

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False
        self._deliver()

    def discard_received(self) -> int:
        size = len(self._kernel)
        self._kernel.clear()
        return size

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.unsent, self.unread = len(self.take_unsent()), self.discard_received()

    async def wait_closed(self) -> None: ...

    # --- the other end ----------------------------------------------------------------------------

    def data(self) -> bytes:
        """Return all bytes that reached the other end."""
        return b"".join(self.written)

    def take(self) -> bytes:
        """Return the bytes that reached the other end since the last call, and empty `written`."""
        data = self.data()
        self.written.clear()
        return data

    def send(self, data: bytes) -> None:
        """Send from the other end; while reading is paused or not started, the bytes wait."""
        self._kernel += data
        self._deliver()

    def accept(self, size: int | None = None) -> None:
        """Accept this many of the pending bytes at the other end; None: all, and those to come."""
        if size is None:
            self.stalled, size = False, len(self._waiting)
        if size and self._waiting:
            self.written.append(bytes(self._waiting[:size]))
            del self._waiting[:size]
        if not self._waiting and self.on_drained is not None:
            self.on_drained()

    def end(self) -> None:
        """End what the other end sends; it may still receive."""
        self.ended = True
        if self.paused and self.on_peer_ended is not None:
            self.on_peer_ended()
        self._deliver()

    def lose(self, error: PortError | None = None) -> None:
        """End the stream by itself: a reset, or a cable that was unplugged."""
        if self.closed:
            return
        self.close()
        self._on_lost(error or PortError("reset by the peer", reason=PortError.LOST))

    def _deliver(self) -> None:
        if self.paused or self.closed or not self.started:
            return
        data = bytes(self._kernel)
        self._kernel.clear()
        if data:
            self._on_data(data)
        if not self.ended or self.paused or self.closed:
            return
        if self.on_half_close is None:
            self.lose(PortError("closed by the peer", reason=PortError.LOST))
        else:
            self.on_half_close()


def _ignore(_: object) -> None:
    """Ignore what is read before start()."""
