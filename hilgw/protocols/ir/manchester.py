"""RC5 and RC6: Manchester bits, highest first, with a toggle bit that each key press inverts.

Every bit is half mark, half space; the order is its value, and the two codes use opposite orders. A
frame is therefore a sequence of half bits, and a duration is one or more half bits.
"""

from collections.abc import Sequence
from itertools import groupby

from hilgw.protocols.ir.base import TOGGLE, Code, Frame, Repeat, Traits, bits_of, near, number_of

Levels = list[bool]

STRETCH_US = 200  # less than elsewhere: a half bit of RC6 is short
RC5_HALF = 889
RC6_HALF = 444
HEADER_MARK, HEADER_SPACE = 6 * RC6_HALF, 2 * RC6_HALF
RC6_TOGGLE_AT = 4  # after the start bit and three mode bits; its half bits are twice as long
MODE_0, MODE_6 = 0b000, 0b110


def runs(levels: Levels, half_us: int) -> tuple[int, ...]:
    """Return the durations of half bits, without spaces before the first or after the last mark."""
    lengths = [(level, len(list(run))) for level, run in groupby(levels)]
    lengths = lengths[not lengths[0][0] :]
    lengths = lengths[: None if lengths[-1][0] else -1]
    return tuple(half_us * length for _, length in lengths)


def levels_of(frame: Frame, half_us: int, widths: Sequence[int], first: bool) -> Levels | None:
    """Return the levels of a frame's half bits; None if a duration does not fit.

    The two halves of a bit differ, so each has its own duration; the second half of a bit and the
    first half of the next may share one.

    Args:
        frame: The frame.
        half_us: The duration of a half bit.
        widths: The width of each half bit, in units of half_us.
        first: The level of the first half bit.
    """
    levels: Levels = [] if first else [False]
    last = len(widths) - 1
    for index, us in enumerate(frame):
        begin = len(levels)
        if begin > last:
            return None
        one, both = widths[begin], sum(widths[begin : begin + 2])
        # Exactly in the middle: two single half bits that are short, or one wide one that is long.
        middle = (one + both) * half_us - (one == 1)
        shared = begin % 2 == 1 and begin < last and 2 * us > middle
        if not near(us, (both if shared else one) * half_us, STRETCH_US):
            return None
        levels += [index % 2 == 0] * (1 + shared)
    return levels


def is_all(levels: Levels | None, widths: Sequence[int]) -> bool:
    """Return True if a frame that ended with a mark is complete except for a space."""
    return levels is not None and len(levels) >= len(widths) - 1


def high_first(value: int, count: int) -> list[int]:
    """Return the bits of a number, highest first."""
    return bits_of(value, count)[::-1]


def bits_of_levels(levels: Levels | None, one: tuple[bool, bool], count: int) -> list[int] | None:
    """Return `count` bits, including the space after the last mark.

    Return None for another number of bits, or if both halves of a bit are equal.
    """
    levels = [] if levels is None else levels
    levels = levels + [False] * (len(levels) == 2 * count - 1)
    pairs = list(zip(levels[::2], levels[1::2], strict=False))
    if len(levels) != 2 * count or any(before == behind for before, behind in pairs):
        return None
    return [int(pair == one) for pair in pairs]


class Rc5:
    """RC5 and RC5X: start, inverse of command bit 7, toggle, 5 address bits, 6 command bits.

    A 1 is space, then mark.
    """

    traits = Traits(
        name="rc5",
        title="RC5",
        carrier_hz=36_000,
        period_us=113_800,
        gap_us=4_000,
        address_bits=5,
        command_bits=7,
        held=TOGGLE,
    )
    _ONE = (False, True)
    _WIDTHS = (1,) * 28

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        field = ~code.command >> 6 & 1
        bits = [1, field, code.toggle & 1, *high_first(code.address, 5)]
        bits += high_first(code.command & 0x3F, 6)
        return runs([level for bit in bits for level in (not bit, bool(bit))], RC5_HALF)

    def decode(self, frame: Frame) -> Code | Repeat | None:
        bits = bits_of_levels(self._levels(frame), self._ONE, 14)
        if bits is None or not bits[0]:
            return None
        command = number_of(bits[:7:-1]) | (not bits[1]) << 6
        return Code(number_of(bits[7:2:-1]), command, bits[2])

    def is_whole(self, frame: Frame) -> bool:
        return len(frame) % 2 == 1 and is_all(self._levels(frame), self._WIDTHS)

    def _levels(self, frame: Frame) -> Levels | None:
        return levels_of(frame, RC5_HALF, self._WIDTHS, first=False)


class Rc6:
    """RC6: header, start bit 1, mode, a toggle bit of twice the length, address, command.

    A 1 is mark, then space. In mode 6 the first address bit is always 1 and not part of the
    address.
    """

    _ONE = (True, False)

    def __init__(self, name: str, title: str, mode: int, address_bits: int) -> None:
        self.traits = Traits(
            name=name,
            title=title,
            carrier_hz=36_000,
            period_us=107_000,
            gap_us=2_200,
            address_bits=address_bits,
            command_bits=8,
            held=TOGGLE,
        )
        self._mode = mode
        self._fixed = [1] if mode == MODE_6 else []
        before, behind = 2 * RC6_TOGGLE_AT, 2 * (len(self._fixed) + address_bits + 8)
        self._widths = (1,) * before + (2, 2) + (1,) * behind

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        bits = [1, *high_first(self._mode, 3), code.toggle & 1, *self._fixed]
        bits += high_first(code.address, self.traits.address_bits) + high_first(code.command, 8)
        halves = [level for bit in bits for level in (bool(bit), not bit)]
        levels = [
            level for level, width in zip(halves, self._widths, strict=True) for _ in range(width)
        ]
        return (HEADER_MARK, HEADER_SPACE, *runs(levels, RC6_HALF))

    def decode(self, frame: Frame) -> Code | Repeat | None:
        bits = bits_of_levels(self._levels(frame), self._ONE, len(self._widths) // 2)
        wanted = [1, *high_first(self._mode, 3)]
        if bits is None or bits[:4] != wanted:
            return None
        data = bits[RC6_TOGGLE_AT + 1 :]
        if data[: len(self._fixed)] != self._fixed:
            return None
        value = number_of(data[len(self._fixed) :][::-1])
        return Code(value >> 8, value & 0xFF, bits[RC6_TOGGLE_AT])

    def is_whole(self, frame: Frame) -> bool:
        return len(frame) % 2 == 1 and is_all(self._levels(frame), self._widths)

    def _levels(self, frame: Frame) -> Levels | None:
        if len(frame) < 2 or not (near(frame[0], HEADER_MARK) and near(frame[1], HEADER_SPACE)):
            return None
        return levels_of(frame[2:], RC6_HALF, self._widths, first=True)


RC5 = Rc5()
RC6 = Rc6("rc6", "RC6", MODE_0, 8)
RC6A = Rc6("rc6a", "RC6A", MODE_6, 22)
