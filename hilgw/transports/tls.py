"""TLS over any connected stream, with the ssl module's memory buffers.

The peer's records pass through an `ssl.SSLObject`; the stream below moves the bytes and keeps its
limits. RFC 8446, section 6.1: a close_notify ends the stream.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress

from hilgw.errors import PortError
from hilgw.transports.base import LostHandler, ReadHandler, Transport
from hilgw.transports.stream import WRITE_LIMIT_BYTES

HANDSHAKE_S = 5.0
# What TLS adds to a record of at most 16 KiB: header, nonce or type, authentication tag.
RECORD_BYTES = 16384
OVERHEAD_BYTES = 64


class TlsStream(Transport):
    """A `hilgw.transports.base.Transport` inside the TLS of `context`, over `inner`.

    The handshake begins at once. on_ready is called with this stream after it; on_failed, when
    there is no handshake within `handshake_s` or it fails, and the connection is then closed.
    limit: of `inner`, in bytes. Only the server's side checks nothing of the peer unless the
    context does.
    """

    def __init__(
        self,
        inner: Transport,
        context: ssl.SSLContext,
        on_ready: "Callable[[TlsStream], object]",
        on_failed: Callable[[PortError], None] = lambda error: None,
        *,
        server_hostname: str | None = None,
        limit: int = WRITE_LIMIT_BYTES,
        handshake_s: float = HANDSHAKE_S,
    ) -> None:
        super().__init__(inner.name)
        self._inner = inner
        self._on_ready: Callable[[TlsStream], object] | None = on_ready
        self._on_failed = on_failed
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._received,
            self._to_send,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
        )
        self._paused = False
        self._continues = False  # a turn of reading is scheduled
        self._begin_s = self._loop.time()
        self._deadline = self._loop.call_later(
            handshake_s, self._end, f"no TLS handshake within {handshake_s:g} s"
        )
        inner.on_drained = self._drained
        inner.start(self._ciphertext, self._inner_lost)
        self._shake_hands()

    # --- the interface of a transport ---------------------------------------------------------

    @property
    def unsent(self) -> int:
        return self._inner.unsent

    @unsent.setter
    def unsent(self, count: int) -> None:
        self._inner.unsent = count

    @property
    def pending(self) -> int:
        """Bytes with the overhead of TLS."""
        return self._inner.pending

    @property
    def in_waiting(self) -> int:
        return self._inner.in_waiting + self._received.pending + self._tls.pending()

    @property
    def out_waiting(self) -> int:
        return self._inner.out_waiting

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost = on_data, on_lost
        self._inner.read_bytes = self.read_bytes
        self._continue()

    def write(self, data: bytes) -> None:
        if self._lost is not None or self._closed:
            raise self._lost or self._error("the connection is closed")
        records = 1 + len(data) // RECORD_BYTES
        if self.pending + len(data) + records * OVERHEAD_BYTES > self._limit:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        if data:
            self._tls.write(data)
            self._flush()

    def pause_reading(self) -> None:
        self._paused = True
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        self._inner.resume_reading()
        self._continue()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._deadline.cancel()
        if self._lost is None and self._on_ready is None:
            with suppress(ssl.SSLError):  # it waits for the peer's close_notify, which we do not
                self._tls.unwrap()  # queues ours
            with suppress(PortError):  # the peer reads no more
                self._flush()
        self._inner.close()

    async def wait_closed(self) -> None:
        await self._inner.wait_closed()

    # --- records ------------------------------------------------------------------------------

    def _ciphertext(self, data: bytes) -> None:
        self._received.write(data)
        if self._on_ready is not None:
            self._shake_hands()
        else:
            self._read()

    def _shake_hands(self) -> None:
        on_ready = self._on_ready
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._try_flush()
            return
        except ssl.SSLError as error:
            self._try_flush()  # the alert
            self._end(f"the TLS handshake failed: {error.reason or error}")
            return
        self._try_flush()
        self._deadline.cancel()
        self.handshake_s = self._loop.time() - self._begin_s
        self._on_ready = None
        if on_ready is not None and self._lost is None:
            on_ready(self)
            self._continue()

    def _continue(self) -> None:
        if not self._continues:
            self._continues = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._continues = False
        if self._lost is not None:
            self._report()
        elif self._on_ready is None:
            self._read()

    def _read(self) -> None:
        """Call on_data once with at most read_bytes; the rest follows in later turns."""
        if self._on_data is None or self._paused or self._closed or self._lost is not None:
            return
        try:
            data = self._tls.read(self.read_bytes)
        except ssl.SSLWantReadError:
            self._try_flush()  # a key update may ask for an answer
            return
        except ssl.SSLZeroReturnError:
            self._end("the peer closed the connection")
            return
        except ssl.SSLError as error:
            self._end(f"the TLS stream is damaged: {error.reason or error}")
            return
        if not data:
            self._end("the peer closed the connection")
            return
        self._on_data(data)
        if self._received.pending or self._tls.pending():
            self._continue()

    def _try_flush(self) -> None:
        try:
            self._flush()
        except PortError as error:
            self._end(error.what)

    def _flush(self) -> None:
        if self._to_send.pending:
            self._inner.write(self._to_send.read())

    # --- the end ------------------------------------------------------------------------------

    def _drained(self) -> None:
        if self.on_drained is not None and not self._closed:
            self.on_drained()

    def _inner_lost(self, error: PortError) -> None:
        if self._on_ready is None and self._lost is None:
            self._read_rest()
        self._end(error.what)

    def _read_rest(self) -> None:
        while self._lost is None and not self._closed and not self._paused:
            before = self._received.pending + self._tls.pending()
            if self._on_data is None or not before:
                return
            self._read()
            if self._received.pending + self._tls.pending() == before:
                return

    def _end(self, problem: str) -> None:
        if self._lost is not None or self._closed:
            return
        self._lost = self._error(problem)
        self._deadline.cancel()
        self._inner.close()
        if self._on_ready is not None:
            self._on_ready = None
            self._closed = True
            self._on_failed(self._lost)
        else:
            self._loop.call_soon(self._report)

    def _error(self, problem: str) -> PortError:
        return PortError(problem, reason=PortError.LOST, where=self.name)
