"""SIRC (Sony): the length of a mark is the value of a bit, lowest bit first, no closing mark.

12 bits are 7 of command and 5 of address; 15 bits 7 and 8; 20 bits 7, 5 and 8 more, which are
the upper bits of the address here. Only the gap after a frame shows its length.
"""

from hilgw.protocols.ir.base import (
    WHOLE_FRAME,
    Code,
    Frame,
    Repeat,
    Traits,
    bits_of,
    near,
    number_of,
)

HEADER_MARK, SPACE = 2400, 600
MARK_0, MARK_1 = 600, 1200
COMMAND_BITS = 7


class Sirc:
    """SIRC with 5, 8 or 13 address bits."""

    def __init__(self, name: str, address_bits: int) -> None:
        self.traits = Traits(
            name=name,
            title=f"SIRC-{COMMAND_BITS + address_bits}",
            carrier_hz=40_000,
            period_us=45_000,
            gap_us=3_000,
            address_bits=address_bits,
            command_bits=COMMAND_BITS,
            sends=3,
            held=WHOLE_FRAME,
            has_length=False,
        )
        self._bits = COMMAND_BITS + address_bits

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        frame = [HEADER_MARK]
        for bit in bits_of(code.command | code.address << COMMAND_BITS, self._bits):
            frame += (SPACE, MARK_1 if bit else MARK_0)
        return tuple(frame)

    def decode(self, frame: Frame) -> Code | Repeat | None:
        if len(frame) != 1 + 2 * self._bits or not near(frame[0], HEADER_MARK):
            return None
        marks = frame[2::2]
        if not all(near(space, SPACE) for space in frame[1::2]):
            return None
        if not all(near(mark, MARK_0) or near(mark, MARK_1) for mark in marks):
            return None
        word = number_of([int(near(mark, MARK_1)) for mark in marks])
        return Code(word >> COMMAND_BITS, word & (1 << COMMAND_BITS) - 1)

    def is_whole(self, frame: Frame) -> bool:
        return False


SIRC = Sirc("sirc", 5)
SIRC15 = Sirc("sirc15", 8)
SIRC20 = Sirc("sirc20", 13)
