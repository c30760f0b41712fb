"""Single keys of a terminal."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def single_keys(descriptor: int, *plain: int) -> Iterator[None]:
    """Read each key at once in this block, without showing it; Ctrl-C still ends.

    Afterwards the terminal is as it was. No terminal: nothing changes.

    Args:
        descriptor: The file descriptor of the terminal.
        *plain: Places of the terminal's control characters, such as VSUSP (Ctrl-Z), whose keys are
            as all others.
    """
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
