"""The gateway's side of the guardian, the process that stops the robots in its place.

`hilgw.guardian.process` is the process. A message to it is a kind, a number and bytes:

* PORT or LINE, with a descriptor (SCM_RIGHTS): a connection to a body of this name, by its number;
* STOP: the bytes that stop the motors of this body as they move now; none: they stand still;
* DROP: the port is closed next. The guardian lets go of it, and confirms with the same number;
* BEAT: the watchdog's thread runs. The guardian shows the number of the last one in the memory that
  both share.

A message that the socket has taken is read before the guardian acts, even when the gateway has been
killed meanwhile: so a body is protected once `take` and `keep` have returned True.

A guardian that echoes no beat may be frozen, or waits for the processor: a second one gets all
ports, too. The first that echoes stays. Only where none does, the robots are stopped.
"""

import asyncio
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.errors import SafetyError
from hilgw.guardian import NAME, process
from hilgw.guardian.leftover import DESCRIPTORS, LOCK, LOCK_AT, SHARED_BYTES, started
from hilgw.guardian.process import (
    ACTED,
    ANSWER,
    BEAT,
    DROP,
    HEADER,
    HELLO,
    IGNORED,
    LINE,
    PORT,
    SEEN,
    STOP,
)
from hilgw.transports.base import NOT_SET, Flag, Scheduler
from hilgw.units import NS_PER_MS, NS_PER_S

PROGRAM = Path(process.__file__)
BEAT_NS = 50 * NS_PER_MS
SECOND_NS = 300 * NS_PER_MS  # without an echo; then another one gets the ports, too
FROZEN_NS = NS_PER_S  # guardians that have read no beat for this long would stop nothing
START_NS = 5 * NS_PER_S  # a slow machine needs this long for its start
STEADY_NS = 5 * NS_PER_S  # one that ends sooner after the last is not started at once
CONFIRM_S = 1.0  # for a port that is closed next
END_S = 0.5


class Guarded(Protocol):
    """Safety of one real body, which the guardian protects. The event loop calls it."""

    def guardian_acted(self) -> None:
        """Follow the guardian, which has stopped the motors: this process did not run."""

    def guardian_died(self) -> None:
        """Follow the end of the guardian, which has stopped nothing."""

    def guard(self) -> None:
        """Give a new guardian the connection, if there is one."""


