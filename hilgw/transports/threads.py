"""Calls that may block, in daemon threads with a deadline, outside the event loop.

The executor of the event loop is joined at exit: a driver call that never returns would keep the
program from ending.
"""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


async def run_in_thread(
    function: Callable[[], T], *, deadline_s: float, undo: Callable[[T], None]
) -> T:
    """Return the result of `function`; raises TimeoutError after `deadline_s`.

    A late result (after the deadline, cancellation or the end of the event loop) goes to `undo`,
    also in a thread, so that nothing stays open.
    """
    call = _Call(function, undo, asyncio.get_running_loop())
    threading.Thread(target=call.run, name="hilgw-call", daemon=True).start()
    try:
        async with asyncio.timeout(deadline_s):
            return await call.future
    except BaseException:
        call.abandon()
        raise


def start_thread(function: Callable[[], None]) -> threading.Thread:
    """Run `function` in a thread; its result is ignored."""
    thread = threading.Thread(target=function, name="hilgw-call", daemon=True)
    thread.start()
    return thread


class _Call(Generic[T]):
    def __init__(
        self,
        function: Callable[[], T],
        undo: Callable[[T], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.future: asyncio.Future[T] = loop.create_future()
        self._function = function
        self._undo = undo
        self._loop = loop
        self._lock = threading.Lock()
        self._abandoned = False
        self._result: list[T] = []  # from the end of the thread until the waiter takes it

    def run(self) -> None:
        try:
            result = self._function()
        except Exception as error:  # noqa: BLE001 - raised again where the call is awaited
            self._post(functools.partial(self._refuse, error))
            return
        with self._lock:
            abandoned = self._abandoned
            if not abandoned:
                self._result.append(result)
        if abandoned or not self._post(self._accept):
            self._undo(result)

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            results, self._result = self._result, []
        for result in results:
            start_thread(functools.partial(self._undo, result))

    def _post(self, function: Callable[[], None]) -> bool:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # the event loop is closed
            return False
        return True

    def _accept(self) -> None:
        with self._lock:
            results, self._result = self._result, []
        for result in results:
            if self.future.done():
                start_thread(functools.partial(self._undo, result))
            else:
                self.future.set_result(result)

    def _refuse(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)
