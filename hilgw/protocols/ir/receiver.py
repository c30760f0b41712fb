"""Durations as a receiver reports them, to frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hilgw.protocols.ir.base import SHORT_FRAME, Again, Code, Codec, Frame

# No code has a mark this long (NEC's header is 9 ms): where one is reported, it is a space, and
# the report has lost a duration, or a byte, before it.
LONGEST_MARK_US = 25_000
CUT_US = 10_000_000  # what an interruption counts as: longer than any window


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """One frame, and when it began by the receiver's own clock, in microseconds."""

    durations: tuple[int, ...]
    start_us: int


def never(frame: Frame) -> bool:
    """No frame is whole before its gap."""
    return False


class Splitter:
    """Marks and spaces, one after the other, to the frames between the gaps.

    A frame ends with a space of gap_us or more, with the end of the burst, when nothing came for
    a while (`quiet`), or as soon as is_whole says so. Of a frame longer than `limit` durations the
    rest is skipped, up to the next gap; `overlong` counts such frames.
    """

    def __init__(
        self, gap_us: int, is_whole: Callable[[Frame], bool] = never, limit: int = 128
    ) -> None:
        self._gap_us = gap_us
        self._is_whole = is_whole
        self._limit = limit
        self._frame: list[int] = []
        self._start_us = 0
        self._clock_us = 0
        self._mark_next = True
        self._skipping = False
        self.overlong = 0

    @property
    def pending(self) -> bool:
        """Whether a frame has begun that may have more to come."""
        return bool(self._frame)

    def feed(self, us: int) -> ReceivedFrame | None:
        """The next duration; the frame it completes."""
        is_mark = self._mark_next and us < LONGEST_MARK_US
        self._mark_next = not is_mark
        start, self._clock_us = self._clock_us, self._clock_us + us
        if not is_mark:
            return self._space(us)
        if self._skipping:
            return None
        if not self._frame:
            self._start_us = start
        self._frame.append(us)
        if len(self._frame) > self._limit:
            self.overlong += 1
            self._frame.clear()
            self._skipping = True
            return None
        return self._finish() if self._is_whole(self._frame) else None

    def _space(self, us: int) -> ReceivedFrame | None:
        if us >= self._gap_us:
            self._skipping = False
            return self._finish()
        if self._frame:
            self._frame.append(us)
        return None

    def end(self, silence_us: int) -> ReceivedFrame | None:
        """The burst is over, after this much silence: a mark comes next."""
        self._clock_us += silence_us
        self._mark_next, self._skipping = True, False
        return self._finish()

    def quiet(self) -> ReceivedFrame | None:
        """Nothing came for a while: the frame is over, and its gap is what comes next."""
        return self._finish()

    def cut(self) -> bool:
        """The receiver was stopped: a mark comes next. True when a frame was lost by that."""
        lost = self.pending
        self._clock_us += CUT_US
        self._frame.clear()
        self._mark_next, self._skipping = True, False
        return lost

    def _finish(self) -> ReceivedFrame | None:
        if not self._frame:
            return None
        frame, self._frame = self._frame, []
        if len(frame) % 2 == 0:
            frame.pop()  # the space behind the last mark, when silence ended it
        return ReceivedFrame(tuple(frame), self._start_us)


@dataclass(frozen=True, slots=True)
class Pressed:
    """A key was pressed: a code, for the first time."""

    code: Code


@dataclass(frozen=True, slots=True)
class Held:
    """The same press again. code: None when its beginning was not heard."""

    code: Code | None


@dataclass(frozen=True, slots=True)
class Strange:
    """A frame of another code, or a damaged one."""


Said = Pressed | Held | Strange
STRANGE = Strange()


class Keys:
    """What a row of frames says, in one code."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._held = codec.traits.held
        self._again_us = codec.traits.again_us
        self._last: Code | None = None
        self._start_us = 0

    def read(self, heard: ReceivedFrame) -> Said:
        said = self._codec.decode(heard.durations)
        if said is None:
            return STRANGE
        recent = self._last is not None and heard.start_us - self._start_us <= self._again_us
        self._start_us = heard.start_us
        if isinstance(said, Again):
            if not recent:
                self._last = None
            return Held(self._last)
        same = recent and said == self._last and self._held != SHORT_FRAME
        self._last = said
        return Held(said) if same else Pressed(said)
