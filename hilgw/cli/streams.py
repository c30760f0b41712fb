"""Recovery of standard streams that are closed or full.

Imports nothing slow: it is imported before everything else.
"""

import os
import sys


def recover() -> None:
    """Connect closed standard streams to /dev/null; escape characters stdout cannot encode.

    A free descriptor 0 to 2 would go to the next file that is opened, such as a serial port, and
    our output with it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = _null()
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
    """Drop output that could not be written, so that the interpreter does not retry at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            null = _null()
            os.dup2(null, stream.fileno())
            os.close(null)


def _null() -> int:
    """Open /dev/null, or memory in its place where /dev is empty."""
    try:
        return os.open(os.devnull, os.O_RDWR)
    except FileNotFoundError:
        return os.memfd_create("null")  # Linux; /dev/null is there on all others
