"""Bytes over a port without a descriptor (loop://, rfc2217://): a thread for each direction."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Protocol

from hilgw.errors import PortError
from hilgw.transports import threads
from hilgw.transports.base import LostHandler, ReadHandler, Transport
from hilgw.transports.stream import CLOSE_DEADLINE_S, READ_BYTES, WRITE_LIMIT_BYTES

WRITE_CHUNK_BYTES = 4096
TURN_BYTES = 1024  # given to on_data at a time; other ports have their turn in between


class BlockingPort(Protocol):
    """The methods of pyserial's port that are used here. read() returns after a short timeout."""

    @property
    def in_waiting(self) -> int: ...

    def read(self, size: int = ..., /) -> bytes: ...

    def write(self, data: bytes, /) -> int | None: ...

    def close(self) -> None: ...


class ThreadedStream(Transport):
    """A blocking port as a `hilgw.transports.base.Transport`. Bounded in both directions: the
    reader waits until the event loop takes its bytes, and a write that does not fit is refused."""

    def __init__(self, port: BlockingPort, name: str, *, limit: int = WRITE_LIMIT_BYTES) -> None:
        super().__init__(name)
        self._loop = asyncio.get_running_loop()
        self._port = port
        self._limit = limit
        self._lock = threading.Condition()  # protects the fields below; both threads wait on it
        self._out = bytearray()
        self._writing = 0  # the first bytes of _out, which a thread is writing
        self._in = bytearray()
        self._reading = False
        self._stopping = False
        self._gone = self._loop.create_future()
        self._threads = 3  # reader, writer, and at the end the thread that closes
        threads.start_thread(self._read)
        threads.start_thread(self._write)

    @property
    def pending(self) -> int:
        return len(self._out)

    @property
    def in_waiting(self) -> int:
        return len(self._in)

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._on_lost = on_lost
        self.resume_reading()
        if self._lost is not None:
            self._loop.call_soon(self._report)

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._stopping:
                raise PortError("the port was lost", reason=PortError.LOST, where=self.name)
            if len(self._out) + len(data) > self._limit:
                raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
            self._out += data
            self._lock.notify_all()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = self._on_data is not None
        self._loop.call_soon(self._hand_over)

    def take_unsent(self) -> bytes:
        """All but the chunk that a thread is writing."""
        with self._lock:
            rest = bytes(self._out[self._writing :])
            del self._out[self._writing :]
        return rest

    def discard_received(self) -> int:
        with self._lock:
            size = len(self._in)
            self._in.clear()
            self._lock.notify_all()
        return size

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._stop()

    async def wait_closed(self) -> None:
        await asyncio.wait([self._gone], timeout=CLOSE_DEADLINE_S)

    # --- in the event loop ------------------------------------------------------------------------

    def _hand_over(self) -> None:
        if not self._reading or self._closed or self._on_data is None:
            return
        with self._lock:
            data = bytes(self._in[:TURN_BYTES])
            del self._in[:TURN_BYTES]
            if self._in:
                self._loop.call_soon(self._hand_over)
            self._lock.notify_all()
        if data:
            self._on_data(data)

    def _drained(self) -> None:
        if self.on_drained is not None and not self._closed and not self._out:
            self.on_drained()

    def _fail(self, what: str) -> None:
        if self._lost is None:
            while self._in and self._reading:
                self._hand_over()
            self._lost = PortError(what, reason=PortError.LOST, where=self.name)
            self._stop()
            self._report()

    def _stop(self) -> None:
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
            self.unsent = len(self._out)
            self._out.clear()
            self._in.clear()
            self._lock.notify_all()
        threads.start_thread(self._close_port)  # this unblocks a thread that is blocked in the port

    def _thread_ended(self) -> None:
        self._threads -= 1
        if not self._threads and not self._gone.done():
            self._gone.set_result(None)

    # --- in the threads ---------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while not self._stopping:
                data = self._port.read(1)
                if data:
                    data += self._port.read(min(self._port.in_waiting, READ_BYTES))
                    self._take_in(data)
        except Exception as error:  # noqa: BLE001 - pyserial raises many types here
            self._post(functools.partial(self._fail, f"the port was lost: {error}"))
        finally:
            self._post(self._thread_ended)

    def _take_in(self, data: bytes) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._stopping or len(self._in) < READ_BYTES)
            idle = not self._in
            self._in += data
        if idle:
            self._post(self._hand_over)

    def _write(self) -> None:
        try:
            while True:
                with self._lock:
                    self._lock.wait_for(lambda: self._stopping or bool(self._out))
                    if self._stopping:
                        return
                    data = bytes(self._out[:WRITE_CHUNK_BYTES])
                    self._writing = len(data)
                self._port.write(data)
                with self._lock:
                    del self._out[: len(data)]
                    self._writing = 0
                    drained = not self._out
                if drained:
                    self._post(self._drained)
        except Exception as error:  # noqa: BLE001 - pyserial raises many types here
            self._post(functools.partial(self._fail, f"the port was lost: {error}"))
        finally:
            self._post(self._thread_ended)

    def _close_port(self) -> None:
        try:
            self._port.close()
        except Exception:  # noqa: BLE001 - pyserial raises many types here
            pass  # nothing more can be done
        finally:
            self._post(self._thread_ended)

    def _post(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            pass  # the event loop is closed: nothing waits any more
