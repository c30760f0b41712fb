"""Virtual time: an asyncio loop that jumps to its next deadline when nothing is ready, and sockets
that carry bytes within one system call. Nothing in here knows hilgw."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

SECOND_NS = 1_000_000_000
HANG_S = 10.0  # real time; only an error waits so long


class VirtualTime:
    """A clock that moves only when nobody has anything to do; also the one who wakes people.

    It has the shape of the gateway's timer: now, call_at, close. In other threads (the one that
    looks whether the loop hangs) it is always 0, or they would race with its jumps.
    """

    def __init__(self) -> None:
        self.ns = SECOND_NS
        self._owner = threading.get_ident()
        self._heap: list[tuple[int, int, _Alarm]] = []
        self._order = itertools.count()

    def now(self) -> int:
        return self.ns if threading.get_ident() == self._owner else 0

    def call_at(self, when: int, callback: Callable[[], None]) -> _Alarm:
        alarm = _Alarm(callback)
        heapq.heappush(self._heap, (when, next(self._order), alarm))
        return alarm

    def close(self) -> None:
        self._heap.clear()

    def next(self) -> int | None:
        while self._heap and self._heap[0][2].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def ring(self) -> bool:
        """Runs the first callback that is due; whether there was one."""
        when = self.next()
        if when is None or when > self.ns:
            return False
        alarm = heapq.heappop(self._heap)[2]
        callback, alarm.callback = alarm.callback, None
        if callback is not None:
            callback()
        return True


class _Alarm:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class _Selector(selectors.DefaultSelector):
    """Descriptors first; then one alarm that is due; only when there is neither, time passes."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0) or self._time.ring():
            return ready
        ends = [self._time.next()]
        if timeout is not None:
            ends.append(self._time.ns + int(timeout * SECOND_NS) + 1)
        end = min((each for each in ends if each is not None), default=None)
        if end is None:  # somebody in another thread, or nobody ever
            ready = super().select(HANG_S)
            assert ready, "nothing is ready, and nobody waits for a time"
            return ready
        self._time.ns = max(self._time.ns, end)
        self._time.ring()
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, on a VirtualTime."""

    def __init__(self, time: VirtualTime) -> None:
        self._virtual = time
        super().__init__(_Selector(time))

    def time(self) -> float:
        return self._virtual.ns / SECOND_NS

    def run_in_executor(
        self, executor: Any, function: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Here and now (asyncio looks up addresses by it): no thread races with the clock."""
        future = self.create_future()
        try:
            future.set_result(function(*args))
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            future.set_exception(error)
        return future


class LocalSocket(socket.socket):
    """What asks for TCP gets a Unix socket: what is written is there at once, ports are nobody
    else's, and whoever connects has the number that comes next."""

    prefix = ""
    numbers = itertools.count(50_001)
    _address: tuple[str, int] | None = None

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        if fileno is None and family in (socket.AF_INET, socket.AF_INET6):
            assert type == socket.SOCK_STREAM, "only TCP is virtual"
            family, proto = socket.AF_UNIX, 0
        super().__init__(family, type, proto, fileno)

    def setsockopt(self, level: int, *rest: Any) -> None:
        if level != socket.IPPROTO_TCP:
            super().setsockopt(level, *rest)

    def bind(self, address: Any) -> None:
        if isinstance(address, tuple):
            self._address = (address[0], address[1] or next(LocalSocket.numbers))
            address = self._path(self._address[1])
        super().bind(address)

    def connect(self, address: Any) -> None:
        super().connect(self._path(address[1]) if isinstance(address, tuple) else address)

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        if self._address is not None:
            address = ("127.0.0.1", next(LocalSocket.numbers))
        return connection, address

    def getsockname(self) -> Any:
        return self._address or super().getsockname()

    def _path(self, port: int) -> str:
        return f"\0{LocalSocket.prefix}:{port}"


_worlds = itertools.count(1)


@contextlib.contextmanager
def local_sockets() -> Iterator[None]:
    """All TCP of this process, until the end, in a network of its own."""
    LocalSocket.prefix = f"hilgw-golden-{os.getpid()}-{next(_worlds)}"
    LocalSocket.numbers = itertools.count(50_001)
    with mock.patch.object(socket, "socket", LocalSocket):
        yield
