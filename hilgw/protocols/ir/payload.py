"""Bytes in the commands of codes, one after the other.

A command of eight bits or more is one byte. A shorter one carries half a byte, the upper half
first and marked by its fifth bit, so that a lost code costs one byte and not the order of all
that follow; and no two codes in a row are alike, so none is taken for a repeat.
"""

from __future__ import annotations

UPPER = 0x10


def codes_per_byte(command_bits: int) -> int:
    return 1 if command_bits >= 8 else 2


def to_commands(data: bytes, command_bits: int) -> list[int]:
    """The commands that carry these bytes. command_bits: 5 or more."""
    if codes_per_byte(command_bits) == 1:
        return list(data)
    return [half for byte in data for half in (UPPER | byte >> 4, byte & 0x0F)]


class Octets:
    """Commands back to bytes. lost: halves without their other half, and commands that carry no
    byte."""

    def __init__(self, command_bits: int) -> None:
        self._whole = codes_per_byte(command_bits) == 1
        self._upper: int | None = None
        self.lost = 0

    def feed(self, command: int) -> bytes:
        """One command; the byte it completes, if any."""
        if self._whole:
            if command > 0xFF:
                self.lost += 1
                return b""
            return bytes((command,))
        upper, self._upper = self._upper, None
        if command & ~0x0F == UPPER:
            self.lost += upper is not None
            self._upper = command & 0x0F
            return b""
        if upper is None or command > 0x0F:
            self.lost += 1
            return b""
        return bytes((upper << 4 | command,))

    def reset(self) -> None:
        """The row of codes was interrupted."""
        self.lost += self._upper is not None
        self._upper = None