class Guardian:
    """The guardian of one gateway. `guarded`: what it protects; it runs where there is something.

    The event loop calls all methods but `beat`. processes: those that run, as far as is known.
    flag: of the memory that they share with the gateway; a new one begins when none is left.
    """

    def __init__(self, scheduler: Scheduler, guardian_ms: int = DEFAULT_GUARDIAN_MS) -> None:
        self.guarded: list[Guarded] = []
        self.flag: Flag = NOT_SET
        self._scheduler = scheduler
        self._guardian_ms = guardian_ms
        self.processes: list[GuardianProcess] = []  # the second one where the first does not echo
        self._shared: mmap.mmap | None = None
        self._file: IO[bytes] | None = None  # of the memory
        self._numbers: dict[str, int] = {}
        self._ended_ns: int | None = None
        self._beats = 1
        self._seen_ns = self._beat_ns = 0

    # --- life ---------------------------------------------------------------------------------

    def confirmed(self) -> bool:
        """Return whether the process has echoed a beat since its start, or none is needed."""
        if not self.guarded or not is_supported():
            return True
        return any(self.flag[each.seen_at] for each in self.processes)

    def demand(self) -> None:
        """Start it where it does not run and something is to be protected.

        Raises SafetyError.
        """
        if not self.guarded or self.processes or not is_supported():
            return
        try:
            self._start()
        except OSError as error:
            self.close()
            raise SafetyError(
                f"the guardian cannot start: {error.strerror or error}",
                fix="without it nothing stops the robots if hilgw is killed",
            ) from error

    def _start(self) -> None:
        """Start a process, which gets all ports.

        The first makes the memory: its lock names this gateway.
        """
        if self._file is None or self._shared is None:
            self._file, pid = _file(), os.getpid()
            self._file.write(bytes(SHARED_BYTES))
            self.flag = self._shared = mmap.mmap(self._file.fileno(), SHARED_BYTES)
            LOCK.pack_into(self._shared, LOCK_AT, os.getuid(), pid, started(pid))
            self._beat_ns = self._scheduler.now()
            self._seen_ns = self._beat_ns + START_NS
        others = self.processes
        seen_at = 2 * SEEN + 1 - others[0].seen_at if others else SEEN
        self._shared[seen_at] = 0  # no beat has this number
        new = GuardianProcess(seen_at, self._file.fileno(), self._guardian_ms, self._ended)
        new.send(BEAT, self._beats)  # its echo shows that the process runs
        self.processes = [new]
        for safety in self.guarded:
            safety.guard()
        self.processes = [*others, new]

    def _start_second(self) -> None:
        """Start a second process: no echo has come for SECOND_NS.

        Where none can start, FROZEN_NS is the limit.
        """
        if len(self.processes) == 1 and self._beat_ns - self._seen_ns > SECOND_NS:
            with suppress(OSError):
                self._start()

    def close(self) -> None:
        """End it.

        What it still protects it stops.
        """
        for running in self.processes:
            running.close()
        self.processes = []
        self.flag, self._shared = NOT_SET, None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _ended(self, ended: "GuardianProcess") -> None:
        """Follow the end of a process.

        Where it was the last one, so is what it protected.
        """
        acted = bool(self.flag[ACTED])
        self.processes.remove(ended)
        ended.close()
        if self.processes and not acted:
            return
        for running in self.processes:
            running.kill()
        self.close()
        for guarded in self.guarded:
            guarded.guardian_acted() if acted else guarded.guardian_died()
        now, last_ns = self._scheduler.now(), self._ended_ns
        self._ended_ns = now
        if last_ns is None or now - last_ns > STEADY_NS:  # else one starts when a robot is armed
            with suppress(SafetyError):
                self.demand()

    # --- messages -----------------------------------------------------------------------------

    def take(self, name: str, fd: int, *, is_line: bool = False) -> bool:
        """Give it the connection of the body of this name.

        False: it is not protected. is_line: it is a line, perhaps behind a serial server.
        """
        number = self._numbers.setdefault(name, len(self._numbers))
        return self._send(LINE if is_line else PORT, number, name.encode(), fd)

    def keep(self, name: str, stop_bytes: bytes) -> bool:
        """Give it the bytes that stop this body now.

        False: the guardian could not take them, and ends.
        """
        return self._send(STOP, self._numbers.get(name, 0), stop_bytes)

    def _send(self, kind: bytes, number: int, data: bytes = b"", fd: int = -1) -> bool:
        taken = [each.send(kind, number, data, fd) for each in self.processes]
        return any(taken)

    async def drop(self, name: str) -> None:
        """Return when no guardian has the connection of this body any more."""
        number = self._numbers.get(name)
        if number is not None and self.processes:
            await asyncio.gather(*(each.drop(number) for each in self.processes))

    def beat(self, now: int) -> None:
        """Send a beat, in the watchdog's thread, each BEAT_NS.

        Where this process or the machine stood still, the guardian had no time to read.
        """
        shared, processes = self._shared, self.processes
        if shared is None or not processes:
            return
        self._seen_ns += max(now - self._beat_ns - 2 * BEAT_NS, 0)
        self._beat_ns = now
        echoed = [each for each in processes if shared[each.seen_at] == self._beats]
        if echoed:
            self._seen_ns = now
        elif now - self._seen_ns > SECOND_NS:
            processes[0].loop.call_soon_threadsafe(self._start_second)
        is_lost = now - self._seen_ns > FROZEN_NS
        for child in processes:
            if is_lost or (echoed and child is not echoed[0] and child.pidfd >= 0):
                child.kill()
        self._beats = self._beats % 0xFF + 1  # 0: none was seen
        for child in processes:
            child.send(BEAT, self._beats)


