"""Bytes over a non-blocking POSIX descriptor: the common data path of tty, pty and TCP."""

import asyncio
import os
import select
from collections.abc import Callable

from hilgw.errors import PortError
from hilgw.transports.base import LostHandler, ReadHandler, Transport

READ_BYTES = 65536
# A tty returns at most one page per read. After a read of this size, more data is likely waiting.
BULK_BYTES = 2048
WRITE_LIMIT_BYTES = 256 * 1024
CLOSE_DEADLINE_S = 2.0
# While reading is paused the event loop does not watch the descriptor: poll for a hang-up.
HANG_UP_PERIOD_S = 0.02
HIDDEN_END_LOOKS = 10
_PEER_ENDED = getattr(select, "POLLRDHUP", 0)  # Linux


class FdStream(Transport):
    """An open descriptor as a `hilgw.transports.base.Transport`.

    fd: non-blocking; the stream owns it from now on. limit: bytes that may wait in user space
    while the kernel accepts no more; a write that does not fit is refused as a whole.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        name: str,
        *,
        limit: int = WRITE_LIMIT_BYTES,
        end: str = "the device hung up",
        describe: "Callable[[OSError], str] | None" = None,
    ) -> None:
        super().__init__(name)
        self.read_bytes = READ_BYTES
        self._loop = loop
        self._fd = fd
        self._limit = limit
        self._end = end
        self._describe = describe or describe_loss
        self._rest = bytearray()
        self._reading = False
        self._paused = False
        self._ended = False  # the peer has ended its direction
        self._hang_up = HangUpWatch(loop, self._hung_up, fd)
        self._released = loop.create_future()

    @property
    def pending(self) -> int:
        return len(self._rest)

    @property
    def in_waiting(self) -> int:
        from hilgw.transports.serial import tty  # POSIX, as is every open stream of this class

        return tty.unread(self._fd) if self._fd >= 0 else 0

    @property
    def out_waiting(self) -> int:
        from hilgw.transports.serial import tty

        return tty.waiting(self._fd) if self._fd >= 0 else 0

    def fileno(self) -> int:
        return self._fd

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._on_lost = on_lost
        if self._lost is not None:
            self._loop.call_soon(self._report)
        else:
            self._watch()

    def write(self, data: bytes) -> None:
        rest = self._rest
        size = len(data)
        if size + len(rest) > self._limit:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        if rest:
            rest += data
            return
        try:
            sent = os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            if self._lost is not None:  # known and not reported yet: the reason
                raise self._lost from self._lost.__cause__
            raise self._write_failed(error) from error
        if sent < size:
            rest += memoryview(data)[sent:]
            self._loop.add_writer(self._fd, self._writable)

    def pause_reading(self) -> None:
        self._paused = True
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)
        self._watch()

    def resume_reading(self) -> None:
        self._paused = False
        self._watch()

    def take_unsent(self) -> bytes:
        if not self._rest:
            return b""
        rest, self._rest = self._rest, bytearray()
        self._loop.remove_writer(self._fd)
        return bytes(rest)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._release()

    async def wait_closed(self) -> None:
        await asyncio.wait([self._released], timeout=CLOSE_DEADLINE_S)

    # --- called by the event loop -----------------------------------------------------------------

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, self.read_bytes)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(self._describe(error), error)
            return
        if len(data) >= BULK_BYTES:
            data = self._read_on(data)
        if data:
            self._on_data(data)  # type: ignore[misc]  # set by start(), which adds the reader
        else:
            self._end_of_data()

    def _read_on(self, data: bytes) -> bytes:
        """Read the waiting pages: one call of on_data costs half of one call per page."""
        chunks = [data]
        size = len(data)
        try:
            while len(data) >= BULK_BYTES and size < self.read_bytes:
                data = os.read(self._fd, self.read_bytes - size)
                chunks.append(data)
                size += len(data)
        except OSError:
            pass  # nothing more for now; the next event reports a real error
        return b"".join(chunks)

    def _writable(self) -> None:
        rest = self._rest
        if self.flag[0]:
            self._fail("another process has ended it")
            return
        try:
            with memoryview(rest) as view:
                sent = os.write(self._fd, view[:READ_BYTES])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._write_failed(error)
            return
        del rest[:sent]
        if not rest:
            self._loop.remove_writer(self._fd)
            if self.on_drained is not None:
                self.on_drained()

    def _hung_up(self) -> None:
        self._fail(self._end)

    # --- states -----------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._on_data is None or self._ended or self._fd < 0:
            return
        if self._paused:
            self._hang_up.begin()
        elif not self._reading:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)
            self._hang_up.stop()

    def _end_of_data(self) -> None:
        if self.on_half_close is None:
            self._fail(self._end)
            return
        self._ended = True
        self._reading = False
        self._loop.remove_reader(self._fd)
        self.on_half_close()

    def _write_failed(self, error: OSError) -> PortError:
        return self._fail(self._describe(error), error)

    def _fail(self, problem: str, cause: OSError | None = None) -> PortError:
        """Mark the stream as ended by itself; the event loop calls on_lost later, never write()."""
        error = PortError(problem, reason=PortError.LOST, where=self.name)
        error.__cause__ = cause
        if self._fd >= 0:
            self._lost = error
            self._release()
            if self._on_lost is not None:
                self._loop.call_soon(self._report)
        return error

    def _release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        self._reading = False
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)
        self._hang_up.stop()
        self.unsent += len(self._rest)
        self._rest = bytearray()  # not cleared: a traceback may still hold a view of it
        self._close_descriptor(fd)

    def _close_descriptor(self, fd: int) -> None:
        """Close `fd` without blocking, then call `_closed_now`; real ttys override it."""
        try:
            os.close(fd)
        except OSError:
            pass  # the descriptor is closed in any case
        self._closed_now()

    def _closed_now(self) -> None:
        if not self._released.done():
            self._released.set_result(None)


class HangUpWatch:
    """Polls for a hang-up while reading is paused and the event loop would not report it.

    fd None, or a system without poll(): never reports one. report_end: called once when the peer
    of a socket has ended its direction, where poll() reports that (Linux); polling stops then,
    because a later reset does not remove what can still be read. ask_end: finds an end that poll()
    does not report, because unread bytes come before it; asked in each tenth look.

    A stream at full speed pauses thousands of times a second: stop() leaves the timer to ring for
    nothing, and the next begin() uses it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        report: Callable[[], None],
        fd: int | None,
    ) -> None:
        self.report_end: Callable[[], None] | None = None
        self.ask_end: Callable[[], bool] = lambda: False
        self._looks = 0
        self._loop = loop
        self._report = report
        self._fd = fd if hasattr(select, "poll") else None
        self._poll: Callable[[int], list[tuple[int, int]]] | None = None
        self._watching = False
        self._timer_runs = False
        self._end_reported = False

    def begin(self) -> None:
        if self._fd is None or self._end_reported:
            return
        self._watching = True
        if not self._timer_runs:
            self._timer_runs = True
            self._loop.call_later(HANG_UP_PERIOD_S, self._ring)

    def look_now(self) -> None:
        """Look now instead of waiting for the next look, if one is due."""
        if self._watching:
            self._look()

    def stop(self) -> None:
        self._watching = False

    def _ring(self) -> None:
        self._timer_runs = False
        self.look_now()

    def _look(self) -> None:
        self._watching = False
        if self._poll is None:
            poll = select.poll()
            poll.register(self._fd or 0, 0 if self.report_end is None else _PEER_ENDED)
            self._poll = poll.poll
        events = sum(event for _, event in self._poll(0))
        if events & ~_PEER_ENDED:
            self._report()
        elif self.report_end is not None and (events or self._hidden_end()):
            self._end_reported = True
            self.report_end()
        else:
            self.begin()

    def _hidden_end(self) -> bool:
        self._looks += 1
        return self._looks % HIDDEN_END_LOOKS == 0 and self.ask_end()


def describe_loss(error: OSError) -> str:
    """Return the text of a PortError for this error."""
    return f"the port was lost: {error.strerror or error}"
