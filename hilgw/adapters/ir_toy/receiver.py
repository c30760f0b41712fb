"""What a toy hears: bytes of samples to key presses, or to bare frames."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.adapters.base import Dropped
from hilgw.adapters.ir_toy import samples
from hilgw.protocols.ir import Codec
from hilgw.protocols.ir.receiver import KeyDecoder, KeyEvent, ReceivedFrame, Splitter

MS = 1_000_000
# The toy hands over 32 counts at a time, or fewer after 5 ms of dark: within a frame it may say
# nothing for 36 ms (16 of NEC's longest bits), and the host may be late to read it. A frame whose
# end needs no silence is waited for longer.
BUSY_NS = 80 * MS
QUIET_NS, LONG_QUIET_NS = 120 * MS, 400 * MS
HALF_NS = 100 * MS  # the two bytes of a count come together
# In its default mode the toy says two bytes and four zeros for each RC5 key. No light lasts 0 us.
IRMAN_COUNTS = 3
LONGEST_CODE, LONGEST_RAW = 128, 256  # durations

_BAD_SAMPLE = Dropped("bad_sample", "half a count: a byte was lost")
_OVERLONG = Dropped("overlong", "light without a pause, longer than any code")
_OVERFLOW = Dropped("overflow", "the toy lost samples")
_CUT = Dropped("interrupted", "a code that our own transmission cut short")

Reception = KeyEvent | tuple[int, ...] | Dropped


class IrReceiver:
    """codec None: bare frames, ended by gap_us of dark."""

    def __init__(self, codec: Codec | None, gap_us: int) -> None:
        if codec is None:
            self._splitter = Splitter(gap_us, limit=LONGEST_RAW)
        else:
            gap_us = codec.traits.gap_us
            self._splitter = Splitter(gap_us, codec.is_whole, limit=LONGEST_CODE)
        self._keys = KeyDecoder(codec) if codec else None
        has_length = codec is not None and codec.traits.has_length
        self._quiet_ns = LONG_QUIET_NS if has_length else QUIET_NS
        self._counts = samples.SampleDecoder()
        self._last_ns = 0
        self._ends = self._overlong = 0
        self._recent: list[int] = []  # the first few counts since the last silence
        self.wrong_mode = False  # what came was no sample: the toy is in another mode

    def busy_until(self) -> int | None:
        """A frame is under way; when it may be taken for over, if nothing more comes."""
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
        if count == samples.SLIP:
            yield _BAD_SAMPLE
            return
        if count == samples.END:
            self._ends += 1
            if self._ends == 2:  # a burst has one
                yield _OVERFLOW
            yield from self._decode(self._splitter.end(samples.SILENCE_US))
            return
        self._ends = 0
        yield from self._decode(self._splitter.feed(samples.to_us(count)))
        if self._splitter.overlong != self._overlong:
            self._overlong = self._splitter.overlong
            yield _OVERLONG

    def _decode(self, frame: ReceivedFrame | None) -> Iterator[Reception]:
        if frame is not None:
            yield frame.durations if self._keys is None else self._keys.read(frame)

    def next_deadline(self) -> int | None:
        if self._counts.half:
            return self._last_ns + HALF_NS
        return self._last_ns + self._quiet_ns if self._splitter.pending else None

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
        return receptions

    def interrupt(self) -> list[Reception]:
        """The toy leaves sample mode: what it was hearing is lost."""
        self._counts.reset()
        self._recent.clear()
        self._ends, self.wrong_mode = 0, False
        return [_CUT] if self._splitter.interrupt() else []
