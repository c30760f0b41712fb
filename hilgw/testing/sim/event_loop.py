"""An asyncio event loop that advances a Clock instead of waiting; and the wait for a condition.

The Clock is a scheduler whose time advances only when a test advances it.
"""

import asyncio
import contextlib
import gc
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar
from unittest import mock

from hilgw.engine.simulated.event_loop import JumpingSelector, Ready, SimulatedLoop
from hilgw.engine.simulated.pace import Holds, Jumps, SimulatedClock
from hilgw.units import NS_PER_S, s_to_ns

__tracebackhide__ = True  # a failure is shown in the test

T = TypeVar("T")
Condition = Callable[[], object]

DEADLINE_S = 60.0  # generous: a busy machine makes a test slow, never red
POLL_S = 0.001
POLL_OTHERS_S = 0.005  # each look may read a file
HANG_S = 10.0  # real time; only an error waits this long


CALLS_AT_ONCE = 20_000  # more calls at one instant than this: time does not advance


class StuckError(AssertionError):
    """The callbacks at one instant do not end: each of them asks for another one at once."""


class Clock(SimulatedClock):
    """The clock of simulated runs, with what tests ask of it beyond.

    Callbacks run inside step(), run_until() and run(). A test that adds to `time` itself simulates
    a program that did not run meanwhile: what became due runs late. fired: how many callbacks ran.

    In other threads than the one that created the clock, now() is 0: a thread that compares times
    (a watchdog) does not race with the jumps of the test.
    """

    def __init__(self, time_ns: int = NS_PER_S) -> None:
        super().__init__(time_ns)
        self.fired = 0
        self._owner = threading.get_ident()
        self._at_once = 0

    def now(self) -> int:
        return self.time if threading.get_ident() == self._owner else 0

    def step(self, end: int, late_ns: int = 0) -> bool:
        """Run the first callback that is due by `end`, `late_ns` after its time.

        Returns:
            Whether there was one. If not, the time is `end`.

        Raises:
            StuckError: The scenario does not proceed.
        """
        when = self.next()
        if when is None or when + late_ns > end:
            self.time = max(self.time, end)
            return False
        self._at_once = 0 if when + late_ns > self.time else self._at_once + 1
        if self._at_once >= CALLS_AT_ONCE:
            raise StuckError(f"{CALLS_AT_ONCE} deadlines at one instant")
        self.fired += 1
        self.time = max(self.time, when + late_ns)
        return super().step(when)

    def run_until(self, when: int, late_ns: int = 0) -> None:
        """Advance the time to `when`; each callback runs `late_ns` after its time."""
        while self.step(when, late_ns):
            pass

    def run(self, duration_ns: int, late_ns: int = 0) -> None:
        """Advance the time by this many nanoseconds."""
        self.run_until(self.time + duration_ns, late_ns)


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
        """Run the event loop until the condition is true.

        It is checked before each turn, so no time passes once it is. Raises AssertionError after
        `timeout_s` of simulated time.
        """
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
        """Run the event loop for this much simulated time."""
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
    """Return the result of the coroutine, in a SimEventLoop of its own.

    An error that is reported to the event loop (a callback, a task without owner) raises
    AssertionError.
    """
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
    """Let simulated time pass; fail in any other event loop, where it would be a wait."""
    assert isinstance(asyncio.get_running_loop(), SimulatedLoop), "not in simulated time"
    await asyncio.sleep(seconds)


async def until(condition: Condition, timeout_s: float = DEADLINE_S, what: str = "") -> None:
    """Return when the condition is true; it is polled each millisecond of the event loop's time.

    Raises AssertionError after `timeout_s`.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while not condition():
        assert loop.time() < end, _missed(what or condition, timeout_s)
        await asyncio.sleep(POLL_S)


def wait_until(condition: Condition, what: str = "", timeout_s: float = DEADLINE_S) -> None:
    """Wait in real time, for a condition that other threads or processes make true."""
    end = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, _missed(what or condition, timeout_s)
        pause.wait(POLL_OTHERS_S)


def _missed(subject: object, timeout_s: float) -> str:
    return f"not within {timeout_s:g} s: {subject}"


# --- TCP inside one process, without the delays of the network of the kernel ----------------------

FIRST_PORT = 50_001
_networks = itertools.count(1)


class LocalSocket(socket.socket):
    """A TCP socket that is a Unix socket.

    What is written is there at once, each network has port numbers of its own, and port 0 and each
    client get the next number.
    """

    prefix = ""
    numbers = itertools.count(FIRST_PORT)
    _address: tuple[str, int] | None = None

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        if fileno is None and family in (socket.AF_INET, socket.AF_INET6, -1):
            assert type in (socket.SOCK_STREAM, -1), "only TCP is virtual"
            family, type, proto = socket.AF_UNIX, socket.SOCK_STREAM, 0
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


@contextlib.contextmanager
def local_sockets() -> Iterator[None]:
    """Put all new TCP sockets of this process, until the end, into a network of their own.

    Not in this network: UDP, TCP options, resets.
    """
    LocalSocket.prefix = f"hilgw-sim-{os.getpid()}-{next(_networks)}"
    LocalSocket.numbers = itertools.count(FIRST_PORT)
    with mock.patch.object(socket, "socket", LocalSocket):
        yield
