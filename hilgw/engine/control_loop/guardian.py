"""The gateway's side of the guardian, the process that stops the robots in its place.

`hilgw.engine.processes.guardian_process` is the process. A message to it is a kind, a number and
bytes:

* PORT, with a descriptor (SCM_RIGHTS): a connection to a body, by its number;
* STOP: the bytes that stop the motors of this body as they move now; none: they stand still;
* DROP: the port is closed next. The guardian lets go of it, and confirms with the same message;
* BEAT: the watchdog's thread runs. The guardian shows the number of the last one in the memory that
  both share.

A message that the socket has taken is read before the guardian acts, even when the gateway has been
killed meanwhile: so a body is protected once `take` and `keep` have returned True.
"""

from __future__ import annotations

import array
import asyncio
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.engine.processes import guardian_process
from hilgw.engine.processes.guardian_process import (
    ACTED,
    BEAT,
    DROP,
    HEADER,
    IGNORED,
    PORT,
    SEEN,
    SHARED_BYTES,
    STOP,
)
from hilgw.errors import SafetyError
from hilgw.transports.base import NOT_SET
from hilgw.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from hilgw.transports.base import Flag, Scheduler

PROGRAM = Path(guardian_process.__file__)
BEAT_NS = 50 * NS_PER_MS
FROZEN_NS = NS_PER_S  # a guardian that has read no beat for so long would stop nothing
START_NS = 5 * NS_PER_S  # a slow machine needs so long for its start
STEADY_NS = 5 * NS_PER_S  # one that ends sooner after the last is not started at once
CONFIRM_S = 1.0  # for a port that is closed next
END_S = 0.5


class Guarded(Protocol):
    """What the guardian protects: the safety of one real body. The event loop calls it."""

    def guardian_acted(self) -> None:
        """The guardian has stopped the motors: this process did not run."""

    def guardian_died(self) -> None:
        """It is gone, and has stopped nothing."""

    def guard(self) -> None:
        """A new guardian runs: it gets the connection, if there is one."""


