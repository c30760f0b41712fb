"""The gateway's pulse: notices when the loop was late, and acts from a thread while it still is.

A loop that hangs (a callback that never returns, a machine that was suspended, SIGSTOP) cannot
stop motors. While it hangs, a thread does, for bodies whose connection allows it; once it goes on,
the first thing to happen is a stop, before anything that waited is read. A process that does not
run at all, or hangs in C code that keeps the interpreter to itself, is left to the watchdog of
the robot's own firmware.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hilgw.transports.base import Handle, Scheduler

BEATS = 4  # in the time that counts as late
# What comes so soon after a late moment may have waited for it.
DEAF_NS = 100_000_000


class Watched(Protocol):
    """What must not be late. `late_ns`: what counts as late."""

    late_ns: int

    def beat(self) -> None:
        """In the loop, which is in time: make ready what `emergency` needs."""

    def was_late(self, now: int) -> None:
        """In the loop, before anything else happens: it was late."""

    def emergency(self) -> None:
        """In the thread: the loop is late, and may go on at any moment."""


class Watchdog:
    """One per gateway. `check(now)` is called wherever the loop is entered from outside."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.beat_ns = scheduler.now()
        self.late_until_ns = 0
        self.shortest_ns = 0  # no gap of the loop below this one matters; 0: nobody is watched
        self._scheduler = scheduler
        self._watched: list[Watched] = []
        self._handled: dict[int, int] = {}  # whom the thread has stopped, since which beat
        self._timer: Handle | None = None
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, watched: Watched) -> None:
        self._watched.append(watched)
        self.shortest_ns = min(each.late_ns for each in self._watched)

    def start(self) -> None:
        if not self._watched:
            return
        self._beat()
        self._thread = threading.Thread(target=self._guard, name="hilgw-pulse", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def check(self, now: int) -> None:
        """Stops what has to stop when the loop was late up to now."""
        gap = now - self.beat_ns
        self.beat_ns = now
        if not self.shortest_ns or gap < self.shortest_ns:
            return
        self.late_until_ns = now + DEAF_NS
        for watched in self._watched:
            if gap >= watched.late_ns:
                watched.was_late(now)

    def _beat(self) -> None:
        now = self._scheduler.now()
        self.check(now)
        for watched in self._watched:
            watched.beat()
        self._timer = self._scheduler.call_at(now + self.shortest_ns // BEATS, self._beat)

    def _guard(self) -> None:
        """The thread: looks as often as the pulse beats."""
        while not self._end.wait(self.shortest_ns / BEATS / 1e9):
            beat_ns = self.beat_ns
            gap = self._scheduler.now() - beat_ns
            for index, watched in enumerate(self._watched):
                if gap >= watched.late_ns and self._handled.get(index) != beat_ns:
                    self._handled[index] = beat_ns
                    watched.emergency()
