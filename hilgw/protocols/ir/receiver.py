"""The receiving side of an infra-red code: durations to frames, frames to key presses."""

from collections.abc import Callable
from dataclasses import dataclass

from hilgw.protocols.ir import CODECS
from hilgw.protocols.ir.base import SHORT_FRAME, Code, Codec, Frame, Repeat

# No code has a mark this long (the header of NEC has 9 ms). A longer mark is taken as a space: the
# receiver has lost a duration, or a byte, before it.
MARK_LIMIT_US = 25_000
INTERRUPTION_US = 10_000_000  # time added for an interruption: longer than any repeat window


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """A frame, and its start on the clock of the receiver, in microseconds."""

    durations: tuple[int, ...]
    start_us: int


def never(frame: Frame) -> bool:
    """Return False, for codes whose frames are complete only after the gap."""
    return False


class Splitter:
    """Splitter of a sequence of marks and spaces into frames.

    A frame ends with a space of gap_us or more, at the end of the burst, after silence (`quiet`),
    or as soon as is_whole() is true. A frame longer than `limit` durations is dropped and the rest
    skipped up to the next gap; `overlong` counts such frames.
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
        """True while a frame has started and is not complete."""
        return bool(self._frame)

    def feed(self, us: int) -> ReceivedFrame | None:
        """Take the next duration; return the frame that it completes."""
        is_mark = self._mark_next and us < MARK_LIMIT_US
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
        return self.quiet() if self._is_whole(self._frame) else None

    def _space(self, us: int) -> ReceivedFrame | None:
        if us >= self._gap_us:
            self._skipping = False
            return self.quiet()
        if self._frame:
            self._frame.append(us)
        return None

    def end(self, silence_us: int) -> ReceivedFrame | None:
        """End the burst, after this much silence; a mark comes next."""
        self._clock_us += silence_us
        self._mark_next, self._skipping = True, False
        return self.quiet()

    def interrupt(self) -> bool:
        """Note that the receiver was stopped; return True if an incomplete frame was lost."""
        lost = self.pending
        self._clock_us += INTERRUPTION_US
        self._frame.clear()
        self._mark_next, self._skipping = True, False
        return lost

    def quiet(self) -> ReceivedFrame | None:
        """End the frame after silence; its gap comes next."""
        if not self._frame:
            return None
        frame, self._frame = self._frame, []
        if len(frame) % 2 == 0:
            frame.pop()  # the space after the last mark, when silence ended the frame
        return ReceivedFrame(tuple(frame), self._start_us)


@dataclass(frozen=True, slots=True)
class Pressed:
    """A new key press: the first frame of a code."""

    code: Code


@dataclass(frozen=True, slots=True)
class Held:
    """The key is still held. code: None if its first frame was not received."""

    code: Code | None


@dataclass(frozen=True, slots=True)
class Unrecognized:
    """A frame of another code, or a corrupted one."""


KeyEvent = Pressed | Held | Unrecognized
UNRECOGNIZED = Unrecognized()


class KeyDecoder:
    """Decoder of frames of one code to key events; distinguishes held keys from new presses."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._held = codec.traits.held
        self._repeat_window_us = codec.traits.repeat_window_us
        self._last: Code | None = None
        self._start_us = 0

    def read(self, frame: ReceivedFrame) -> KeyEvent:
        """Return the key event of one frame."""
        code = self._codec.decode(frame.durations)
        if code is None:
            return UNRECOGNIZED
        recent = (
            self._last is not None and frame.start_us - self._start_us <= self._repeat_window_us
        )
        self._start_us = frame.start_us
        if isinstance(code, Repeat):
            if not recent:
                self._last = None
            return Held(self._last)
        same = recent and code == self._last and self._held != SHORT_FRAME
        self._last = code
        return Held(code) if same else Pressed(code)


_GAP_US = max(codec.traits.gap_us for codec in CODECS.values())


class OtherCodes(Splitter):
    """A splitter of the durations that the receiver of `codec` gets, for any code."""

    def __init__(self, codec: Codec) -> None:
        super().__init__(_GAP_US)
        self._codec = codec

    def name(self, frame: ReceivedFrame | None) -> str:
        """Return the line for the user about a frame of another code; "" for any other."""
        if frame is None or self._codec.decode(frame.durations) is not None:
            return ""
        for codec in CODECS.values():
            code = codec.decode(frame.durations)
            if isinstance(code, Code):
                return (
                    f"{codec.traits.title} 0x{code.address:02X}:0x{code.command:02X}; "
                    f"this adapter takes {self._codec.traits.name}"
                )
        return ""
