"""Bytes on the wire of a USB IR Toy: durations as 16-bit counts of 21 1/3 us, high byte first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hilgw.protocols.ir import Code, Codec, Repeat
from hilgw.protocols.ir.receiver import ReceivedFrame, Splitter

# A count is 64/3 us: the toy's timer runs at 12 MHz through a divider by 256.
TICK_NUMERATOR, TICK_DENOMINATOR = 64, 3
END = 0xFFFF  # closes a burst, both ways
END_BYTES = b"\xff\xff"
SLIP = -1  # in place of a count: a byte was lost before it
SILENCE_US = 1_398_000  # silence after which the toy sends END: 65535 counts
LAST_COUNT = END - 1


def to_us(count: int) -> int:
    """Microseconds of a count, rounded."""
    return (2 * count * TICK_NUMERATOR + TICK_DENOMINATOR) // (2 * TICK_DENOMINATOR)


def to_count(us: int) -> int:
    """The count nearest to a duration; at least 1."""
    count = (2 * us * TICK_DENOMINATOR + TICK_NUMERATOR) // (2 * TICK_NUMERATOR)
    return min(max(1, count), LAST_COUNT)


def encode_burst(durations: Iterable[int]) -> bytes:
    """A burst to transmit: mark first, a mark last (after a space the toy would transmit a mark
    of 109 ms instead of the closing END)."""
    return b"".join(to_count(us).to_bytes(2, "big") for us in durations) + END_BYTES


class SampleDecoder:
    """Decodes a stream of bytes into counts.

    After a lost byte the counts are out of step until an END shows between two of them: no count
    but END begins with FFh, which would be a space of 1.39 s. SLIP is reported before that END.
    half: true between the two bytes of a count.
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
                # The low byte of a proper END cannot begin another one.
                self._last_low = 0 if counts[-1] == END else byte
                self._high = None
        return counts

    def reset(self) -> bool:
        """The next byte is the first of a count; true when one was waiting for its second."""
        lost, self._high, self._last_low = self.half, None, 0
        return lost


# --- as text ------------------------------------------------------------------------------------

MOST = 8  # durations shown

_TEXTS = {
    b"\x00": "leave sample mode",
    b"\xff\xff\xff\x00\x00\x00\x00\x00": "reset",
    b"v": "version?",
    b"s": "enter sample mode",
    b"S01": "sample mode, protocol 01",
    b"\x24\x25\x26\x03": "transmit, with count, completion and handshake",
}


def describe(data: bytes, codec: Codec | None) -> str:
    """A command, an answer, or samples, as text; never raises."""
    if data in _TEXTS:
        return f"IR Toy: {_TEXTS[data]}"
    if match := re.fullmatch(rb"V(\d)(\d\d)", data):
        return f"IR Toy: hardware {int(match[1])}, firmware {int(match[2])}"
    if match := re.fullmatch(rb"\x06(.).\x24\x25\x26\x03", data, re.DOTALL):
        return f"IR Toy: transmit at {3000 / (match[1][0] + 1):.3g} kHz"
    if match := re.fullmatch(rb"t(..)([CF])", data, re.DOTALL):
        verdict = "complete" if match[2] == b"C" else "underrun"
        return f"IR Toy: transmitted {int.from_bytes(match[1], 'big')} B, {verdict}"
    if len(data) == 1 and 2 <= data[0] <= 64:
        return f"IR Toy: room for {data[0]} B"
    return _describe_samples(data, codec)


def _describe_samples(data: bytes, codec: Codec | None) -> str:
    if len(data) < 2:
        return f"IR Toy: {len(data)} B"
    counts = [count for count in SampleDecoder().feed(data) if count != SLIP]
    splitter = Splitter(codec.traits.gap_us if codec else END, limit=len(counts))
    found = [splitter.end(0) if count == END else splitter.feed(to_us(count)) for count in counts]
    frames = [frame for frame in (*found, splitter.end(0)) if frame is not None]
    text = "; ".join(_describe_frame(frame, codec) for frame in frames)
    if data.endswith(END_BYTES):
        text = f"{text}, end" if text else "end"
    return f"IR Toy: {text or f'{len(data)} B, no light'}"


def _describe_frame(frame: ReceivedFrame, codec: Codec | None) -> str:
    decoded = codec.decode(frame.durations) if codec else None
    if isinstance(decoded, Code) and codec is not None:
        text = f"{codec.traits.title} address {decoded.address:X} command {decoded.command:X}"
        return f"{text} toggle {decoded.toggle}" if codec.traits.held == "toggle" else text
    if isinstance(decoded, Repeat):
        return "the same again"
    shown = " ".join(map(str, frame.durations[:MOST]))
    return f"{shown}{' ...' if len(frame.durations) > MOST else ''} us"
