"""Ctrl-C, SIGTERM and a closed terminal, for every command that lasts."""

from __future__ import annotations

import asyncio
import os

from hilgw.cli.signals import EXIT_BY_SIGNAL, leave_at_once_on_signals


class Stop:
    """Watches for signals on the running loop. The first one sets `event`, and `code` is its exit
    code (None before); the second one ends the process at once."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.code: int | None = None
        loop = asyncio.get_running_loop()
        for number, code in EXIT_BY_SIGNAL.items():
            loop.add_signal_handler(number, self._on_signal, code)

    def last_words(self) -> None:
        """All is closed and only words are left: from here on a signal ends the process at once,
        also when nobody takes them."""
        leave_at_once_on_signals()

    def _on_signal(self, code: int) -> None:
        if self.code is not None:
            os._exit(code)
        self.code = code
        self.event.set()
