"""Samples of Zenoh's threads for the event loop: in order, from a bounded queue."""

import asyncio
import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

MOST_ITEMS, MOST_CHANGES, MOST_BYTES = 16_384, 1 << 18, 16 << 20
TURN_ITEMS = 64  # that one turn of the event loop handles
MANY_ITEMS, PAUSE_S = 24, 0.001  # of a turn after which the event loop waits for more of them

Arrival = tuple[int, Callable[..., None], tuple[Any, ...]]


class Inbox:
    """Queue of what arrives. lost: items that found the queue full.

    A descriptor of its own wakes the event loop, without a turn of asyncio's selector, which
    `call_soon_threadsafe` costs.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.lost = 0
        self._loop = loop
        self._lock = threading.Lock()
        self._arrived: list[Arrival] = []
        self._pending: deque[Arrival] = deque()  # taken by the event loop
        self._is_awaited = False  # `_handle` will be called
        self._known_threads: set[int] = set()
        self._items = self._bytes = 0  # not handled yet
        self._read, self._write = os.pipe()
        self._is_open = True
        loop.add_reader(self._read, self._woken)

    def put(self, size: int, handler: Callable[..., None], given: tuple[Any, ...]) -> None:
        """Queue an arrival: a call of this handler; called in a thread of Zenoh.

        The size 0 is that of a change that comes once, for which there is more room.
        """
        if threading.get_ident() not in self._known_threads:
            self._keep_thread()
        most = MOST_ITEMS if size else MOST_CHANGES
        with self._lock:
            if self._items >= most or self._bytes + size > MOST_BYTES:
                self.lost += 1
                return
            self._items += 1
            self._bytes += size
            self._arrived.append((size, handler, given))
            if self._is_open and not self._is_awaited:
                os.write(self._write, b"!")
            self._is_awaited = True

    def _keep_thread(self) -> None:
        """Keep Python's state of a thread that it did not start.

        Python would make it anew for each call, and unmap the stack after it: twice the cost of the
        rest of `put`. An extra count keeps the state, and the thread lives as long as the
        process.
        """
        self._known_threads.add(threading.get_ident())
        ctypes.pythonapi.PyGILState_Ensure()

    def _woken(self) -> None:
        os.read(self._read, 1)
        self._handle()

    def _handle(self) -> None:
        """Handle arrivals in a turn of the event loop, and pause after many.

        Zenoh's thread cannot bring more than one while the event loop runs, and each one then costs
        as much as many do.
        """
        pending = self._pending
        with self._lock:
            arrived, self._arrived = self._arrived, []
        pending.extend(arrived)
        items, total = min(len(pending), TURN_ITEMS), 0
        for _ in range(items):
            size, handler, given = pending.popleft()
            total += size
            try:
                handler(*given)
            except Exception as error:  # noqa: BLE001 - the next ones are handled
                report = {"message": "a sample of the federation failed", "exception": error}
                self._loop.call_exception_handler(report)
        pauses = items >= MANY_ITEMS and not pending
        with self._lock:
            self._items -= items
            self._bytes -= total
            goes_on = self._is_awaited = pauses or bool(pending or self._arrived)
        if pauses:
            self._loop.call_later(PAUSE_S, self._handle)
        elif goes_on:
            self._loop.call_soon(self._handle)

    def close(self) -> None:
        """Handle nothing that arrives from now on."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
        if was_open:
            self._loop.remove_reader(self._read)
            os.close(self._read)
            os.close(self._write)
