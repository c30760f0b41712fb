"""NEC and its relatives: bits told apart by the space behind a mark, lowest bit first.

A frame is a header (9 ms light, 4.5 ms dark), 32 bits and a closing mark; a bit is 562 us of light
and 562 (0) or 1687 (1) us of dark. The relatives differ in what the bits are and in how a held
key shows.
"""

from __future__ import annotations

from hilgw.protocols.ir.base import (
    AGAIN,
    SHORT_FRAME,
    WHOLE_FRAME,
    Again,
    Code,
    Frame,
    Traits,
    bits_of,
    near,
    number_of,
)

HEADER_MARK, HEADER_SPACE, AGAIN_SPACE = 9000, 4500, 2250
MARK, SPACE_0, SPACE_1 = 562, 562, 1687
BITS = 32
WHOLE = 2 + 2 * BITS + 1  # durations of a frame
SHORT = 3  # and of the frame of a held key
CARRIER_HZ, PERIOD_US, GAP_US = 38_000, 108_000, 8_000


class Nec:
    """8 or 16 address bits, 8 or 16 command bits; what has 8 is followed by its inverse."""

    def __init__(self, name: str, title: str, address: int, command: int, held: str) -> None:
        self.traits = Traits(
            name=name,
            title=title,
            carrier_hz=CARRIER_HZ,
            period_us=PERIOD_US,
            gap_us=GAP_US,
            address_bits=address,
            command_bits=command,
            held=held,
        )

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        word = _half(code.address, self.traits.address_bits)
        word |= _half(code.command, self.traits.command_bits) << 16
        frame = [HEADER_MARK, HEADER_SPACE]
        for bit in bits_of(word, BITS):
            frame += (MARK, SPACE_1 if bit else SPACE_0)
        return (*frame, MARK)

    def decode(self, frame: Frame) -> Code | Again | None:
        if len(frame) not in (SHORT, WHOLE) or not near(frame[0], HEADER_MARK):
            return None
        if not all(near(mark, MARK) for mark in frame[2::2]):
            return None
        if len(frame) == SHORT:
            return AGAIN if near(frame[1], AGAIN_SPACE) else None
        if not near(frame[1], HEADER_SPACE):
            return None
        bits = []
        for space in frame[3::2]:
            if not (near(space, SPACE_0) or near(space, SPACE_1)):
                return None
            bits.append(int(near(space, SPACE_1)))
        address = _whole(number_of(bits[:16]), self.traits.address_bits)
        command = _whole(number_of(bits[16:]), self.traits.command_bits)
        return None if address is None or command is None else Code(address, command)

    def is_whole(self, frame: Frame) -> bool:
        if len(frame) == SHORT:
            return near(frame[1], AGAIN_SPACE)
        return len(frame) == WHOLE


def _half(value: int, bits: int) -> int:
    """Half a frame: the value, and its inverse where there is room for it."""
    return value if bits == 16 else value | (value ^ 0xFF) << 8


def _whole(half: int, bits: int) -> int | None:
    """The value of half a frame; None when the inverse does not fit."""
    if bits == 16:
        return half
    return half & 0xFF if half & 0xFF ^ half >> 8 == 0xFF else None


NEC = Nec("nec", "NEC", 8, 8, SHORT_FRAME)
NEC2 = Nec("nec2", "NEC2", 8, 8, WHOLE_FRAME)
NEC_EXT = Nec("nec_ext", "extended NEC", 16, 8, SHORT_FRAME)
ONKYO = Nec("onkyo", "Onkyo", 16, 16, SHORT_FRAME)
SHORT_REPEAT = (HEADER_MARK, AGAIN_SPACE, MARK)
"""The frame a held NEC key sends every PERIOD_US."""
