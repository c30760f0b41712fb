"""Words for people that never wait for them: a terminal that is stopped (Ctrl-S, a stalled ssh) or
a pipe that nobody reads holds up neither packets nor motors."""

from __future__ import annotations

import os
import select
import stat
from typing import TextIO

HELD_BYTES = 1 << 16
PATIENCE_S = 0.3


def console_writer(stream: TextIO) -> TextIO | ConsoleWriter:
    """The way out to people: the stream itself where it never waits (a file), else an Outlet."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or os.isatty(number)):
            return stream
        stream.flush()
        # Opened again, for a flag of its own: whoever gave us the stream keeps one that waits.
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return ConsoleWriter(os.open(f"/proc/self/fd/{number}", flags), stream.encoding)
    except (OSError, ValueError, AttributeError):  # no descriptor, no /proc, another's terminal
        return stream


class ConsoleWriter:
    """What is not taken at once is kept up to HELD_BYTES; then lines are left out and counted."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._held = bytearray()
        self._left_out = 0

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, text: str) -> int:
        """Takes it all, always; see flush."""
        data = text.encode(self._encoding, "backslashreplace")
        if self._held and (self._left_out or len(self._held) + len(data) > HELD_BYTES):
            self._left_out += text.count("\n")
        else:
            self._held += self._apology() + data
        return len(text)

    def flush(self) -> None:
        """As much as is taken now. OSError: nobody reads any more."""
        try:
            while self._held:
                del self._held[: os.write(self._descriptor, self._held)]
        except BlockingIOError:
            pass

    def finish(self) -> None:
        """The rest, if somebody takes it soon. The outlet is closed."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        try:
            self.flush()
            while self._held and poll.poll(PATIENCE_S * 1000):
                self.flush()
            self._held += self._apology()
            self.flush()
        except OSError:
            pass
        finally:
            os.close(self._descriptor)

    def _apology(self) -> bytes:
        count, self._left_out = self._left_out, 0
        text = f"... {count} lines left out: nobody read them\n"
        return text.encode(self._encoding) if count else b""


def finish(out: TextIO | ConsoleWriter) -> None:
    """Ends what `console_writer` began."""
    if isinstance(out, ConsoleWriter):
        out.finish()
