"""The IR receiver: bytes of samples to key presses, or to bare frames.

Bytes on the wire are durations as 16-bit counts of 21 1/3 us, high byte first.
"""

import re
from collections.abc import Iterable, Iterator

from hilgw.adapters.base import Dropped, Notice
from hilgw.adapters.ir_toy.reasons import IrToyDropped
from hilgw.protocols.ir import Code, Codec, Repeat
from hilgw.protocols.ir.receiver import KeyDecoder, KeyEvent, OtherCodes, ReceivedFrame, Splitter
from hilgw.units import NS_PER_MS

# The toy sends 32 counts at a time, or fewer after 5 ms without light: within a frame it may be
# silent for 36 ms (16 of NEC's longest bits), and the host may read late. The wait is longer for
# frames whose end needs no silence.
BUSY_NS = 80 * NS_PER_MS
QUIET_NS, LONG_QUIET_NS = 120 * NS_PER_MS, 400 * NS_PER_MS
HALF_NS = 100 * NS_PER_MS  # the two bytes of a count come together
# In its default mode the toy sends two bytes and four zeros for each RC5 key. No mark has 0 us.
IRMAN_COUNTS = 3
LONGEST_CODE, LONGEST_RAW = 128, 256  # durations

_BAD_SAMPLE = Dropped(IrToyDropped.BAD_SAMPLE, "half a count: a byte was lost")
_OVERLONG = Dropped(IrToyDropped.OVERLONG, "light without a pause that is longer than any code")
_OVERFLOW = Dropped(IrToyDropped.OVERFLOW, "the IR Toy lost samples")
_CUT = Dropped(IrToyDropped.INTERRUPTED, "a code interrupted by our own transmission")

Reception = KeyEvent | tuple[int, ...] | Dropped | Notice


# A count is 64/3 us: the toy's timer runs at 12 MHz through a divider by 256.
TICK_NUMERATOR, TICK_DENOMINATOR = 64, 3
END = 0xFFFF  # closes a burst, both ways
END_BYTES = b"\xff\xff"
SLIP = -1  # in place of a count: a byte was lost before it
SILENCE_US = 1_398_000  # silence after which the toy sends END: 65535 counts
LAST_COUNT = END - 1


def to_us(count: int) -> int:
    """Return the microseconds of a count, rounded."""
    return (2 * count * TICK_NUMERATOR + TICK_DENOMINATOR) // (2 * TICK_DENOMINATOR)


def to_count(us: int) -> int:
    """Return the count nearest to a duration; at least 1."""
    count = (2 * us * TICK_DENOMINATOR + TICK_NUMERATOR) // (2 * TICK_NUMERATOR)
    return min(max(1, count), LAST_COUNT)


def encode_burst(durations: Iterable[int]) -> bytes:
    """Return a burst to transmit: a mark first, and a mark last.

    After a last space the toy would transmit a mark of 109 ms instead of the closing END.
    """
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
        """Return the counts these bytes complete, END and SLIP among them."""
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
        """Start with a new count; return True when one was waiting for its second byte."""
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
    """Return a command, an answer or samples as text; never raises."""
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
    parts = [splitter.end(0) if count == END else splitter.feed(to_us(count)) for count in counts]
    frames = [frame for frame in (*parts, splitter.end(0)) if frame is not None]
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


class IrReceiver:
    """Decodes samples, whose frames end after gap_us without light. codec None: bare frames."""

    def __init__(self, codec: Codec | None, gap_us: int) -> None:
        if codec is None:
            self._splitter = Splitter(gap_us, limit=LONGEST_RAW)
        else:
            self._splitter = Splitter(gap_us, codec.is_whole, limit=LONGEST_CODE)
        self._keys = KeyDecoder(codec) if codec else None
        self._other_codes = OtherCodes(codec) if codec else None
        has_length = codec is not None and codec.traits.has_length
        self._quiet_ns = LONG_QUIET_NS if has_length else QUIET_NS
        self._counts = SampleDecoder()
        self._last_ns = 0
        self._ends = self._overlong = 0
        self._recent: list[int] = []  # the first few counts since the last silence
        self.wrong_mode = False  # the bytes were not samples: the toy is in another mode

    def busy_until(self) -> int | None:
        """Return the end of the frame being received if no more samples come.

        None: no such frame.
        """
        return self._last_ns + BUSY_NS if self._splitter.pending else None

    def feed(self, data: bytes, now: int) -> list[Reception]:
        if now >= self._last_ns + self._quiet_ns:
            self._recent.clear()
        self._last_ns = now
        receptions: list[Reception] = []
        for count in self._counts.feed(data):
            if len(self._recent) <= IRMAN_COUNTS:
                self._recent.append(count)
            receptions += self._take_count(count)
        return receptions

    def _take_count(self, count: int) -> Iterator[Reception]:
        if count == SLIP:
            yield _BAD_SAMPLE
            return
        if count == END:
            self._ends += 1
            if self._ends == 2:  # a burst has one
                yield _OVERFLOW
            yield from self._decode(self._splitter.end(SILENCE_US))
            if (others := self._other_codes) is not None:
                yield from _notice(others.name(others.end(SILENCE_US)))
            return
        self._ends = 0
        us = to_us(count)
        yield from self._decode(self._splitter.feed(us))
        if (others := self._other_codes) is not None:
            yield from _notice(others.name(others.feed(us)))
        if self._splitter.overlong != self._overlong:
            self._overlong = self._splitter.overlong
            yield _OVERLONG

    def _decode(self, frame: ReceivedFrame | None) -> Iterator[Reception]:
        if frame is not None:
            yield frame.durations if self._keys is None else self._keys.read(frame)

    def next_deadline(self) -> int | None:
        if self._counts.half:
            return self._last_ns + HALF_NS
        others = self._other_codes is not None and self._other_codes.pending
        return self._last_ns + self._quiet_ns if self._splitter.pending or others else None

    def expire(self, now: int) -> list[Reception]:
        due = self.next_deadline()
        if due is None or now < due:
            return []
        receptions: list[Reception] = []
        if self._counts.reset():
            receptions.append(_BAD_SAMPLE)
        if now >= self._last_ns + self._quiet_ns:
            self.wrong_mode = self._recent[1:] == [0, 0]
            self._recent.clear()
            receptions += self._decode(self._splitter.quiet())
            if (others := self._other_codes) is not None:
                receptions += _notice(others.name(others.quiet()))
        return receptions

    def interrupt(self) -> list[Reception]:
        """Drop the frame being received: the toy leaves sample mode."""
        self._counts.reset()
        self._recent.clear()
        if self._other_codes is not None:
            self._other_codes.interrupt()
        self._ends, self.wrong_mode = 0, False
        return [_CUT] if self._splitter.interrupt() else []


def _notice(text: str) -> list[Reception]:
    return [Notice(text)] if text else []
