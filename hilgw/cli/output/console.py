"""A writer for the console that never blocks.

A stopped terminal (Ctrl-S, a stalled ssh) or a pipe without a reader delays neither packets nor
motors.
"""

import os
import select
import stat
from contextlib import suppress
from typing import TextIO

HELD_BYTES = 1 << 16
PATIENCE_S = 0.3


def console_writer(stream: TextIO) -> "TextIO | ConsoleWriter":
    """Return the stream itself when it never blocks (a file), else a ConsoleWriter on it."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or os.isatty(number)):
            return stream
        stream.flush()
        # Opened again, so that the original stream of other processes keeps blocking.
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return ConsoleWriter(os.open(f"/proc/self/fd/{number}", flags), stream.encoding)
    except (
        OSError,
        ValueError,
        AttributeError,
    ):  # no descriptor, no /proc, the terminal of another user
        return stream


class ConsoleWriter:
    """A buffer of up to HELD_BYTES of unwritten text, which then drops and counts whole lines."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._held = bytearray()
        self._dropped = 0

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, text: str) -> int:
        """Buffer or drop the text; see flush."""
        data = text.encode(self._encoding, "backslashreplace")
        if self._held and (self._dropped or len(self._held) + len(data) > HELD_BYTES):
            self._dropped += text.count("\n")
        else:
            self._held += self._dropped_lines() + data
        return len(text)

    def flush(self) -> None:
        """Write as much as possible without blocking.

        Raises:
            OSError: The reader is gone.
        """
        with suppress(BlockingIOError):  # the rest waits for the next call
            while self._held:
                del self._held[: os.write(self._descriptor, self._held)]

    def finish(self) -> None:
        """Write the rest, while the reader takes some every PATIENCE_S, and close."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        try:
            with suppress(OSError):  # the reader is gone: its lines have no other place
                self.flush()
                while self._held and poll.poll(PATIENCE_S * 1000):
                    self.flush()
                self._held += self._dropped_lines()
                self.flush()
        finally:
            os.close(self._descriptor)

    def _dropped_lines(self) -> bytes:
        count, self._dropped = self._dropped, 0
        text = f"... {count} lines dropped: not read in time\n"
        return text.encode(self._encoding) if count else b""


def finish(out: TextIO | ConsoleWriter) -> None:
    """Close a ConsoleWriter; leave any other stream open."""
    if isinstance(out, ConsoleWriter):
        out.finish()
