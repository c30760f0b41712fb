"""Child processes: a program starts, its output is shown with its name, and it ends with hilgw.

`Restarts` decides whether and when it starts again.
"""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from hilgw.engine.observer import Observer
from hilgw.engine.simulated.event_loop import in_real_time, sleep_in_real_time
from hilgw.errors import quoted
from hilgw.units import NS_PER_S

Restart = Literal["never", "on-failure", "with-body"]

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0)
INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)  # the latter of a shell
FAILURES = 10  # in a row; then it stays down
STEADY_NS = 60 * NS_PER_S  # a run of this length ends a row

_AGAIN = "start hilgw again"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a program that has ended.

    pause_s: the least time until it starts again, which waits for the body, too; None: it stays
    down. why: what keeps it down, where it did not end by itself; fix: what to do then.
    """

    pause_s: float | None
    why: str = ""
    fix: str = ""


class Restarts:
    """The restarts of one program.

    A run that ends is a failure in a row with those before it, whatever ended it: neither a program
    nor a body that comes and goes restarts it for ever.

    latches: what makes hilgw end the program disarms the robot, or the body is simulated. Else a
    program that was dismissed stays down: it would move the robot without a human.
    """

    def __init__(self, restart: Restart, *, latches: bool = True) -> None:
        self._restart = restart
        self._latches = latches
        self._failures = 0  # in a row
        self._begun_ns = 0
        self._dismissed = False

    def begin(self, now: int) -> None:
        """Record the start of the program."""
        self._begun_ns, self._dismissed = now, False

    def dismiss(self) -> None:
        """Record that hilgw ends the program, which runs: its body is lost, or hilgw was late."""
        self._dismissed = True

    def end(self, code: int, now: int) -> Verdict:
        """Return what follows the end of the program with this exit code."""
        self._failures = 1 if now - self._begun_ns >= STEADY_NS else self._failures + 1
        if (verdict := self._stays_down(code)) is not None:
            return verdict
        if self._failures >= FAILURES:
            return Verdict(None, f"stays down after {FAILURES} failures in a row", _AGAIN)
        return Verdict(BACKOFF_S[min(self._failures, len(BACKOFF_S)) - 1])

    def _stays_down(self, code: int) -> Verdict | None:
        if self._dismissed:
            if not self._latches:
                return Verdict(None, "stays down: the body is real, with `latch: false`", _AGAIN)
            if self._restart == "never":
                return Verdict(
                    None,
                    "stays down: `restart: never`",
                    f"{_AGAIN}; `restart: with-body` restarts it with its body",
                )
        elif code == 0:
            return Verdict(None, fix=_AGAIN)
        elif self._restart != "on-failure":
            return Verdict(
                None, fix=f"{_AGAIN}; `restart: on-failure` restarts a program that fails"
            )
        return None


LAUNCHER = Path(__file__).with_name("_child.py")
BODY_POLL_S = 0.1  # of a program that waits for its body
END_S = 1.0  # for a program whose step returned -1 (Webots reference manual, wb_robot_step)
LEAVE_S = 0.5  # the program may end by itself, as its connection ended
TERMINATE_S = 0.5  # from SIGTERM to SIGKILL
LINE_BYTES = 1000  # a longer line is shown in pieces
LINES = 200  # of what is read at once
FLOOD_S = 0.002  # between two reads of a program that prints faster than they are shown
_READ_BYTES = 16384
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT}
_ABSENT = re.compile(r'"(.{1,60}?)" (?:device (?:was )?|was )not found')


@dataclass(frozen=True, slots=True)
class Program:
    """A program that hilgw starts.

    command: the first is the program. latches: as of `Restarts`. folder: where it runs. line: of
    one whose standard input and output are not shown: its end of a new line for each run.
    """

    command: Sequence[str]
    restart: Restart = "never"
    latches: bool = True
    folder: Path | None = None
    line: Callable[[], socket.socket] | None = None


class ProgramState(StrEnum):
    """States of a program that hilgw starts."""

    RUNNING = "running"  # or about to, for the first time
    WAITING = "waiting"  # for its back-off, and for the body
    DOWN = "down"


class Child:
    """A supervised program, in a process group of its own.

    What it prints comes line by line to `Observer.output`, which limits the rate of what it shows.
    A program that prints without end waits; the gateway does not. state; reason: of one that does
    not run, why, and what comes next. body_is_up: asked before it starts again.
    """

    def __init__(
        self,
        name: str,
        program: Program,
        observer: Observer,
        body_is_up: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name = name
        self.state = ProgramState.RUNNING
        self.reason = ""
        self.runs = 0
        self.exits: list[int] = []  # the codes of the last runs; a negative one: the signal
        self._program = program
        self._observer = observer
        self._body_is_up = body_is_up
        self._restarts = Restarts(program.restart, latches=program.latches)
        self._environment: Mapping[str, str] = {}
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._ending: asyncio.Task[None] | None = None
        self._absent = ""  # the last device that it asked for in vain, as libController prints it

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the program with these variables and no others, once."""
        if self._task is None:
            self._environment = environment
            self._task = asyncio.ensure_future(self._run())

    @property
    def is_alive(self) -> bool:
        """True if its process runs."""
        return self._process is not None and self._process.returncode is None

    def dismissed(self) -> None:
        """Record that hilgw ends the program; `quit_sent` follows.

        A program that has ended did so by itself.
        """
        if self.is_alive:
            self._restarts.dismiss()

    def quit_sent(self) -> None:
        """Give the program END_S to end by itself, as in Webots: its step returned -1."""
        process = self._process
        if process is not None and self.is_alive and self._ending is None:
            self._ending = asyncio.ensure_future(self._end(process, END_S))

    async def stop(self) -> None:
        """End the process group; return when none of it is left.

        At most after LEAVE_S + TERMINATE_S and what the kernel needs.
        """
        if self._ending is not None:
            self._ending.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self.state is not ProgramState.DOWN:
            self._enter(ProgramState.DOWN, "the gateway ended")

    async def join(self) -> None:
        """Wait until the program stays down."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._restarts.begin(time.monotonic_ns())
            code = await self._run_once()
            verdict = self._restarts.end(code, time.monotonic_ns())
            self._show_end(code, verdict)
            if verdict.pause_s is None:
                return
            await sleep_in_real_time(verdict.pause_s)
            while not self._body_is_up():
                await sleep_in_real_time(BODY_POLL_S)
            self._enter(ProgramState.RUNNING, "")

    def report(self) -> dict[str, object]:
        """Return the part of the process in the report of the gateway."""
        return {
            "state": self.state.value,
            "reason": self.reason,
            "runs": self.runs,
            "exit_codes": self.exits,
        }

    def kill(self) -> None:
        """End the process group at once; `stop` returns when it is gone."""
        if self._process is not None:
            _signal(self._process.pid, signal.SIGKILL)

    def freeze(self, frozen: bool) -> None:
        """Halt the process group, or let it go on."""
        if self._process is not None:
            _signal(self._process.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    async def _run_once(self) -> int:
        pipe, line = asyncio.subprocess.PIPE, self._program.line
        end = None if line is None else line()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-IS",
                str(LAUNCHER),
                str(os.getpid()),
                str(int(signal.SIGKILL)),
                *self._program.command,
                env=dict(self._environment),
                stdin=asyncio.subprocess.DEVNULL if end is None else end.fileno(),
                stdout=pipe if end is None else end.fileno(),
                stderr=asyncio.subprocess.STDOUT if end is None else pipe,
                cwd=self._program.folder,
                start_new_session=True,
            )
        except OSError as error:
            self._observer.notice(self.name, f"cannot start: {error.strerror or error}")
            return 1
        finally:
            if end is not None:
                end.close()
        self.runs += 1
        self._process, self._absent = process, ""
        output = asyncio.create_task(self._show(process))
        try:
            await process.wait()
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()  # in Python 3.11.2, no time-out ends in a task that is cancelled
            await self._end(process, LEAVE_S)
            raise
        finally:
            # What is left of the group has no controller above it any more.
            _signal(process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await in_real_time(asyncio.wait([output]), TERMINATE_S)
            output.cancel()
            self._process = None
            if self._ending is not None:
                self._ending.cancel()
                self._ending = None
            self.exits = [*self.exits[1 - FAILURES :], process.returncode or 0]
        return process.returncode or 0

    async def _end(self, process: asyncio.subprocess.Process, leave_s: float) -> None:
        for wait_s, number in ((leave_s, signal.SIGTERM), (TERMINATE_S, signal.SIGKILL)):
            with contextlib.suppress(TimeoutError):
                await in_real_time(process.wait(), wait_s)
                return
            _signal(process.pid, number)
        await process.wait()

    async def _show(self, process: asyncio.subprocess.Process) -> None:
        stream = process.stdout or process.stderr
        assert stream is not None
        rest = b""
        while data := await stream.read(_READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines[:LINES]:
                self._line(line)
            if len(lines) > LINES:
                self._observer.output(self.name, f"... {len(lines) - LINES} more lines not shown")
            while len(rest) > LINE_BYTES:
                self._line(rest[:LINE_BYTES])
                rest = rest[LINE_BYTES:]
            if len(data) == _READ_BYTES:
                await sleep_in_real_time(FLOOD_S)
        if rest:
            self._line(rest)

    def _line(self, line: bytes) -> None:
        for start in range(0, len(line) or 1, LINE_BYTES):
            piece = line[start : start + LINE_BYTES].rstrip(b"\r").decode(errors="replace")
            if absent := _ABSENT.search(piece):
                self._absent = quoted(absent[1])
            self._observer.output(self.name, piece)

    def _show_end(self, code: int, verdict: Verdict) -> None:
        text = f"ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        if -code in CRASHES and self._absent:
            text += f" after it asked for a device that the robot does not have: {self._absent}"
        if code in INTERRUPTED:
            text = "was interrupted (Ctrl-C)"
        if verdict.pause_s is None:
            then = verdict.why
            self._enter(ProgramState.DOWN, f"the program {text}; {verdict.fix}")
        else:
            pause = f"in {verdict.pause_s:g} s"
            then = f"starts again {pause if self._body_is_up() else 'once the body is up'}"
            self._enter(ProgramState.WAITING, f"the program {then}")
        self._observer.notice(self.name, f"the program {text}{'; ' * bool(then)}{then}")

    def _enter(self, state: ProgramState, reason: str) -> None:
        self.state, self.reason = state, reason


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
