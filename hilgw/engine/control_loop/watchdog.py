"""The watchdog of the event loop: when it hangs, a thread stops each body.

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
import socket
import threading
from contextlib import suppress
from typing import Protocol

from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.engine.control_loop.guardian import BEAT_NS, Guardian
from hilgw.guardian.process import PRIORITY
from hilgw.transports.base import NOT_SET, Flag, Handle, Scheduler, Transport
from hilgw.transports.threads import start_thread
from hilgw.units import NS_PER_MS, ns_to_s

_UNGUARDED = "nothing stops it if hilgw is killed or frozen: robot-guard cannot have its port"


class EmergencyStop:
    """Stops a body from another thread while the event loop hangs.

    Keeps a file descriptor of its own for the body's connection, and the bytes that stop the
    motors. The guardian, where there is one, has the same. The event loop calls all methods but
    `trigger`. `lock` is held during each write to the connection, so the stop bytes never fall
    inside another write. name: of the body. is_line: it is on a line, perhaps behind a serial
    server. flag: as of `PeerLink`. is_final: the guardian has stopped the body. closing: closes the
    descriptor of the last connection.
    """

    def __init__(
        self, name: str = "", guardian: Guardian | None = None, *, is_line: bool = False
    ) -> None:
        self.lock = threading.Lock()
        self.flag: Flag = NOT_SET
        self.is_final = False
        self._name = name
        self._guardian = guardian
        self._is_line = is_line
        self._has_guardian = False
        self._kept = b""  # what the guardian would write
        self.triggered = 0
        self._fd = -1
        self.closing: threading.Thread | None = None
        self._transport: Transport | None = None
        self._stop_bytes = b""

    def attach(self, transport: Transport) -> None:
        """Take a new connection. One without a descriptor (a pipe in memory) cannot be stopped."""
        self.detach()
        fd = transport.fileno()
        with self.lock:
            self._transport = transport
            self._fd = os.dup(fd) if fd >= 0 else -1

    def guard(self) -> None:
        """Give the connection to a guardian that runs now, with the stop that the last one kept.

        It may be on its way.
        """
        if self._guardian is not None and self._fd >= 0:
            self.flag = self._guardian.flag
            self._has_guardian = self._guardian.take(self._name, self._fd, is_line=self._is_line)
            self._guardian.keep(self._name, self._kept)

    def detach(self) -> None:
        """Forget the lost connection, and close our descriptor too, or the port would stay open."""
        self.flag, self._kept = NOT_SET, b""
        self._has_guardian = self.is_final = False
        with self.lock:
            fd, self._fd, self._stop_bytes, self._transport = self._fd, -1, b"", None
        if fd >= 0:
            # This may be the last descriptor of a real port, and its driver may block.
            if os.isatty(fd):
                self.closing = start_thread(lambda: os.close(fd))
            else:
                os.close(fd)

    async def release(self) -> None:
        """Return when the guardian has let go of the connection, which is closed next.

        No motor moves from here on.
        """
        if self._guardian is not None and self._has_guardian:
            self._has_guardian = False
            await self._guardian.drop(self._name)

    def prepare(self, stop_bytes: bytes) -> bool:
        """Take the bytes that stop the motors as they are now; empty when none moves.

        Return False where there is a guardian that could not take them.

        The guardian keeps the last ones until `forget`: the stop itself may still be on its way.
        """
        self._stop_bytes = stop_bytes
        if self._guardian is None or self._fd < 0 or not stop_bytes or stop_bytes == self._kept:
            return True
        return self._has_guardian and self._keep(stop_bytes)

    def forget(self) -> None:
        """Have the guardian stop nothing any more, as the stop has left."""
        self._keep(b"")

    @property
    def is_kept(self) -> bool:
        """True if the guardian would stop the body, whose motors stand still."""
        return bool(self._kept)

    @property
    def unguarded(self) -> str:
        """Return why nothing would stop this body, which is real and connected; else nothing."""
        is_real = self._guardian is not None and self._transport is not None
        return _UNGUARDED if is_real and not self._has_guardian else ""

    def _keep(self, stop_bytes: bytes) -> bool:
        if self._guardian is None or not self._guardian.keep(self._name, stop_bytes):
            return False
        self._kept = stop_bytes
        return True

    def trigger(self) -> None:
        """Write the stop bytes, or close the connection; called in the watchdog's thread."""
        with self.lock:
            if self._fd < 0 or not self._stop_bytes:
                return
            self.triggered += 1
            with suppress(OSError):  # the connection is gone, and the robot stops by itself
                if os.isatty(self._fd):
                    self._stop_on_line()
                else:
                    self._stop_on_stream()

    def _stop_on_stream(self) -> None:
        """Write the stop, or close the connection where half a message waits in the event loop."""
        stop = self._stop_bytes
        pending = 0 if self._transport is None else self._transport.pending
        with suppress(BlockingIOError):
            if not pending and os.write(self._fd, stop) == len(stop):
                return
            if self._is_line:  # behind a serial server: its robot sees no end
                os.write(self._fd, 2 * stop)
        connection = socket.socket(fileno=self._fd)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        finally:
            connection.detach()  # the descriptor stays ours; for another one there may be no room

    def _stop_on_line(self) -> None:
        """Discard what waits in the kernel, and write the stop twice.

        The robot may take the first copy for the end of a frame that was cut.
        """
        from hilgw.transports.serial import tty

        tty.discard(self._fd)
        os.write(self._fd, 2 * self._stop_bytes)


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
