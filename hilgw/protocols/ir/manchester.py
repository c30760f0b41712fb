"""RC5 and RC6: Manchester bits, highest first, with a toggle bit that each key press turns.

Every bit is half light, half dark; which half comes first is its value, and the two codes
disagree on that. So a frame is a row of half bits, and a duration is one or more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hilgw.protocols.ir.base import TOGGLE, Again, Code, Frame, Traits, bits_of, near, number_of

Levels = list[bool]

STRETCH_US = 200  # RC6 is so fast that a stretch is nearly half of its half bits
RC5_HALF = 889
RC6_HALF = 444
RC6_HEADER = [True] * 6 + [False] * 2  # 2666 us of light, 889 of dark
RC6_TOGGLE_AT = 4  # behind the start bit and three mode bits; its halves are twice as long
MODE_0, MODE_6 = 0b000, 0b110


def runs(levels: Levels, half_us: int) -> tuple[int, ...]:
    """The durations of half bits: dark before the first mark and behind the last is no part."""
    lengths = [(level, len(list(run))) for level, run in groupby(levels)]
    lengths = lengths[not lengths[0][0] :]
    lengths = lengths[: None if lengths[-1][0] else -1]
    return tuple(half_us * length for _, length in lengths)


def halves(us: int, half_us: int) -> int:
    """How many half bits a duration is, to the nearest."""
    return (us + half_us // 2) // half_us


def levels_of(frame: Frame, half_us: int, allowed: Sequence[int]) -> Levels | None:
    """The half bits of a frame; None when a duration is not one of the allowed lengths."""
    levels: Levels = []
    for place, us in enumerate(frame):
        length = halves(us, half_us)
        if length not in allowed or not near(us, length * half_us, STRETCH_US):
            return None
        levels += [place % 2 == 0] * length
    return levels


def high_first(value: int, count: int) -> list[int]:
    return bits_of(value, count)[::-1]


def bits_of_pairs(levels: Levels, one: tuple[bool, bool]) -> list[int] | None:
    """Bits from half bits; None when both halves of one are alike."""
    pairs = list(zip(levels[::2], levels[1::2], strict=True))
    if any(first == second for first, second in pairs):
        return None
    return [int(pair == one) for pair in pairs]


class Rc5:
    """RC5 and RC5X: start bit, the inverse of the seventh command bit, toggle, 5 address bits,
    6 command bits. 1 is dark, then light."""

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
    _HALVES = 28

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        field = ~code.command >> 6 & 1
        bits = [1, field, code.toggle & 1, *high_first(code.address, 5)]
        bits += high_first(code.command & 0x3F, 6)
        return runs([level for bit in bits for level in (not bit, bool(bit))], RC5_HALF)

    def decode(self, frame: Frame) -> Code | Again | None:
        levels = levels_of(frame, RC5_HALF, (1, 2))
        if levels is None:
            return None
        levels.insert(0, False)  # the first half of the start bit
        levels += [False] * (len(levels) == self._HALVES - 1)
        bits = bits_of_pairs(levels, self._ONE) if len(levels) == self._HALVES else None
        if bits is None or not bits[0]:
            return None
        command = number_of(bits[:7:-1]) | (not bits[1]) << 6
        return Code(number_of(bits[7:2:-1]), command, bits[2])

    def is_whole(self, frame: Frame) -> bool:
        """A last 0 ends with its mark one half before the end; nothing else gets so far."""
        return len(frame) % 2 == 1 and sum(halves(us, RC5_HALF) for us in frame) >= 26


class Rc6:
    """RC6: header, start bit 1, mode, a toggle bit of twice the length, address, command. 1 is
    light, then dark. In mode 6 the first address bit is not sent as such: it is always 1."""

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
        self._data_bits = len(self._fixed) + address_bits + 8
        self._halves = len(RC6_HEADER) + 2 * (RC6_TOGGLE_AT + 2 + self._data_bits)

    def encode(self, code: Code) -> tuple[int, ...]:
        self.traits.check(code)
        toggle = code.toggle & 1
        bits = [1, *high_first(self._mode, 3), toggle, *self._fixed]
        bits += high_first(code.address, self.traits.address_bits) + high_first(code.command, 8)
        levels = list(RC6_HEADER)
        for place, bit in enumerate(bits):
            width = 2 if place == RC6_TOGGLE_AT else 1
            levels += [bool(bit)] * width + [not bit] * width
        return runs(levels, RC6_HALF)

    def decode(self, frame: Frame) -> Code | Again | None:
        levels = levels_of(frame, RC6_HALF, (1, 2, 3, 6))
        if levels is None:
            return None
        levels += [False] * (len(levels) == self._halves - 1)
        if len(levels) != self._halves or levels[:8] != RC6_HEADER:
            return None
        at = len(RC6_HEADER) + 2 * RC6_TOGGLE_AT
        wide = levels[at : at + 4]
        if wide[0] != wide[1] or wide[2] != wide[3]:
            return None
        bits = bits_of_pairs([*levels[8:at], *wide[::2], *levels[at + 4 :]], self._ONE)
        wanted = [1, *high_first(self._mode, 3)]
        if bits is None or bits[:4] != wanted:
            return None
        data = bits[RC6_TOGGLE_AT + 1 :]
        if data[: len(self._fixed)] != self._fixed:
            return None
        value = number_of(data[len(self._fixed) :][::-1])
        return Code(value >> 8, value & 0xFF, bits[RC6_TOGGLE_AT])

    def is_whole(self, frame: Frame) -> bool:
        """A last 1 ends with its mark one half before the end."""
        if len(frame) % 2 == 0:
            return False
        return sum(halves(us, RC6_HALF) for us in frame) >= self._halves - 1


RC5 = Rc5()
RC6 = Rc6("rc6", "RC6", MODE_0, 8)
RC6A = Rc6("rc6a", "RC6A", MODE_6, 22)
