"""An asyncio event loop that passes descriptors' events straight to their callbacks (Linux).

asyncio makes a queue entry, a context switch and a round of its scheduler out of each event,
which costs about as much as reading and writing a packet. Here the callbacks of `add_reader` and
`add_writer` are called where the event is found, and the rest of the event loop runs only when it
has something to do: a timer, a task, a signal, another thread.
"""

import asyncio
import functools
import select
import selectors
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol, TypeVarTuple

ASKS = 100  # before it sleeps although an event is expected: some 40 microseconds

_READ = select.EPOLLIN
_WRITE = select.EPOLLOUT
_ROUND = 2  # true, and not True
_Table = dict[int, Callable[[], Any]]
Events = list[tuple[int, int]]
Poll = Callable[[float | None], Events]
Ready = list[tuple[selectors.SelectorKey, int]]
_Ts = TypeVarTuple("_Ts")


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


class DirectSelector(selectors.EpollSelector):
    """asyncio's selector, which serves the descriptors in its two tables by itself.

    wanted: since select() began, the event loop got something to do; `_ROUND` where that is only
    what waits for the end of a round, of descriptors that were ready together. asks: how often it
    asks for events before it sleeps, the next time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wanted: bool | int = False
        self.after_round: list[Callable[[], object]] = []
        self.asks = 0
        self.readers: _Table = {}
        self.writers: _Table = {}
        self.on_fault: Callable[[Exception, object], None] = lambda error, callback: None
        self.call_soon: Callable[..., object] = lambda callback, *args: callback(*args)
        self._direct = select.epoll()
        # asyncio's own descriptors are in another epoll, which is itself a descriptor.
        self._others_ready = False
        self.serve(self.readers, self.fileno(), self._others_are_ready)

    def close(self) -> None:
        self._direct.close()
        super().close()

    def select(self, timeout: float | None = None) -> Ready:
        poll = self.begin()
        if self.after_round and not self.goes_on():
            timeout = 0
        end = None if timeout is None else time.monotonic() + timeout
        reader_of, writer_of = self.readers.get, self.writers.get
        while True:
            # As `dispatch` does, without a call for each event.
            for fd, event in self._asked(poll) or poll(timeout) if self.asks else poll(timeout):
                callback = reader_of(fd) if event & ~_WRITE else None
                try:
                    if callback is not None:
                        callback()
                    if event & ~_READ and (callback := writer_of(fd)) is not None:
                        callback()
                except Exception as error:  # noqa: BLE001 - the others must run
                    self.on_fault(error, callback)
            if self.wanted and not (self.after_round and self.goes_on()):
                return self.others()
            if end is not None:
                timeout = end - time.monotonic()
                if timeout <= 0:
                    return []

    def begin(self) -> Poll:
        """Begin a select(); return what waits for descriptors, for `dispatch`."""
        self.wanted = self._others_ready = False
        return self._direct.poll

    def goes_on(self) -> bool:
        """End a round: call what waits for that. False: the event loop has more to do."""
        if self.wanted is _ROUND:
            self.wanted = False
        callbacks, self.after_round = self.after_round, []
        for callback in callbacks:
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - the others must run
                self.on_fault(error, callback)
        if self.after_round:
            self.wanted = True
        return not self.wanted

    def _asked(self, poll: Poll) -> Events:
        asks, self.asks = self.asks, 0
        for _ in range(asks):
            if events := poll(0):
                return events
        return []

    def dispatch(self, events: Events) -> None:
        """Call the callbacks of these descriptors."""
        for fd, event in events:
            # An error or a hang-up goes to both callbacks. Either may have been removed by now.
            callback = self.readers.get(fd) if event & ~_WRITE else None
            try:
                if callback is not None:
                    callback()
                if event & ~_READ and (callback := self.writers.get(fd)) is not None:
                    callback()
            except Exception as error:  # noqa: BLE001 - the others must run
                self.on_fault(error, callback)

    def others(self) -> Ready:
        """End a select(): return what is ready for asyncio itself."""
        return super().select(0) if self._others_ready else []

    def serve(self, table: _Table, fd: int, callback: Callable[[], Any]) -> None:
        was = self._mask(fd)
        table[fd] = callback
        now = self._mask(fd)
        if not was:
            self._direct.register(fd, now)
        elif now != was:
            self._direct.modify(fd, now)

    def leave(self, table: _Table, fd: int) -> bool:
        if table.pop(fd, None) is None:
            return False
        mask = self._mask(fd)
        try:
            if mask:
                self._direct.modify(fd, mask)
            else:
                self._direct.unregister(fd)
        except OSError:
            pass  # a closed descriptor has left the epoll already
        return True

    def _mask(self, fd: int) -> int:
        return (_READ if fd in self.readers else 0) | (_WRITE if fd in self.writers else 0)

    def _others_are_ready(self) -> None:
        self.wanted = self._others_ready = True


class DirectLoop(asyncio.SelectorEventLoop):
    """The event loop of the module, in all other respects asyncio's own.

    expect_event: see `hilgw.engine.timing.event_expectation`.
    """

    def __init__(self, selector: DirectSelector | None = None) -> None:
        self._serving = DirectSelector() if selector is None else selector
        self._serving.on_fault = self._report_fault
        self._serving.call_soon = self.call_soon
        super().__init__(self._serving)

    def call_after_round(self, callback: Callable[[], object]) -> None:
        """Call it as call_soon does, but sooner and cheaper.

        After the callbacks of the descriptors that are ready now, without a turn of the event loop.
        """
        self._serving.after_round.append(callback)
        self._serving.wanted = self._serving.wanted or _ROUND

    def expect_event(self) -> None:
        self._serving.asks = ASKS

    def add_reader(
        self, fd: int | _HasFileno, callback: Callable[[*_Ts], Any], *args: *_Ts
    ) -> None:
        self._serving.serve(self._serving.readers, _number(fd), _bound(callback, args))

    def add_writer(
        self, fd: int | _HasFileno, callback: Callable[[*_Ts], Any], *args: *_Ts
    ) -> None:
        self._serving.serve(self._serving.writers, _number(fd), _bound(callback, args))

    def remove_reader(self, fd: int | _HasFileno) -> bool:
        # asyncio adds its own descriptors by other methods, but removes them by this one.
        return self._serving.leave(self._serving.readers, _number(fd)) or super().remove_reader(fd)

    def remove_writer(self, fd: int | _HasFileno) -> bool:
        return self._serving.leave(self._serving.writers, _number(fd)) or super().remove_writer(fd)

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self._serving.wanted = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self._serving.wanted = True
        return super().call_at(when, callback, *args, context=context)

    def _report_fault(self, error: Exception, callback: object) -> None:
        self.call_exception_handler({"message": f"{callback!r} failed", "exception": error})


def _number(fd: int | _HasFileno) -> int:
    return fd if isinstance(fd, int) else fd.fileno()


def _bound(callback: Callable[[*_Ts], Any], args: tuple[*_Ts]) -> Callable[[], Any]:
    return functools.partial(callback, *args) if args else callback
