"""An asyncio event loop that advances a Clock instead of waiting; and the wait for a condition."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hilgw.engine.simulated.event_loop import JumpingSelector, Ready, SimulatedLoop
from hilgw.engine.simulated.pace import Holds, Jumps
from hilgw.testing.sim.clock import Clock
from hilgw.units import s_to_ns

__tracebackhide__ = True  # a failure is shown in the test

T = TypeVar("T")
Condition = Callable[[], object]

DEADLINE_S = 60.0  # generous: a busy machine makes a test slow, never red
POLL_S = 0.001
POLL_OTHERS_S = 0.005  # each look may read a file
HANG_S = 10.0  # real time; only an error waits so long


class SimEventLoop(SimulatedLoop):
    """asyncio's own event loop in simulated time, as gateways have it at `speed: max`.

    Bytes between two ends must arrive within one system call: socket pairs, Unix sockets, pipes
    (see local_sockets), not TCP. A callback that raises fails the run, and so does a wait that
    nothing can end.
    """

    clock: Clock

    def __init__(self, clock: Clock | None = None) -> None:
        clock = Clock() if clock is None else clock
        self._turns = _StoppingSelector(clock)
        super().__init__(clock, self._turns)

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

        self._turns.ends = ends
        try:
            self.run_forever()
        finally:
            self._turns.ends = None
            alarm.cancel()
        assert not late or condition(), _missed(what or condition, timeout_s)

    def advance(self, seconds: float) -> None:
        """Runs the event loop for so much simulated time."""
        ended: list[bool] = []
        self.clock.call_at(self.clock.time + s_to_ns(seconds), lambda: ended.append(True))
        self.until(lambda: ended, timeout_s=seconds + 1)


class _StoppingSelector(JumpingSelector):
    def __init__(self, clock: Clock) -> None:
        super().__init__(Jumps(clock, Holds()))
        self.ends: Callable[[], bool] | None = None  # asked before each turn

    def select(self, timeout: float | None = None) -> Ready:
        ends = self.ends is not None and self.ends()
        return super().select(0 if ends else timeout)

    def wait(self, wait_s: float | None) -> Ready:
        ready = super().wait(HANG_S if wait_s is None else wait_s)
        assert ready or wait_s is not None, "nothing is ready, and nothing has a deadline"
        return ready


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
    assert isinstance(asyncio.get_running_loop(), SimulatedLoop), "not in simulated time"
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
        pause.wait(POLL_OTHERS_S)


def _missed(what: object, timeout_s: float) -> str:
    return f"not within {timeout_s:g} s: {what}"
