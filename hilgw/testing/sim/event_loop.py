"""An asyncio event loop that advances a Clock instead of waiting; and the wait for a condition."""

from __future__ import annotations

import asyncio
import gc
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hilgw.testing.sim.clock import Clock
from hilgw.units import NS_PER_S, s_to_ns

__tracebackhide__ = True  # a failure is shown in the test

T = TypeVar("T")
Condition = Callable[[], object]

DEADLINE_S = 10.0
POLL_S = 0.001
HANG_S = 10.0  # real time; only an error waits so long


class SimEventLoop(asyncio.SelectorEventLoop):
    """asyncio's own event loop in simulated time.

    Descriptors that are ready come first, then callbacks that are due; only when there is neither,
    the clock jumps to the next deadline of the event loop or of the clock. Bytes between two ends
    must arrive within one system call: socket pairs, Unix sockets, pipes (see local_sockets), not
    TCP. run_in_executor() calls the function at once. A wait that nothing can end fails.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = Clock() if clock is None else clock
        self._jumping = _JumpingSelector(self.clock)
        super().__init__(self._jumping)

    def time(self) -> float:
        return self.clock.time / NS_PER_S

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            future.set_exception(error)
        return future

    def until(self, condition: Condition, what: str = "", timeout_s: float = DEADLINE_S) -> None:
        """Runs the event loop until the condition is true. It is checked before each turn, so no
        time passes once it is. Raises AssertionError after `timeout_s` of simulated time."""
        late: list[bool] = []
        alarm = self.clock.call_at(self.clock.time + s_to_ns(timeout_s), lambda: late.append(True))

        def ends() -> bool:
            if late or condition():
                self.stop()
                return True
            return False

        self._jumping.ends = ends
        try:
            self.run_forever()
        finally:
            self._jumping.ends = None
            alarm.cancel()
        assert not late or condition(), _missed(what or condition, timeout_s)

    def advance(self, seconds: float) -> None:
        """Runs the event loop for so much simulated time."""
        ended: list[bool] = []
        self.clock.call_at(self.clock.time + s_to_ns(seconds), lambda: ended.append(True))
        self.until(lambda: ended, timeout_s=seconds + 1)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.ends: Callable[[], bool] | None = None  # asked before each turn
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        clock = self._clock
        if self.ends is not None and self.ends():
            return super().select(0)
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0) or clock.step(clock.time):
            return ready
        ends = [clock.next()]
        if timeout is not None:
            ends.append(clock.time + int(timeout * NS_PER_S) + 1)
        end = min((each for each in ends if each is not None), default=None)
        if end is None:  # only another thread can end this wait
            ready = super().select(HANG_S)
            assert ready, "nothing is ready, and nothing has a deadline"
            return ready
        clock.step(end)
        return []


def run(scenario: Callable[[], Coroutine[Any, Any, T]], clock: Clock | None = None) -> T:
    """The result of the coroutine, in a SimEventLoop of its own. An error that is reported to the
    event loop (a callback, a task without owner) raises AssertionError."""
    reports: list[dict[str, Any]] = []

    async def watched() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        return await scenario()

    with asyncio.Runner(loop_factory=lambda: SimEventLoop(clock)) as runner:
        result = runner.run(watched())
    gc.collect(1)
    assert not reports, f"the event loop reports {reports}"
    return result


async def elapse(seconds: float) -> None:
    """Simulated time passes. In any other event loop, where it would be a wait, an error."""
    assert isinstance(asyncio.get_running_loop(), SimEventLoop), "not in simulated time"
    await asyncio.sleep(seconds)


async def until(condition: Condition, timeout_s: float = DEADLINE_S, what: str = "") -> None:
    """Returns when the condition is true; polled each millisecond of the event loop's time. Raises
    AssertionError after `timeout_s`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while not condition():
        assert loop.time() < end, _missed(what or condition, timeout_s)
        await asyncio.sleep(POLL_S)


def wait_until(condition: Condition, what: str = "", timeout_s: float = DEADLINE_S) -> None:
    """The same in real time, for a condition that other threads or processes make true."""
    end = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, _missed(what or condition, timeout_s)
        pause.wait(POLL_S)


def _missed(what: object, timeout_s: float) -> str:
    return f"not within {timeout_s:g} s: {what}"
