"""The person at the terminal: single keys, without an echo."""

import os
import select
import termios
from contextlib import AbstractContextManager, suppress

from hilgw.cli.keys import single_keys
from hilgw.errors import HilgwError


class Person:
    """The person who watches the robot; `terminal` is the descriptor of the keys."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    def at_the_keys(self) -> AbstractContextManager[None]:
        r"""Read keys one by one in this block.

        Ctrl-C is still a signal; Ctrl-Z and Ctrl-\ are keys as others: they would leave a motor
        alone.
        """
        return single_keys(self._terminal, termios.VSUSP, termios.VQUIT)

    def show(self, text: str) -> None:
        """Show the text on lines of its own, where the terminal is still there."""
        with suppress(OSError):
            print("".join(c if c.isprintable() or c == "\n" else "?" for c in text), flush=True)

    def ask(self, question: str, keys: str) -> str:
        """Return the one of these keys that is pressed; what was typed before does not count."""
        self.attend()
        self.show(question)
        while True:
            key = os.read(self._terminal, 1).decode("latin-1").lower()
            if not key:
                raise HilgwError("the terminal was closed")
            if key in keys:
                return key

    def attend(self) -> None:
        """Begin a motion: what was typed before does not count."""
        termios.tcflush(self._terminal, termios.TCIFLUSH)

    def pressed(self) -> bool:
        """Return whether a key was pressed since."""
        return bool(select.select([self._terminal], [], [], 0)[0])
