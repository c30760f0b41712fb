"""An asyncio loop in a thread, for tests that are not written for asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hilgw.engine.timer import Timer
from hilgw.errors import HilgwError, PeerError

__tracebackhide__ = True  # a failure is shown in the test

T = TypeVar("T")

CALL_S = 30.0


class LoopThread:
    """Runs until close(). errors: what callbacks in the loop raised."""

    def __init__(self) -> None:
        self.errors: list[BaseException | str] = []
        self._started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="hilgw-test", daemon=True
        )
        self._thread.start()
        self._started.wait(CALL_S)

    async def _run(self) -> None:
        self.loop = loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _, report: self.errors.append(report.get("exception") or report["message"])
        )
        self._stop = asyncio.Event()
        self.timer = Timer(loop)
        self._started.set()
        try:
            await self._stop.wait()
        finally:
            self.timer.close()

    def call(self, function: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """`function` run in the loop; its result, or what it raises."""

        async def run() -> T:
            return function(*arguments, **more)

        return self.run(run())

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float = CALL_S) -> T:
        """The coroutine run in the loop; PeerError when it takes too long."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            if future.cancel():
                raise PeerError(f"took longer than {timeout_s:g} s") from None
            raise  # the coroutine's own

    def close(self) -> None:
        """Ends the loop and the thread. HilgwError when something failed in the background."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(CALL_S)
        if self.errors:
            first = self.errors[0]
            cause = first if isinstance(first, BaseException) else None
            raise HilgwError(f"failed in the background: {first!r:.300}") from cause
