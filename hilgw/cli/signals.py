"""Signals outside a loop, and their exit codes. Kept light: it is imported before all else."""

import os
import signal

EXIT_BY_SIGNAL = {signal.SIGINT: 130, signal.SIGTERM: 143}
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    EXIT_BY_SIGNAL[signal.SIGHUP] = 129  # the terminal was closed; nohup ignores that


def leave_at_once_on_signals() -> None:
    """These signals end the process from here on, with their exit code and no word.

    For when there is nothing to clean up: an exception in the middle of an import may be lost, or
    crash a library written in C; one after the end has nobody to catch it.
    """
    for number, code in EXIT_BY_SIGNAL.items():
        signal.signal(number, lambda *_, code=code: os._exit(code))
