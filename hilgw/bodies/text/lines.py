"""Lines of body `text`: received bytes to lines, declared lines to bytes and patterns."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hilgw.bodies.text.settings import Line
from hilgw.control.exchange import Question
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.text.patterns import Match, Pattern, compiled
from hilgw.units import s_to_ns

PLACEHOLDER = re.compile(r'\{([^{}"]+)\}')  # not what JSON has in braces
_DECIMAL = re.compile(rb"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \t]*")
_HEX = re.compile(rb"[ \t]*[+-]?(0[xX])?[0-9A-Fa-f]+[ \t]*")
LONGEST_NUMBER = 64
SHOWN = 96  # bytes of a line, for people


def to_bytes(text: str) -> bytes:
    r"""Return the text with each character as one byte.

    UnicodeEncodeError for one beyond \xff.
    """
    return text.encode("latin-1")


def shown(line: bytes) -> str:
    """Return a line of the robot, for people."""
    return repr(line[:SHOWN].decode("latin-1"))


def number_of(text: bytes, *, hexadecimal: bool = False) -> float | None:
    """Return the number that a group holds; None when it is invalid or not finite."""
    if len(text) > LONGEST_NUMBER:
        return None
    if hexadecimal:
        return float(int(text, 16)) if _HEX.fullmatch(text) else None
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def splitter(line_end: bytes, longest: int) -> LineSplitter:
    """Return a splitter of the robot's lines."""
    ends = [line_end] if line_end.strip(b"\r\n") else [b"\r", b"\n"]
    return LineSplitter(ends, longest)


@dataclass(frozen=True, slots=True)
class Sendable:
    """A declared line: the parts of its text (odd ones are placeholders), and its patterns.

    after: of a line that has to come before it.
    """

    parts: tuple[str, ...]
    end: bytes
    expect: Pattern | None
    failed: Pattern | None
    timeout_ns: int
    realtime: bool
    after: Pattern | None = None

    def filled(self, value_of: Callable[[str], str] | Mapping[str, str]) -> bytes:
        """Return the bytes, with each placeholder replaced."""
        look = value_of.__getitem__ if isinstance(value_of, Mapping) else value_of
        pieces = [look(part) if at % 2 else part for at, part in enumerate(self.parts)]
        return to_bytes("".join(pieces)) + self.end

    def answers(self, line: bytes) -> Match | None:
        """Return the match of a line that answers it."""
        return None if self.expect is None else self.expect.search(line)

    def refuses(self, line: bytes) -> bool:
        return self.failed is not None and self.failed.search(line) is not None


def sendable(line: Line, end: bytes, failed: str, *, fills: bool = False) -> Sendable:
    """Create it with `failed`, the pattern of a line without one of its own.

    fills: its text has placeholders.
    """
    refusal = line.failed or failed
    return Sendable(
        tuple(PLACEHOLDER.split(line.send)) if fills else (line.send,),
        b"" if line.realtime else end,
        compiled(line.expect, whole=True) if line.expect else None,
        compiled(refusal, whole=True) if refusal and line.expect else None,
        s_to_ns(line.timeout_s),
        line.realtime,
        compiled(line.after, whole=True) if line.after else None,
    )


@dataclass(slots=True, eq=False)
class Sent(Question[bytes]):
    """A line that was sent.

    subject: what it was for, as its owner named it. match: of its answer; None: the robot refused
    it.
    """

    line: Sendable
    subject: object
    match: Match | None = None

    def __post_init__(self) -> None:
        self.timeout_ns, self.realtime = self.line.timeout_ns, self.line.realtime

    def take(self, answer: bytes) -> bool:
        self.match = self.line.answers(answer)
        return self.match is not None or (not self.realtime and self.line.refuses(answer))
