"""Signals before, during and after an event loop, and their exit codes.

Imports nothing slow: it is imported before everything else.
"""

import os
import signal
import time

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_BY_SIGNAL = {signal.SIGINT: 130, signal.SIGTERM: 143}
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    EXIT_BY_SIGNAL[signal.SIGHUP] = 129  # the terminal was closed; nohup ignores that
# timeout(1), make and shells send a signal that the whole process group got once more.
ECHO_S = 0.5


def leave_at_once_on_signals() -> None:
    """Let these signals end the process at once and silently, with their exit code.

    For phases without anything to clean up: an exception during an import may be lost, or crash a
    library written in C; after the end nothing catches it.
    """
    for number, code in EXIT_BY_SIGNAL.items():
        signal.signal(number, lambda *_, code=code: os._exit(code))


class StopSignal:
    """Handles Ctrl-C, SIGTERM and a closed terminal in the running event loop.

    The first signal sets `event`, `code` is its exit code (None before), and it calls `at_once`;
    one that comes ECHO_S later or more ends the process at once.
    """

    def __init__(self) -> None:
        import asyncio

        self.event = asyncio.Event()
        self.code: int | None = None
        self._since_s = -ECHO_S  # of the first signal
        self.at_once: Callable[[], None] | None = None
        loop = asyncio.get_running_loop()
        for number, code in EXIT_BY_SIGNAL.items():
            loop.add_signal_handler(number, self._on_signal, code)

    def output_lost(self, error: OSError) -> None:
        """End the run, as Ctrl-C does, when the reader of the output has gone (`hilgw ... | head`).

        Any other error of the output is one of the run.
        """
        if isinstance(error, BrokenPipeError) and self.code is None:
            self._begin(EXIT_BY_SIGNAL[signal.SIGINT])

    def last_words(self) -> None:
        """Let a signal end the process at once from here on, even when the output blocks.

        Everything is closed, and only output is left.
        """
        for number, code in EXIT_BY_SIGNAL.items():
            signal.signal(number, lambda *_, code=code: self._leave(code))

    def _on_signal(self, code: int) -> None:
        if self.code is None:
            self._begin(code)
        else:
            self._leave(code)

    def _begin(self, code: int) -> None:
        self.code, self._since_s = code, time.monotonic()
        self.event.set()
        if self.at_once is not None:
            self.at_once()

    def _leave(self, code: int) -> None:
        if time.monotonic() - self._since_s >= ECHO_S:
            os._exit(code)
