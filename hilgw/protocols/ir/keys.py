"""Frames to key presses: what is the same press again is told from a new one."""

from __future__ import annotations

from dataclasses import dataclass

from hilgw.protocols.ir.base import SHORT_FRAME, Again, Code, Codec
from hilgw.protocols.ir.frames import ReceivedFrame


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
