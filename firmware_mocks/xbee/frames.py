"""API frames: 7E, length, frame data, checksum; escaped in mode 2."""

from __future__ import annotations

DELIMITER = 0x7E
ESCAPE = 0x7D
ESCAPED = frozenset((0x7E, 0x7D, 0x11, 0x13))
LONGEST = 512  # frame data beyond this fits no module: the length is taken for noise


def checksum(frame_data: bytes) -> int:
    return 0xFF - (sum(frame_data) & 0xFF)


def encode(frame_data: bytes, escaped: bool) -> bytes:
    """The frame on the wire. Length and checksum are those of the data before escaping."""
    body = len(frame_data).to_bytes(2, "big") + frame_data + bytes((checksum(frame_data),))
    if not escaped:
        return bytes((DELIMITER,)) + body
    wire = bytearray((DELIMITER,))
    for byte in body:
        if byte in ESCAPED:
            wire += bytes((ESCAPE, byte ^ 0x20))
        else:
            wire.append(byte)
    return bytes(wire)


class FrameReader:
    """Takes bytes one by one and gives back frame data.

    Escaped (mode 2): a bare 7E always begins a new frame. Unescaped (mode 1): a 7E inside a frame
    is data; only a bad checksum, an impossible length or `abort` (a silence) ends a broken frame.
    """

    def __init__(self, escaped: bool) -> None:
        self.escaped = escaped
        self.errors = 0
        self._body: bytearray | None = None
        self._unescape = False

    @property
    def inside(self) -> bool:
        """In the middle of a frame."""
        return self._body is not None

    def abort(self) -> None:
        """Give the frame up; the next 7E begins a new one."""
        self.errors += self.inside
        self._body = None
        self._unescape = False

    def push(self, byte: int) -> bytes | None:
        """One byte from the line; the frame data when it completes a good frame."""
        if byte == DELIMITER and (self.escaped or not self.inside):
            self.abort()
            self._body = bytearray()
            return None
        if self._body is None:
            return None
        if self.escaped and byte == ESCAPE and not self._unescape:
            self._unescape = True
            return None
        if self._unescape:
            byte ^= 0x20
            self._unescape = False
        self._body.append(byte)
        return self._complete(self._body)

    def _complete(self, body: bytearray) -> bytes | None:
        if len(body) < 2:
            return None
        length = int.from_bytes(body[:2], "big")
        if not 0 < length <= LONGEST:
            self.abort()
            return None
        if len(body) < length + 3:
            return None
        data = bytes(body[2:-1])
        if checksum(data) != body[-1]:
            self.abort()
            return None
        self._body = None
        return data
