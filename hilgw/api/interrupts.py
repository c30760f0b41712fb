"""Ctrl-C in a program: its request to the simulator ends first, then KeyboardInterrupt comes."""

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NoReturn


class Interrupts:
    """Blocks of `with` that delay Ctrl-C until their end, or until a second Ctrl-C.

    The wait lasts as long as `wait` does, which returns False if nothing came. Blocks may be
    nested. They act only if Python's own handler is set, and in the main thread, which gets the
    signal.
    """

    def __init__(self, wait: Callable[[], bool]) -> None:
        self._wait = wait
        self._depth = 0
        self._pending = False
        self._raised: BaseException | None = None

    def begin(self) -> None:
        """Replace Python's handler; a thread, which gets no signals, has none to replace."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with suppress(ValueError):
                signal.signal(signal.SIGINT, self._interrupt)
                sys.excepthook, self._hook = self._quietly, sys.excepthook

    def end(self) -> None:
        """Set Python's handler again.

        An exception on its way stays without a traceback.
        """
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            with suppress(ValueError):
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._raised is None and sys.excepthook == self._quietly:
            sys.excepthook = self._hook

    def __enter__(self) -> None:
        self._depth += _gets_signals()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= _gets_signals()
        if self._pending and not self._depth:
            self._pending = False
            if error is None:
                self._raise()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._depth:
            signal.default_int_handler(number, frame)
        first, self._pending = not self._pending, True
        if not (first and self._wait()):
            self._pending = False
            self._raise()

    def _raise(self) -> NoReturn:
        self._raised = KeyboardInterrupt()
        raise self._raised

    def _quietly(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if error is not self._raised:
            self._hook(kind, error, trace)


def _gets_signals() -> bool:
    return threading.get_ident() == threading.main_thread().ident
