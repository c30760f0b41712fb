"""NEC and its variants: the space after a mark is the value of a bit, lowest bit first.

A frame is a header (9 ms mark, 4.5 ms space), 32 bits and a closing mark; a bit is a mark of 562 us
and a space of 562 (0) or 1687 (1) us. The variants differ in the meaning of the bits and in how a
held key is sent.
"""

from hilgw.protocols.ir.base import (
    REPEAT,
    SHORT_FRAME,
    WHOLE_FRAME,
    Code,
    Frame,
    Repeat,
    Traits,
    bits_of,
    near,
    number_of,
)

HEADER_MARK, HEADER_SPACE, REPEAT_SPACE = 9000, 4500, 2250
MARK, SPACE_0, SPACE_1 = 562, 562, 1687
BITS = 32
WHOLE = 2 + 2 * BITS + 1  # number of durations of a frame
SHORT = 3  # of a repeat frame
CARRIER_HZ, PERIOD_US, GAP_US = 38_000, 108_000, 8_000


class Nec:
    """8 or 16 address bits, 8 or 16 command bits; a field of 8 bits is followed by its inverse."""

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

    def decode(self, frame: Frame) -> Code | Repeat | None:
        if len(frame) not in (SHORT, WHOLE) or not near(frame[0], HEADER_MARK):
            return None
        if not all(near(mark, MARK) for mark in frame[2::2]):
            return None
        if len(frame) == SHORT:
            return REPEAT if near(frame[1], REPEAT_SPACE) else None
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
            return near(frame[1], REPEAT_SPACE)
        return len(frame) == WHOLE


def _half(value: int, bits: int) -> int:
    """Return half a frame: the value, followed by its inverse for 8 bits."""
    return value if bits == 16 else value | (value ^ 0xFF) << 8


def _whole(half: int, bits: int) -> int | None:
    if bits == 16:
        return half
    return half & 0xFF if half & 0xFF ^ half >> 8 == 0xFF else None


NEC = Nec("nec", "NEC", 8, 8, SHORT_FRAME)
NEC2 = Nec("nec2", "NEC2", 8, 8, WHOLE_FRAME)
NEC_EXT = Nec("nec_ext", "extended NEC", 16, 8, SHORT_FRAME)
ONKYO = Nec("onkyo", "Onkyo", 16, 16, SHORT_FRAME)
REPEAT_FRAME = (HEADER_MARK, REPEAT_SPACE, MARK)
"""The frame that a held NEC key sends every PERIOD_US."""