class GuardianProcess:
    """A process of the guardian, from its start to its end.

    seen_at: where it shows the last beat. pidfd: -1 before its hello; from then on it can be ended
    without a stop. memory: a descriptor. on_end: its end, in the event loop; closes it.
    """

    def __init__(
        self,
        seen_at: int,
        memory: int,
        guardian_ms: int,
        on_end: "Callable[[GuardianProcess], None]",
    ) -> None:
        self.seen_at = seen_at
        self.pidfd = -1
        self.loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._lock = threading.Lock()  # of what is sent, for the thread that beats
        self._drops: dict[int, asyncio.Future[None]] = {}
        self._socket, theirs = socket.socketpair()
        with theirs, PROGRAM.open() as program:
            self._starter = _start(
                program.fileno(), (theirs.fileno(), memory, seen_at, guardian_ms)
            )
        self._socket.setblocking(False)
        self.loop.add_reader(self._socket, self._readable)

    async def drop(self, number: int) -> None:
        """Return when it has let go of a port, or is killed because it has not."""
        if self.send(DROP, number):
            dropped = self._drops[number] = self.loop.create_future()
            await asyncio.wait([dropped], timeout=CONFIRM_S)
            if not dropped.done():
                self.kill()

    def send(self, kind: bytes, number: int, data: bytes = b"", fd: int = -1) -> bool:
        """Return whether the socket has taken it whole.

        Where not, the process ends.
        """
        message = HEADER.pack(kind, number, len(data)) + data
        with self._lock, suppress(OSError):  # full or gone
            if socket.send_fds(self._socket, [message], [fd][: fd >= 0]) == len(message):
                return True
        self.kill()
        return False

    def kill(self) -> None:
        """Kill the process; the event loop sees its end.

        Before its hello only the socket can be ended.
        """
        with self._lock, suppress(OSError):
            if self.pidfd < 0:
                self._socket.shutdown(socket.SHUT_RDWR)
            else:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """End the socket, so the process stops what it still has.

        Waits for its end, and reaps it where this process is its parent, as PID 1 is.
        """
        if not self.loop.is_closed():
            self.loop.remove_reader(self._socket)
        with self._lock:
            self._socket.close()
            pidfd, self.pidfd = self.pidfd, -1
        try:
            self._starter.wait(END_S)
        except subprocess.TimeoutExpired:
            self._starter.kill()  # it hangs
            self._starter.wait()
        if pidfd >= 0:
            select.select([pidfd], [], [], END_S)
            with suppress(ChildProcessError):
                os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG)
            os.close(pidfd)
        for drop in self._drops.values():
            drop.set_result(None)
        self._drops.clear()

    def _readable(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, 4096, 1)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        if not data:
            self._on_end(self)
        for kind, number in ANSWER.iter_unpack(data):
            if kind == HELLO:
                for self.pidfd in descriptors:
                    os.set_inheritable(self.pidfd, False)
                self._starter.wait()  # it has forked, and ended
            elif (dropped := self._drops.pop(number, None)) is not None:
                dropped.set_result(None)


def _start(program: int, numbers: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start the program with these arguments and the first two descriptors.

    Neither a kill of all hilgw or python nor a search for variables of this process finds it: all
    that its Python needs is the way to its library.
    """
    home = {sys.base_prefix: None, sys.base_exec_prefix: None}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)  # until it ignores them
    try:
        return subprocess.Popen(
            (NAME, "-sSPB", f"{DESCRIPTORS}/{program}", *map(str, numbers)),
            executable=sys.executable,
            env={"PYTHONHOME": os.pathsep.join(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if sys.__stderr__ is None else None,
            cwd="/",
            pass_fds=(program, *numbers[:2]),
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _file() -> IO[bytes]:
    """Return a file for the memory.

    Not on a disk: one that is full would end both processes by SIGBUS, at the first access.
    """
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create(NAME), "w+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def is_supported() -> bool:
    """Return whether this system passes descriptors between processes."""
    return os.name == "posix"
