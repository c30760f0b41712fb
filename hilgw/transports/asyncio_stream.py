"""Bytes over a transport of asyncio or pyserial-asyncio, where descriptors cannot be watched."""

import asyncio
from collections.abc import Callable
from typing import Any

from hilgw.errors import PortError
from hilgw.transports.base import LostHandler, ReadHandler, Transport
from hilgw.transports.stream import CLOSE_DEADLINE_S, WRITE_LIMIT_BYTES, HangUpWatch, describe_loss


class AsyncioStream(Transport, asyncio.Protocol):
    """The asyncio protocol for pyserial-asyncio or TCP, as a `hilgw.transports.base.Transport`.

    The same contract as `FdStream`.

    fd: of a tty, polled for hang-ups while reading is paused; None on other systems. closes_later:
    the descriptor is still open after connection_lost(), until closed() is called. on_made: called
    with this stream when it is connected.
    """

    def __init__(
        self,
        name: str,
        *,
        limit: int = WRITE_LIMIT_BYTES,
        fd: int | None = None,
        closes_later: bool = False,
        end: str = "the device hung up",
        describe: Callable[[OSError], str] = describe_loss,
        on_made: "Callable[[AsyncioStream], None] | None" = None,
    ) -> None:
        super().__init__(name)
        self.on_closed: Callable[[], object] | None = None
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._end = end
        self._describe = describe
        self._on_made = on_made
        self._transport: Any = None
        self._early = bytearray()  # received before start() or while paused
        self._ended = False  # one report at most, and no more writes
        self._paused = False
        self._closes_later = closes_later
        self._gone = self._loop.create_future()
        self._hang_up = HangUpWatch(self._loop, self._abort, fd)

    @property
    def pending(self) -> int:
        return 0 if self._ended else int(self._transport.get_write_buffer_size())

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._on_lost = on_lost
        self._loop.call_soon(self._start)

    def write(self, data: bytes) -> None:
        if self._ended:
            raise PortError(self._end, reason=PortError.LOST, where=self.name)
        if len(data) + self.pending > self._limit:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        if data:
            self._transport.write(data)

    def pause_reading(self) -> None:
        self._paused = True
        if not self._ended:
            self._transport.pause_reading()
            self._hang_up.begin()

    def resume_reading(self) -> None:
        self._paused = False
        self._hang_up.stop()
        if self._on_data is not None:
            self._loop.call_soon(self._start)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._abort()

    async def wait_closed(self) -> None:
        await asyncio.wait([self._gone], timeout=CLOSE_DEADLINE_S)

    # --- called by asyncio ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        connection = transport.get_extra_info("socket")
        if connection is not None:
            self._hang_up = HangUpWatch(self._loop, self._abort, connection.fileno())
        # pause_writing() at the first pending byte, resume_writing() after the last.
        self._transport.set_write_buffer_limits(high=0)
        if self._on_made is not None:
            self._on_made(self)

    def data_received(self, data: bytes) -> None:
        if self._closed:
            return
        if self._on_data is not None and not self._early and not self._paused:
            self._on_data(data)
        else:
            self._early += data
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Return True, which keeps our direction open."""
        if self.on_half_close is None:
            return False
        self.on_half_close()
        return True

    def resume_writing(self) -> None:
        if self.on_drained is not None and not self._ended:
            self.on_drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._hang_up.stop()
        problem = self._describe(exc) if isinstance(exc, OSError) else self._end
        self._lost = self._lost or PortError(problem, reason=PortError.LOST, where=self.name)
        self._report()
        if not self._closes_later:
            self.closed()

    def closed(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)
            if self.on_closed is not None:
                self.on_closed()

    # --- states -----------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._early and self._on_data is not None and not self._paused and not self._closed:
            data = bytes(self._early)
            self._early.clear()
            self._on_data(data)
        if self._lost is not None:
            self._report()
        elif not self._paused and not self._ended:
            self._transport.resume_reading()

    def extra(self, name: str) -> Any:
        return self._transport.get_extra_info(name)

    def _abort(self) -> None:
        """Close without close(), which waits for a peer that may never read again."""
        if not self._ended:
            self.unsent = self.pending
            self._ended = True
            self._hang_up.stop()
            self._transport.abort()
