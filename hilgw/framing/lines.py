"""Lines of text: a packet is a line without its terminator; and a splitter for lines of answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.errors import ConfigError, FrameError
from hilgw.framing.base import (
    LONGEST_PAYLOAD,
    FrameDropped,
    FramingClass,
    refuse_argument,
    require_size,
)
from hilgw.framing.delimited import Delimited
from hilgw.settings import setting

_CR = b"\r"
_TERMINATORS = {"": None, "lf": "\n", "crlf": "\r\n", "cr": "\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesSettings:
    """Line framing; the defaults are those of the short name lines."""

    framing: Literal["lines"] = setting("kind of framing", "lines", choices=("lines",))
    terminator: str | None = setting(
        "one to eight characters that end a line (\\n, \\r\\n, ;); not set: LF or CR LF from the "
        "device, LF to it",
        None,
        pattern="[\\x00-\\xff]{1,8}",
    )
    max_payload: int = setting("longest line", 4096, ge=1, le=LONGEST_PAYLOAD, unit="byte")


DEFAULTS = LinesSettings()


class LineSplitter:
    """Splits a module's answers into lines without their ends; it skips empty lines.

    A line longer than `longest` is dropped, and its bytes are counted in `dropped`. With
    `keeps_tail` its last `longest` bytes are the line instead: an answer may follow noise that has
    no line end. A line that is not complete takes no more memory than the longest one.
    """

    def __init__(self, ends: Sequence[bytes], longest: int, *, keeps_tail: bool = False) -> None:
        self._ends = re.compile(b"|".join(map(re.escape, ends)))
        self._longest = longest
        self._overlap = max(map(len, ends)) - 1  # these bytes may be the start of an end
        self._keeps_tail = keeps_tail
        self.dropped = 0
        self.clear()

    def clear(self) -> None:
        self._held = b""
        self._is_cut = False

    def feed(self, data: bytes) -> list[bytes]:
        *ended, held = self._ends.split(self._held + data)
        lines = [line for line in map(self._bounded, ended) if line]
        excess = len(held) - self._longest - self._overlap
        if excess > 0 and not self._keeps_tail:
            excess += self._longest
            self.dropped += excess
            self._is_cut = True
        self._held = held[max(excess, 0) :]
        return lines

    def _bounded(self, line: bytes) -> bytes:
        if self._keeps_tail:
            return line[-self._longest :]
        if not self._is_cut and len(line) <= self._longest:
            return line
        self.dropped += len(line)
        self._is_cut = False
        return b""


class LineFraming(Delimited):
    """Refuses a packet that contains the terminator or is empty; skips empty lines.

    Without a terminator in the settings a CR before the LF belongs to the line end, so a packet
    that ends in CR is refused.
    There is no checksum: corrupted bytes are delivered as received.
    """

    Settings: ClassVar[type[LinesSettings]] = LinesSettings

    def __init__(self, settings: LinesSettings = DEFAULTS) -> None:
        self._drops_cr = settings.terminator is None
        try:
            terminator = ("\n" if self._drops_cr else settings.terminator or "").encode("latin-1")
        except UnicodeEncodeError:
            terminator = b""
        if not 1 <= len(terminator) <= 8:
            raise ConfigError(
                f"terminator {settings.terminator!r} is not valid",
                fix="use one to eight characters up to U+00FF",
            )
        longest = settings.max_payload
        super().__init__("lines", terminator, longest, longest + self._drops_cr)

    @staticmethod
    def parse(variant: str, argument: str) -> LinesSettings:
        refuse_argument("lines", argument)
        if variant not in _TERMINATORS:
            raise ConfigError(
                f"unknown line terminator '{variant}'",
                fix="write lines, lines-lf, lines-crlf or lines-cr",
            )
        return LinesSettings(terminator=_TERMINATORS[variant])

    def encode(self, payload: bytes) -> bytes:
        require_size(self, payload, least=1)
        if self._drops_cr and payload.endswith(_CR):
            raise FrameError(
                "the packet ends in CR, which is taken as a part of the line end",
                fix="set terminator, or use a framing that carries all bytes (cobs, slip)",
            )
        line = payload + self._delimiter
        # Also covers a terminator made of the end of the payload and the start of the terminator.
        if line.find(self._delimiter) != len(payload):
            raise FrameError(
                f"the packet contains the line terminator {self._delimiter!r}",
                fix="use a framing that carries all bytes (cobs, slip)",
            )
        return line

    def _unwrap_all(self, frames: list[bytes]) -> list[bytes]:
        return [payload for payload in super()._unwrap_all(frames) if payload]

    def _unwrap(self, frame: bytes) -> bytes | str:
        payload = frame.removesuffix(_CR) if self._drops_cr else frame
        return payload if len(payload) <= self.max_payload else FrameDropped.TOO_LONG


FRAMING: FramingClass = LineFraming
