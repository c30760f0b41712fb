"""What an infra-red code is: light and dark, in microseconds, and what they say.

A frame is a sequence of durations: mark (light of the carrier), space (dark), mark, and so on,
beginning and ending with a mark. Codecs are pure and keep no state, so they may be shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hilgw.errors import FrameError

Frame = Sequence[int]

# How a held key shows: by a short frame of its own; by the same frame again; by the same frame
# again with the same toggle bit, which a new press would have turned.
SHORT_FRAME, WHOLE_FRAME, TOGGLE = "short frame", "whole frame", "toggle"

# Receivers stretch marks and shorten spaces by 50 to 100 us, whatever their length; noise and the
# receiver's own clock add to that.
STRETCH_US = 160


@dataclass(frozen=True, slots=True)
class Code:
    """What one frame says. toggle: 0 or 1, always 0 where the code has no such bit."""

    address: int
    command: int
    toggle: int = 0


@dataclass(frozen=True, slots=True)
class Again:
    """A frame that says no more than: the key is still held."""


AGAIN = Again()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is fixed for one kind of code.

    period_us: from the start of one frame to the start of the next. gap_us: a space this long
    ends a frame. sends: how often remote controls send each frame. held: how a held key shows.
    has_length: all frames are equally long, so that the end of one is known without its gap.
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
    def again_us(self) -> int:
        """The same again within this time of the last start is the same press: one of its frames
        may be lost."""
        return self.period_us * 5 // 2

    def check(self, code: Code) -> None:
        """FrameError when an address or a command does not fit its bits."""
        for word, value, bits in (
            ("address", code.address, self.address_bits),
            ("command", code.command, self.command_bits),
        ):
            if not 0 <= value < 1 << bits:
                raise FrameError(f"{word} {value} does not fit the {bits} bits of {self.title}")


class Codec(Protocol):
    """One kind of code, both directions."""

    traits: Traits

    def encode(self, code: Code) -> tuple[int, ...]:
        """The frame of this code. FrameError for a value that does not fit."""

    def decode(self, frame: Frame) -> Code | Again | None:
        """What a frame says; None when it is none of this kind. Never raises."""

    def is_whole(self, frame: Frame) -> bool:
        """Whether nothing can follow in this frame, so that nobody need wait for the gap."""


def near(us: int, nominal: int, stretch_us: int = STRETCH_US) -> bool:
    """Whether a duration passes for the nominal one: within a quarter, or a receiver's stretch."""
    return abs(us - nominal) <= max(nominal // 4, stretch_us)


def bits_of(value: int, count: int) -> list[int]:
    """The bits of a number, lowest first."""
    return [value >> place & 1 for place in range(count)]


def number_of(bits: Sequence[int]) -> int:
    """The number whose bits these are, lowest first."""
    return sum(bit << place for place, bit in enumerate(bits))
