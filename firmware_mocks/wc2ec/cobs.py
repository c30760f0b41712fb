"""Frames as a microcontroller makes them: COBS over message and CRC-16, then one zero byte.

CRC-16/CCITT-FALSE (poly 0x1021, start 0xFFFF, not reflected), high byte first. Consistent
Overhead Byte Stuffing: Cheshire and Baker, 1999. Written out, so that it checks the library that
the gateway uses.
"""

from __future__ import annotations

LONGEST = 512  # bytes of an encoded frame; a longer one is noise


def crc16(data: bytes) -> int:
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def stuff(data: bytes) -> bytes:
    """COBS: each block is a code byte, one more than its length, and bytes without a zero."""
    out = bytearray()
    block = bytearray()
    for byte in data:
        if byte:
            block.append(byte)
        if not byte or len(block) == 254:
            out.append(len(block) + 1)
            out += block
            block.clear()
            full = bool(byte)
        else:
            full = False
    if not data or block or not full:
        out.append(len(block) + 1)
        out += block
    return bytes(out)


def unstuff(data: bytes) -> bytes | None:
    """The decoded bytes; None when `data` is not COBS."""
    out = bytearray()
    at = 0
    while at < len(data):
        code = data[at]
        if code == 0 or at + code > len(data):
            return None
        out += data[at + 1 : at + code]
        at += code
        if code < 255 and at < len(data):
            out.append(0)
    return bytes(out)


def frame(message: bytes) -> bytes:
    return stuff(message + crc16(message).to_bytes(2, "big")) + b"\0"


class FrameReader:
    """Bytes in any chunks -> the messages of good frames; `bad` counts the others."""

    def __init__(self) -> None:
        self.bad = 0
        self._buffer = bytearray()
        self._skipping = False

    def clear(self) -> None:
        self._buffer.clear()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        messages = []
        for byte in data:
            if byte:
                if len(self._buffer) < LONGEST:
                    self._buffer.append(byte)
                else:
                    self._skipping = True
                continue
            if self._buffer:
                message = None if self._skipping else self._open(bytes(self._buffer))
                if message is None:
                    self.bad += 1
                else:
                    messages.append(message)
            self.clear()
        return messages

    @staticmethod
    def _open(data: bytes) -> bytes | None:
        inner = unstuff(data)
        if inner is None or len(inner) < 2:
            return None
        message = inner[:-2]
        return message if crc16(message) == int.from_bytes(inner[-2:], "big") else None
