"""An asyncio event loop in simulated time: it advances a clock where others wait."""

import asyncio
import selectors
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.simulated.pace import Factor, Holds, Jumps, SimulatedClock
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_S, s_to_ns

T = TypeVar("T")
Ready = list[tuple[selectors.SelectorKey, int]]


class JumpingSelector(selectors.DefaultSelector):
    """A selector that jumps.

    Descriptors that are ready come first, then callbacks that are due; only when there is
    neither, the clock jumps to the next deadline, as soon as the pace allows it.
    """

    def __init__(self, jumps: Jumps) -> None:
        super().__init__()
        self.jumps = jumps

    def advance(self, end: int) -> bool:
        """Set simulated time to `end` at once, where nothing else could happen before.

        A descriptor's callback calls it. Returns whether it did: this selector never does.
        """
        return False

    def select(self, timeout: float | None = None) -> Ready:
        jumps = self.jumps
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        end, wait_s = jumps.next(jumps.over(timeout))
        if wait_s == 0:
            jumps.jump(end)
        elif ready := self.wait(wait_s):
            jumps.interrupted(end)
        else:
            jumps.pace.waited()
        return ready

    def wait(self, wait_s: float | None) -> Ready:
        """Wait for an event from outside. None: nothing else ends this wait."""
        return super().select(wait_s)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """asyncio's own event loop on a SimulatedClock; so sleep() and timeouts are in simulated time.

    Bytes between two ends in this process must arrive within one system call: socket pairs, Unix
    sockets, pipes, not TCP. run_in_executor() calls the function at once, so that simulated time
    never depends on threads.
    """

    def __init__(self, clock: SimulatedClock, selector: Any) -> None:
        self.clock = clock
        super().__init__(selector)

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


if sys.platform == "linux":
    from hilgw.engine.event_loop.direct_loop import DirectLoop as _ServingLoop
    from hilgw.engine.simulated.direct import DirectJumpingSelector as _Selector
else:
    _ServingLoop, _Selector = asyncio.SelectorEventLoop, JumpingSelector


class PacedLoop(SimulatedLoop, _ServingLoop):
    """The event loop of a gateway at another speed than real time. speed: a factor, or "max".

    holds: where controllers hold simulated time; of effect at "max" only. advance: see
    `JumpingSelector.advance`. real_timer: deadlines of other processes, in real time. A callback of
    the clock that raises is reported to the exception handler; the others run.
    """

    def __init__(self, speed: float | str) -> None:
        self.speed = speed
        self.holds = Holds()
        clock = SimulatedClock()
        jumps = Jumps(clock, Factor(speed) if isinstance(speed, float | int) else self.holds)
        jumps.on_fault = self._report_jump
        selector = _Selector(jumps)
        self.advance = selector.advance
        super().__init__(clock, selector)
        self.real_timer = Timer(self)

    def close(self) -> None:
        if not self.is_closed():
            self.real_timer.close()
        super().close()

    def _report_jump(self, error: Exception) -> None:
        self.call_exception_handler({"message": "a timer callback failed", "exception": error})


class _LoopTime:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> int:
        return s_to_ns(self._loop.time())

    def call_at(self, when: int, callback: Callable[[], None]) -> Handle:
        return self._loop.call_at(when / NS_PER_S, callback)


def _real_timer(loop: asyncio.AbstractEventLoop) -> Scheduler:
    """Return the timer for deadlines of other processes.

    In real time, or what is real time to this event loop.
    """
    return loop.real_timer if isinstance(loop, PacedLoop) else _LoopTime(loop)


def call_in_real_time(
    loop: asyncio.AbstractEventLoop, delay_s: float, callback: Callable[[], None]
) -> Handle:
    """Do as call_later() for what another process does, also where the loop's time is simulated."""
    timer = _real_timer(loop)
    return timer.call_at(timer.now() + s_to_ns(delay_s), callback)


def real_time(loop: asyncio.AbstractEventLoop) -> float:
    """Return the time of the clock of call_in_real_time(), in seconds."""
    return _real_timer(loop).now() / NS_PER_S


async def sleep_in_real_time(delay_s: float) -> None:
    """Sleep in real time, also where the loop's time is simulated."""
    over = asyncio.Event()
    deadline = call_in_real_time(asyncio.get_running_loop(), delay_s, over.set)
    try:
        await over.wait()
    finally:
        deadline.cancel()


async def in_real_time(awaitable: Awaitable[T], timeout_s: float) -> T:
    """Return the result of what another process does.

    TimeoutError when it takes longer, in real time also where that of the event loop is simulated.
    """
    loop = asyncio.get_running_loop()
    timer = _real_timer(loop)
    async with asyncio.timeout(None) as patience:
        end = timer.now() + s_to_ns(timeout_s)
        deadline = timer.call_at(end, lambda: patience.reschedule(loop.time()))
        try:
            return await awaitable
        finally:
            deadline.cancel()
