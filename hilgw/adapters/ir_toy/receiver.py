"""The IR receiver: bytes of samples to key presses, or to bare frames."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.adapters.base import Dropped, Notice
from hilgw.adapters.ir_toy import samples
from hilgw.adapters.ir_toy.reasons import IrToyDropped
from hilgw.protocols.ir import Codec
from hilgw.protocols.ir.other_codes import OtherCodes
from hilgw.protocols.ir.receiver import KeyDecoder, KeyEvent, ReceivedFrame, Splitter
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


class IrReceiver:
    """Decodes samples. codec None: bare frames, which end after gap_us without light."""

    def __init__(self, codec: Codec | None, gap_us: int) -> None:
        if codec is None:
            self._splitter = Splitter(gap_us, limit=LONGEST_RAW)
        else:
            gap_us = codec.traits.gap_us
            self._splitter = Splitter(gap_us, codec.is_whole, limit=LONGEST_CODE)
        self._keys = KeyDecoder(codec) if codec else None
        self._other_codes = OtherCodes(codec) if codec else None
        has_length = codec is not None and codec.traits.has_length
        self._quiet_ns = LONG_QUIET_NS if has_length else QUIET_NS
        self._counts = samples.SampleDecoder()
        self._last_ns = 0
        self._ends = self._overlong = 0
        self._recent: list[int] = []  # the first few counts since the last silence
        self.wrong_mode = False  # the bytes were not samples: the toy is in another mode

    def busy_until(self) -> int | None:
        """The end of the frame being received if no more samples come; None: no such frame."""
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
            if self._other_codes is not None:
                yield from _notice(self._other_codes.end(samples.SILENCE_US))
            return
        self._ends = 0
        us = samples.to_us(count)
        yield from self._decode(self._splitter.feed(us))
        if self._other_codes is not None:
            yield from _notice(self._other_codes.feed(us))
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
            if self._other_codes is not None:
                receptions += _notice(self._other_codes.quiet())
        return receptions

    def interrupt(self) -> list[Reception]:
        """The toy leaves sample mode: the frame being received is lost."""
        self._counts.reset()
        self._recent.clear()
        if self._other_codes is not None:
            self._other_codes.interrupt()
        self._ends, self.wrong_mode = 0, False
        return [_CUT] if self._splitter.interrupt() else []


def _notice(text: str) -> list[Reception]:
    return [Notice(text)] if text else []
