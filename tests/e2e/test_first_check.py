"""`hilgw doctor ROBOT` at a terminal, with a robot in a process of its own that a person watches."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import COMMAND, environment

STARTS = "any key stops it"


class Terminal:
    """The command at a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.pid, self._keys = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execve(COMMAND[0], [*COMMAND, *arguments], environment(folder))
        self.before = termios.tcgetattr(self._keys)
        self._read = 0
        self._text = ""
        os.set_blocking(self._keys, False)

    def text(self) -> str:
        try:
            self._text += os.read(self._keys, 65536).decode().replace("\r\n", "\n")
        except (BlockingIOError, OSError):
            pass  # nothing new, or it has ended
        return self._text

    def see(self, words: str) -> str:
        """Waits for words behind those that were seen; returns what is before them."""
        wait_until(lambda: words in self.text()[self._read :], what=words)
        before, _, _ = self._text[self._read :].partition(words)
        self._read += len(before) + len(words)
        return before

    def type(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self._keys)

    def end(self) -> int:
        """The exit code."""
        ended: list[int] = []

        def has_ended() -> bool:
            self.text()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            ended[:] = [os.waitstatus_to_exitcode(status)] if pid else []
            return bool(ended)

        wait_until(has_ended)
        os.close(self._keys)
        return ended[0]
