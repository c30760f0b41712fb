"""Whether a program that `hilgw exec` has become makes a Robot(): both ends of a pipe.

A process beside the program waits at the one end. The program has the other: it closes it with its
Robot(), and when it ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import MutableMapping
from contextlib import suppress

from hilgw.protocols.webots.requests import PAUSE_S

VARIABLE = "HILGW_EXEC"


def watch(program: str, pause_s: float = PAUSE_S) -> dict[str, str]:
    """Has a process name the program that this one becomes, when it makes no Robot() for so long.
    Returns the variables for the program."""
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
    return {VARIABLE: _named(writer)}


def has_robot(environment: MutableMapping[str, str] = os.environ) -> None:
    """The program makes its Robot()."""
    name = environment.pop(VARIABLE, "")
    with suppress(ValueError, OSError):  # it was closed for a child of the program
        descriptor = int(name.partition(":")[0])
        if _named(descriptor) == name:
            os.close(descriptor)


def _wait(reader: int, program: str, pause_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the program may go on
    os.close(sys.stdout.fileno())  # who reads the program's output waits for the program alone
    if not select.select([reader], [], [], pause_s)[0]:
        text = f"the program {program} runs, and has no Robot() for {pause_s:g} s"
        print(f"Warning: {text}", file=sys.stderr, flush=True)


def _named(descriptor: int) -> str:
    """The pipe, and not another file that has its number later."""
    status = os.fstat(descriptor)
    return f"{descriptor}:{status.st_dev}:{status.st_ino}"
