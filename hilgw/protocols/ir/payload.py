"""Payload bytes in the command fields of consecutive codes.

A command of eight bits or more carries one byte. A shorter one carries a nibble, high nibble first
and marked by the fifth bit. Therefore a lost code costs one byte and keeps the order of all others;
and no two consecutive codes are equal, so none is taken for a repeat.
"""

UPPER = 0x10


def codes_per_byte(command_bits: int) -> int:
    """Return 1, or 2 for commands of less than eight bits."""
    return 1 if command_bits >= 8 else 2


def encode_bytes(data: bytes, command_bits: int) -> list[int]:
    """Return the commands for these bytes, with 5 or more `command_bits`."""
    if codes_per_byte(command_bits) == 1:
        return list(data)
    return [nibble for byte in data for nibble in (UPPER | byte >> 4, byte & 0x0F)]


class ByteDecoder:
    """Decoder from commands back to bytes.

    lost: nibbles without their other nibble, and commands without payload.
    """

    def __init__(self, command_bits: int) -> None:
        self._whole = codes_per_byte(command_bits) == 1
        self._upper: int | None = None
        self.lost = 0

    def feed(self, command: int) -> bytes:
        """Take one command; return the byte that it completes, if any."""
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
        """Note that the sequence of codes was interrupted."""
        self.lost += self._upper is not None
        self._upper = None
