"""Pace of simulated time.

A number of times as fast as real time, or as fast as the machine can; and the speed that was
achieved. `Jumps`: when the clock may jump, and how far.
"""

import heapq
import time
from collections.abc import Callable
from typing import Any, Protocol

from hilgw.engine.event_loop.scheduler import Deadlines
from hilgw.units import NS_PER_MS, NS_PER_S, ns_to_s


class SimulatedClock(Deadlines):
    """A `hilgw.transports.base.Scheduler`, with the close() of `hilgw.engine.event_loop.scheduler`.

    time: integer nanoseconds; it always begins at the same value, so that two runs are equal to the
    nanosecond. It advances in step() only: callbacks run exactly at their times, in the order of
    their times and, at equal times, of their calls.
    """

    def __init__(self, time_ns: int = NS_PER_S) -> None:
        super().__init__()
        self.time = time_ns

    def now(self) -> int:
        return self.time

    def next(self) -> int | None:
        """Return the time of the first callback that waits; None: there is none."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._void -= 1
        return heap[0][0] if heap else None

    def step(self, end: int) -> bool:
        """Run the first callback that is due by `end`; return whether there was one.

        If not, the time is `end`.
        """
        heap = self._heap
        while heap and heap[0][0] <= end:
            when, _, deadline = heapq.heappop(heap)
            callback, deadline.callback = deadline.callback, None
            if callback is None:
                self._void -= 1
                continue
            deadline._timer = None
            if when > self.time:
                self.time = when
            callback()
            return True
        if end > self.time:
            self.time = end
        return False


# With a longer delay than this the run is slower than its pace, and does not hurry afterwards: a
# process that was suspended does not flood its user.
CATCH_UP_NS = 100 * NS_PER_MS
SHORTEST_S = 1e-6  # of a wait: 0 would let time advance


class Pace(Protocol):
    """The pace that the event loop asks before each jump of its clock.

    It sleeps for `wait_s` at most, then calls `reached` when something came from outside, `waited`
    when nothing did.

    passes: whether simulated time passes during a wait.
    """

    passes: bool

    def wait_s(self, now: int, end: int) -> float | None:
        """Return the real seconds until simulated time may advance from `now` to `end`.

        0: at once; None: only an event from outside ends this wait.
        """

    def reached(self, now: int, end: int) -> int:
        """Return the simulated time at which an event from outside comes during such a wait."""

    def waited(self) -> None:
        """Take the end of such a wait, during which nothing came."""


class Factor:
    """The pace at which simulated time advances `factor` times as fast as real time.

    It is slower where the machine is.
    """

    passes = True

    def __init__(self, factor: float, real_now: Callable[[], int] = time.monotonic_ns) -> None:
        self._factor = factor
        self._real_now = real_now
        self._real_ns: float | None = None  # this real time ...
        self._simulated_ns = 0  # ... is this simulated time

    def wait_s(self, now: int, end: int) -> float | None:
        real_ns = self._real_now()
        if self._real_ns is None:
            self._real_ns, self._simulated_ns = real_ns, now
        wait_ns = self._real_ns + (end - self._simulated_ns) / self._factor - real_ns
        if wait_ns < -CATCH_UP_NS:
            self._real_ns, self._simulated_ns = real_ns, end
        return max(wait_ns, 0.0) / NS_PER_S

    def reached(self, now: int, end: int) -> int:
        if self._real_ns is None:
            return now
        passed_ns = (self._real_now() - self._real_ns) * self._factor
        return min(max(now, self._simulated_ns + int(passed_ns)), end)

    def waited(self) -> None:
        return


class Hold:
    """A holder of the `Holds`: simulated time stands still from begin() to release().

    Both may be repeated. holder: its name, for the user. longest_ns: how long at most, in real
    time, this many times as the holds have patience; 0: until it is released. deadline_ns: in real
    time, of the hold that began last; 0: none.
    """

    __slots__ = ("_holds", "deadline_ns", "holder", "longest_ns")

    def __init__(self, holds: "Holds", holder: str, longest_ns: int = 0) -> None:
        self._holds = holds
        self.holder = holder
        self.longest_ns = longest_ns * holds.patience
        self.deadline_ns = 0

    def begin(self) -> None:
        """Hold from now on, for longest_ns of real time at most."""
        holds = self._holds
        holds.held.add(self)
        if self.longest_ns:
            self.deadline_ns = deadline_ns = holds.real_now() + self.longest_ns
            if holds.first_ns is None or deadline_ns < holds.first_ns:
                holds.first_ns = deadline_ns

    def release(self) -> None:
        self._holds.held.discard(self)


class Holds:
    """The pace `max`: simulated time advances at once, unless a controller holds it.

    A synchronized controller holds from the moment that it gets an answer until it asks for its
    next step. A holder that keeps its hold longer than it may, in real time, loses it: `on_expired`
    is called with the hold, and time goes on without the holder.

    Where simulated time has another pace, or time is real, nothing asks this object: holds have no
    effect and never expire.

    patience: all may hold this many times as long. late: holders, and the simulated time before
    which they hold nothing: a program begins then.

    held: those that hold now. first_ns: no hold expires before this real time; None: none does.
    """

    passes = False

    def __init__(self, real_now: Callable[[], int] = time.monotonic_ns) -> None:
        self.on_expired: Callable[[Hold], None] = lambda hold: None
        self.real_now = real_now
        self.held: set[Hold] = set()
        self.first_ns: int | None = None
        self.patience, self.late = 1, dict[str, int]()

    def wait_longer(self, patience: int, late: dict[str, int]) -> None:
        """Set both, before there are holds."""
        self.patience, self.late = patience, late

    def hold(self, holder: str, longest_ns: int = 0) -> Hold:
        """Return a `Hold` that has begun."""
        hold = Hold(self, holder, longest_ns)
        hold.begin()
        return hold

    def wait_s(self, now: int, end: int) -> float | None:
        if not self.held:
            self.first_ns = None
            return 0.0
        if self.late and all(now < self.late.get(each.holder, 0) for each in self.held):
            return 0.0
        if self.first_ns is None:
            return None
        left_s = (self.first_ns - self.real_now()) / NS_PER_S
        return left_s if left_s > 0 else SHORTEST_S

    def reached(self, now: int, end: int) -> int:
        return now

    def waited(self) -> None:
        """Expire the holds that are over: what a holder has sent in time is read before."""
        real_ns = self.real_now()
        if self.first_ns is None or self.first_ns > real_ns:
            return
        over = [each for each in self.held if each.deadline_ns and each.deadline_ns <= real_ns]
        self.held.difference_update(over)
        self.first_ns = min(
            (each.deadline_ns for each in self.held if each.deadline_ns), default=None
        )
        for hold in over:
            self.on_expired(hold)


class SpeedMeter:
    """The meter of the speed from start() to stop().

    speed: the one that was set, a factor or "max". now: of the simulated clock, ns.
    """

    def __init__(
        self,
        speed: float | str,
        now: Callable[[], int],
        real_now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._speed = speed
        self._now = now
        self._real_now = real_now
        self._began = self._ended = (0, 0)
        self._running = False

    def start(self) -> None:
        self._began, self._running = (self._now(), self._real_now()), True

    def stop(self) -> None:
        self._ended, self._running = (self._now(), self._real_now()), False

    def report(self) -> dict[str, Any]:
        """Return the speed of the run.

        achieved: simulated time per real time; None before any has passed.
        """
        now, real_now = (self._now(), self._real_now()) if self._running else self._ended
        simulated_ns, real_ns = now - self._began[0], real_now - self._began[1]
        return {
            "set": self._speed,
            "achieved": round(simulated_ns / real_ns, 3) if real_ns else None,
            "real_s": round(ns_to_s(real_ns), 3),
        }


class Jumps:
    """The jumps of an event loop's clock: to the next deadline, of the event loop or of the clock.

    on_fault: gets what a callback of the clock raises; None: it is raised.
    """

    def __init__(self, clock: SimulatedClock, pace: Pace) -> None:
        self.on_fault: Callable[[Exception], None] | None = None
        self.clock = clock
        self.pace = pace

    def over(self, timeout: float | None) -> int | None:
        """Return the time at which a select() with this timeout is over; None: never."""
        return None if timeout is None else self.clock.time + round(timeout * NS_PER_S)

    def next(self, over: int | None) -> tuple[int, float | None]:
        """Return where the next jump ends, and the real seconds until it may be made.

        0: now; None: only an event from outside ends the wait.
        """
        clock = self.clock
        time, end = clock.time, clock.next()
        if end is None or (over is not None and over < end):
            if over is None:
                return time, None
            end = over
        return end, 0.0 if end <= time else self.pace.wait_s(time, end)

    def interrupted(self, end: int) -> None:
        """Set the time at which something came from outside during the wait for this jump."""
        self.clock.time = self.pace.reached(self.clock.time, end)

    def jump(self, end: int) -> None:
        """Run the first callback that is due then, or advance the time without one."""
        try:
            self.clock.step(end)
        except Exception as error:
            if self.on_fault is None:
                raise
            self.on_fault(error)
