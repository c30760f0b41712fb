"""Infra-red remote control codes: types shared by all codecs.

A frame is a sequence of durations in microseconds: mark (carrier on), space (carrier off), mark and
so on; it starts and ends with a mark. Codecs are stateless and may be shared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hilgw.errors import FrameError

Frame = Sequence[int]

# How a held key is sent: as a short repeat frame; as the same frame again; as the same frame again
# with the same toggle bit, which a new press inverts.
SHORT_FRAME, WHOLE_FRAME, TOGGLE = "short frame", "whole frame", "toggle"

# Receivers stretch marks and shorten spaces by 50 to 100 us, independent of their length; noise and
# the resolution of the receiver's clock add to that.
STRETCH_US = 160


@dataclass(frozen=True, slots=True)
class Code:
    """The content of one frame. toggle: 0 or 1; always 0 for a code without a toggle bit."""

    address: int
    command: int
    toggle: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repeat frame: the key is still held."""


REPEAT = Repeat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The constants of one code.

    period_us: from the start of one frame to the start of the next. gap_us: a space this long
    ends a frame. sends: how often remote controls send each frame. held: how a held key is sent.
    has_length: all frames have the same number of bits, so a frame ends without waiting for its
    gap.
    """

    name: str
    title: str
    carrier_hz: int
    period_us: int
    gap_us: int
    address_bits: int
    command_bits: int
    sends: int = 1
    held: str = WHOLE_FRAME
    has_length: bool = True

    @property
    def repeat_window_us(self) -> int:
        """Time from the start of a frame in which an equal one is the same key press.

        One frame in between may be lost.
        """
        return self.period_us * 5 // 2

    def check(self, code: Code) -> None:
        """Raise FrameError if an address or a command does not fit its bits."""
        for field, value, bits in (
            ("address", code.address, self.address_bits),
            ("command", code.command, self.command_bits),
        ):
            if not 0 <= value < 1 << bits:
                raise FrameError(f"{field} {value} does not fit the {bits} bits of {self.title}")


class Codec(Protocol):
    """A code, in both directions."""

    traits: Traits

    def encode(self, code: Code) -> tuple[int, ...]:
        """Return the frame of this code.

        Raises:
            FrameError: A value does not fit.
        """

    def decode(self, frame: Frame) -> Code | Repeat | None:
        """Return the content of a frame; None if it is not a frame of this code.

        Never raises.
        """

    def is_whole(self, frame: Frame) -> bool:
        """Return True for a complete frame, after which the receiver need not wait for the gap."""


def near(us: int, nominal: int, stretch_us: int = STRETCH_US) -> bool:
    """Return True if a duration matches the nominal one within 25 % or stretch_us."""
    return abs(us - nominal) <= max(nominal // 4, stretch_us)


def bits_of(value: int, count: int) -> list[int]:
    """Return the bits of a number, lowest first."""
    return [value >> index & 1 for index in range(count)]


def number_of(bits: Sequence[int]) -> int:
    """Return the number with these bits, lowest first."""
    return sum(bit << index for index, bit in enumerate(bits))
