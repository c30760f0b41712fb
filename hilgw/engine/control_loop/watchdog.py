"""The watchdog of the event loop: detects that it is late, and has the motors stopped.

An event loop that hangs (a callback that never returns, a suspended machine, SIGSTOP) cannot stop
motors. While it hangs, a thread does, for bodies whose connection allows it. Once it goes on, the
first thing it does is a stop, before it reads what waited. A process that does not run at all, or
hangs in C code that keeps the interpreter lock, is left to the guardian, a process of its own: the
thread shows it by a beat each 50 ms that this one runs, also while the event loop is late.

In simulated time nothing is ever late: while the event loop hangs, time stands still, and so do the
bodies, which are mocks. The jumps of the clock end at the next check at the latest. A thread would
see them at any moment, so there is none.
"""

import os
import threading
from contextlib import suppress
from typing import Protocol

from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.engine.control_loop.guardian import BEAT_NS, Guardian
from hilgw.guardian.process import PRIORITY
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_MS, ns_to_s

CHECKS = 4  # in the time that counts as late
# Input that comes so soon after a late moment may have waited for it.
STALE_INPUT_NS = 100 * NS_PER_MS


class Watched(Protocol):
    """Something that must not be served late. `late_ns`: a delay that counts as late."""

    late_ns: int

    def in_time(self) -> None:
        """Prepare what `emergency` needs, in the event loop, which is in time."""

    def was_late(self, now: int, gap_ns: int) -> None:
        """Stop before anything else happens, in the event loop, which did nothing for this long."""

    def emergency(self) -> None:
        """Stop the robots in the watchdog's thread: the event loop is late, and may run again."""


class Watchdog:
    """A gateway has one.

    `check(now)` is called at each entry from outside. threaded: with the thread that stops motors
    while the event loop hangs.
    """

    def __init__(
        self, scheduler: Scheduler, *, threaded: bool = True, guardian_ms: int = DEFAULT_GUARDIAN_MS
    ) -> None:
        self.guardian = Guardian(scheduler, guardian_ms)
        self.checked_ns = scheduler.now()
        self.late_until_ns = 0
        self.shortest_ns = 0  # the smallest late_ns of all watched; 0: none is watched
        self._scheduler = scheduler
        self.threaded = threaded
        self._watched: list[Watched] = []
        self._handled: dict[int, int] = {}  # watched -> the check after which the thread stopped it
        self._timer: Handle | None = None
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, watched: Watched) -> None:
        self._watched.append(watched)
        self.shortest_ns = min(each.late_ns for each in self._watched)

    def start(self) -> None:
        if not self._watched:
            return
        self._check_periodically()
        if not self.threaded:
            return
        self._thread = threading.Thread(target=self._guard, name="hilgw-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def check(self, now: int) -> None:
        """Call `was_late` of all watched for which the event loop was late until now."""
        gap = now - self.checked_ns
        self.checked_ns = now
        if not self.shortest_ns or gap < self.shortest_ns:
            return
        self.late_until_ns = now + STALE_INPUT_NS
        for watched in self._watched:
            if gap >= watched.late_ns:
                watched.was_late(now, gap)

    def _check_periodically(self) -> None:
        now = self._scheduler.now()
        self.check(now)
        for watched in self._watched:
            watched.in_time()
        # A simulated clock is never late, so one check in time is enough.
        period_ns = self.shortest_ns // CHECKS if self.threaded else self.shortest_ns - 1
        if self.guardian.guarded:  # which gets what has changed
            period_ns = min(period_ns, BEAT_NS)
        self._timer = self._scheduler.call_at(now + period_ns, self._check_periodically)

    def _guard(self) -> None:
        with suppress(OSError, AttributeError):  # not permitted; not POSIX
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PRIORITY)
        longest_ns = min(self.shortest_ns, BEAT_NS) if self.guardian.guarded else self.shortest_ns
        wait_ns = longest_ns
        while not self._end.wait(ns_to_s(wait_ns)):
            checked_ns, now = self.checked_ns, self._scheduler.now()
            self.guardian.beat(now)
            gap = now - checked_ns
            wait_ns = longest_ns
            for index, watched in enumerate(self._watched):
                if gap < watched.late_ns:
                    wait_ns = min(wait_ns, watched.late_ns - gap)
                elif self._handled.get(index) != checked_ns:
                    self._handled[index] = checked_ns
                    watched.emergency()
