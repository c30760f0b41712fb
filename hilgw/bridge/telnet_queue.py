"""Which of the unsent bytes of a telnet stream are data: the others are replies to commands."""

from __future__ import annotations

from collections import deque

_IAC = b"\xff"


class TelnetQueue:
    """The last bytes of the stream, as they go on the wire. Data has each IAC twice."""

    def __init__(self) -> None:
        self._parts: deque[tuple[bytes, bool]] = deque()  # whether it is data
        self._size = 0

    def add(self, wire: bytes, unsent: int, *, is_data: bool) -> None:
        """These bytes were written; `unsent` bytes of the stream are unsent now."""
        self._parts.append((wire, is_data))
        self._size += len(wire)
        self._forget_sent(unsent)

    def data_bytes(self, unsent: int) -> int:
        """How many bytes of data are among the last `unsent` bytes of the stream. A byte of data
        whose last byte on the wire is unsent is unsent."""
        self._forget_sent(unsent)
        sent, size = self._size - unsent, 0
        for wire, is_data in self._parts:
            if is_data:
                size += _data_bytes(wire, len(wire)) - _data_bytes(wire, sent)
            sent = 0
        return size

    def _forget_sent(self, unsent: int) -> None:
        parts = self._parts
        while parts and self._size - len(parts[0][0]) >= unsent:
            self._size -= len(parts.popleft()[0])


def _data_bytes(wire: bytes, end: int) -> int:
    """The bytes of data that are complete in wire[:end]."""
    escapes = wire.count(_IAC, 0, end)
    return end - escapes + escapes // 2
