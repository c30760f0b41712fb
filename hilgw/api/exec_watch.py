"""The watch over a program that `hilgw exec` starts: it must make a Robot() and step.

A process next to the program waits at one end of a pipe. The program has the other: it writes a
byte with its Robot() and closes it with its first step, and when it ends.
"""

import os
import select
import signal
import sys
from contextlib import suppress

from hilgw.protocols.webots.requests import PAUSE_S

VARIABLE = "HILGW_EXEC"
_ROBOT, _STEPS = b"R", b"S"


def watch(program: str, pause_s: float = PAUSE_S) -> dict[str, str]:
    """Start a process that warns if the program makes no Robot(), or calls no step, in time.

    Returns:
      The variables for the program, which this process becomes.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if not os.fork():  # not the child of a program that may wait for its own children
                os.close(writer)
                _wait(reader, program, pause_s)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(reader)
    os.set_inheritable(writer, True)
    return {VARIABLE: f"{os.getpid()}:{writer}"}


_place: list[str] = []  # of the pipe, from Robot() to the first step


def has_robot() -> None:
    """Report that the program makes its Robot()."""
    if where := os.environ.pop(VARIABLE, ""):
        _place.append(where)
        _report(where, _ROBOT)


def has_stepped() -> None:
    """Report that the program calls its first step, which ends the wait."""
    if _place:
        _report(_place.pop(), _STEPS)


def _report(where: str, message: bytes) -> None:
    process, _, descriptor = where.partition(":")
    if process == str(os.getpid()):  # a child of the program has no such descriptor
        with suppress(OSError):
            os.write(int(descriptor), message)  # a child that it forked may keep it open
            if message == _STEPS:
                os.close(int(descriptor))


def _wait(reader: int, program: str, pause_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the program may continue
    os.close(sys.stdout.fileno())  # readers of the program's output wait for the program alone
    if missing := missing_part(reader, pause_s):
        text = f"Warning: the program {program} runs, and has {missing} for {pause_s:g} s"
        print(text, file=sys.stderr, flush=True)


def missing_part(reader: int, pause_s: float) -> str:
    missing = "no Robot()"
    while select.select([reader], [], [], pause_s)[0]:
        if os.read(reader, 1) != _ROBOT:
            return ""
        missing = "not called robot.step"
    return missing