class Guardian:
    """The guardian of one gateway. `guarded`: what it protects; it runs where there is something.

    The event loop calls all methods but `beat`.
    """

    def __init__(self, scheduler: Scheduler, guardian_ms: int = DEFAULT_GUARDIAN_MS) -> None:
        self.guarded: list[Guarded] = []
        self.flag: Flag = NOT_SET
        self._scheduler = scheduler
        self._guardian_ms = guardian_ms
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._shared: mmap.mmap | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()  # of what is sent, for the thread that beats
        self._numbers: dict[str, int] = {}
        self._drops: dict[int, asyncio.Future[None]] = {}
        self._ended_ns: int | None = None
        self._beats = 0
        self._seen_ns = self._beat_ns = 0

    # --- life ---------------------------------------------------------------------------------

    @property
    def runs(self) -> bool:
        """Whether the process is there, as far as is known."""
        return self._socket is not None

    @property
    def pid(self) -> int | None:
        """Of the process; None where it does not run."""
        return None if self._process is None else self._process.pid

    def confirmed(self) -> bool:
        """Return whether the process has echoed a beat since its start, or none is needed."""
        if not self.guarded or not is_supported():
            return True
        shared = self._shared
        return shared is not None and bool(shared[SEEN])

    def demand(self) -> None:
        """Starts it where it does not run and something is to be protected. Raises SafetyError."""
        if not self.guarded or self.runs or not is_supported():
            return
        try:
            self._start()
        except OSError as error:
            what = f"the guardian cannot start: {error.strerror or error}"
            fix = "without it nothing stops the robots if hilgw is killed"
            raise SafetyError(what, fix=fix) from error
        for each in self.guarded:
            each.guard()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, _memory() as memory:
            memory.write(bytes(SHARED_BYTES))
            self._shared = mmap.mmap(memory.fileno(), SHARED_BYTES)
            inherited = (theirs.fileno(), memory.fileno())
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)  # until it ignores them
            try:
                self._process = subprocess.Popen(
                    (sys.executable, "-IS", PROGRAM, *map(str, inherited), str(self._guardian_ms)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    pass_fds=inherited,
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        ours.setblocking(False)
        self._socket, self.flag = ours, self._shared
        self._beat_ns = self._scheduler.now()
        self._beats, self._seen_ns = 1, self._beat_ns + START_NS
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(ours, self._readable)
        self._send(BEAT, self._beats)  # its echo shows that the process runs

    def close(self) -> None:
        """Ends it. What it still protects it stops."""
        process = self._release()
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)

    def _release(self) -> subprocess.Popen[bytes] | None:
        """Forgets the process, which ends by that; returns it."""
        with self._lock:
            ours, self._socket = self._socket, None
        process, self._process = self._process, None
        self.flag, self._shared = NOT_SET, None
        if ours is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(ours)
            ours.close()
        for drop in self._drops.values():
            drop.set_result(None)
        self._drops.clear()
        return process

    def _ended(self) -> None:
        """The process is gone, and with it what it protected."""
        acted = bool(self.flag[ACTED])
        process = self._release()
        if process is not None:
            process.kill()  # one that is frozen
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
        for each in self.guarded:
            each.guardian_acted() if acted else each.guardian_died()
        now, last_ns = self._scheduler.now(), self._ended_ns
        self._ended_ns = now
        if last_ns is None or now - last_ns > STEADY_NS:  # else one starts when a robot is armed
            with suppress(SafetyError):
                self.demand()

    # --- messages -----------------------------------------------------------------------------

    def take(self, name: str, fd: int) -> bool:
        """The body of this name has this connection from now on. False: it is not protected."""
        number = self._numbers.setdefault(name, len(self._numbers))
        return self._send(PORT, number, fd=fd)

    def keep(self, name: str, stop_bytes: bytes) -> bool:
        """The bytes that stop this body now. False: the guardian could not take them, and ends."""
        return self._send(STOP, self._numbers.get(name, 0), stop_bytes)

    async def drop(self, name: str) -> None:
        """Returns when the guardian has let go of the connection of this body."""
        number = self._numbers.get(name)
        if number is None or not self._send(DROP, number):
            return
        dropped = self._drops[number] = asyncio.get_running_loop().create_future()
        await asyncio.wait([dropped], timeout=CONFIRM_S)
        if not dropped.done():
            self._kill()

    def beat(self, now: int) -> None:
        """In the watchdog's thread, each BEAT_NS. Where this process or the machine stood still,
        the guardian had no time to read."""
        shared = self._shared
        if shared is None or not self.runs:
            return
        self._seen_ns += max(now - self._beat_ns - 2 * BEAT_NS, 0)
        self._beat_ns = now
        if shared[SEEN] == self._beats:
            self._seen_ns = now
        elif now - self._seen_ns > FROZEN_NS:
            self._kill()
            return
        self._beats = self._beats % 0xFF + 1  # 0: none was seen
        self._send(BEAT, self._beats)

    def _send(self, kind: bytes, number: int, data: bytes = b"", fd: int = -1) -> bool:
        """Whether the socket has taken it whole. Where not, the guardian ends."""
        message = HEADER.pack(kind, number, len(data)) + data
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        with self._lock:
            if self._socket is None:
                return False
            try:
                if self._socket.sendmsg([message], rights if fd >= 0 else []) == len(message):
                    return True
            except OSError:
                pass  # full or gone
        self._kill()
        return False

    def _kill(self) -> None:
        """The event loop sees its end, and calls `_ended`."""
        if (process := self._process) is not None:
            process.kill()

    def _readable(self) -> None:
        try:
            data = self._socket.recv(4096) if self._socket is not None else b""
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended()
        for _, number, _ in HEADER.iter_unpack(data):
            if (dropped := self._drops.pop(number, None)) is not None:
                dropped.set_result(None)


def _memory() -> IO[bytes]:
    """A file for what both processes share. Not on a disk: one that is full would end both by
    SIGBUS, at the first access."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("hilgw-guardian"), "w+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def is_supported() -> bool:
    """Whether this system passes descriptors between processes."""
    return os.name == "posix"
