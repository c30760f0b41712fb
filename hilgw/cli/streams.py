"""Standard streams: recovery of those that are closed or full, single keys of a terminal.

Imports nothing slow: it is imported before everything else.
"""

import os
import sys
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator


def recover() -> None:
    """Connects closed standard streams to /dev/null; escapes characters stdout cannot encode.

    A free descriptor 0 to 2 would go to the next file that is opened, such as a serial port, and
    our output with it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def discard_unwritten() -> None:
    """Drops output that could not be written, so that the interpreter does not retry at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(null, stream.fileno())
    os.close(null)


@contextmanager
def single_keys(descriptor: int, *plain: int) -> "Iterator[None]":
    """Each key is read at once and not shown; Ctrl-C still ends. Afterwards the terminal is as it
    was. No terminal: nothing changes. plain: places of the terminal's control characters, such as
    VSUSP (Ctrl-Z), whose keys are as all others."""
    if not os.isatty(descriptor):
        yield
        return
    import termios  # not on Windows

    before, changed = termios.tcgetattr(descriptor), termios.tcgetattr(descriptor)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    for key in plain:
        changed[6][key] = b"\0"
    termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        with suppress(termios.error):  # it was closed
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
