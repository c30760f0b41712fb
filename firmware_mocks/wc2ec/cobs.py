"""Frames as a microcontroller makes them: COBS over message and CRC-16, then one zero byte.

CRC-16/CCITT-FALSE, high byte first.
"""

from firmware_mocks._framing.crc import CCITT_FALSE, CrcField
from firmware_mocks._framing.framings import Cobs

LONGEST = 509  # bytes of a message; a longer one is noise

crc16 = CCITT_FALSE.of


class FrameReader(Cobs):
    """Bytes in any chunks -> the messages of good frames; `bad` counts the others."""

    def __init__(self) -> None:
        super().__init__(CrcField(CCITT_FALSE), LONGEST)


def frame(message: bytes) -> bytes:
    return FrameReader().encode(message)
