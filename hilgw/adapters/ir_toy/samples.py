"""Durations on the wire of a USB IR Toy: 16-bit counts of 21 1/3 us, high byte first."""

from __future__ import annotations

from collections.abc import Iterable

# A count is 64/3 us: the toy's timer runs at 12 MHz through a divider by 256.
TICK_NUMERATOR, TICK_DENOMINATOR = 64, 3
END = 0xFFFF  # closes a burst, both ways
END_BYTES = b"\xff\xff"
SLIP = -1  # in place of a count: a byte was lost before
SILENCE_US = 1_398_000  # what the toy waits before it says END: 65535 counts
LAST_COUNT = END - 1


def to_us(count: int) -> int:
    """Microseconds of a count, rounded."""
    return (2 * count * TICK_NUMERATOR + TICK_DENOMINATOR) // (2 * TICK_DENOMINATOR)


def to_count(us: int) -> int:
    """The count nearest to a duration; at least 1."""
    count = (2 * us * TICK_DENOMINATOR + TICK_NUMERATOR) // (2 * TICK_NUMERATOR)
    return min(max(1, count), LAST_COUNT)


def burst(durations: Iterable[int]) -> bytes:
    """What the toy is to play: mark first, a mark last (after a space the toy would shine for
    109 ms in place of the closing END)."""
    return b"".join(to_count(us).to_bytes(2, "big") for us in durations) + END_BYTES


class Samples:
    """Counts out of a stream of bytes.

    Where a byte was lost the counts are out of step, until an END shows between two of them: no
    count but END begins with FFh, for that would be a space of 1.39 s. SLIP stands before it.
    `half` is true between the two bytes of a count.
    """

    def __init__(self) -> None:
        self._high: int | None = None
        self._last_low = 0

    @property
    def half(self) -> bool:
        return self._high is not None

    def feed(self, data: bytes) -> list[int]:
        """The counts these bytes complete, END and SLIP among them."""
        counts: list[int] = []
        for byte in data:
            if self._high is None:
                self._high = byte
            elif self._high == self._last_low == 0xFF != byte:
                counts += (SLIP, END)
                self._high, self._last_low = byte, 0
            else:
                counts.append(self._high << 8 | byte)
                # The low byte of a proper END is none that could begin another.
                self._last_low = 0 if counts[-1] == END else byte
                self._high = None
        return counts

    def reset(self) -> bool:
        """The next byte is the first of a count; true when one was waiting for its second."""
        lost, self._high, self._last_low = self.half, None, 0
        return lost
