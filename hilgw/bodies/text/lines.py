"""Lines of body `text`: received bytes to lines, declared lines to bytes and patterns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hilgw.bodies.text.settings import Line
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.text.patterns import Match, Pattern, compiled
from hilgw.units import NS_PER_S, s_to_ns

PLACEHOLDER = re.compile(r'\{([^{}"]+)\}')  # not what JSON has in braces
_DECIMAL = re.compile(rb"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \t]*")
_HEX = re.compile(rb"[ \t]*[+-]?(0[xX])?[0-9A-Fa-f]+[ \t]*")
LONGEST_NUMBER = 64
SHOWN = 96  # bytes of a line, for people


def to_bytes(text: str) -> bytes:
    """Each character is one byte. UnicodeEncodeError for one beyond \\xff."""
    return text.encode("latin-1")


def shown(line: bytes) -> str:
    """A line of the robot, for people."""
    return repr(line[:SHOWN].decode("latin-1"))


def number_of(text: bytes, *, hexadecimal: bool = False) -> float | None:
    """The number that a group holds; None when it holds none, or one that is not finite."""
    if len(text) > LONGEST_NUMBER:
        return None
    if hexadecimal:
        return float(int(text, 16)) if _HEX.fullmatch(text) else None
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def splitter(line_end: bytes, longest: int) -> LineSplitter:
    """A splitter for the robot's lines: they end at CR, LF or both where ours do, else as ours."""
    ends = [line_end] if line_end.strip(b"\r\n") else [b"\r", b"\n"]
    return LineSplitter(ends, longest)


@dataclass(frozen=True, slots=True)
class Sendable:
    """A declared line: the parts of its text (odd ones are placeholders), and its patterns. after:
    of a line that has to come before it."""

    parts: tuple[str, ...]
    end: bytes
    expect: Pattern | None
    failed: Pattern | None
    timeout_ns: int
    realtime: bool
    after: Pattern | None = None

    def filled(self, value_of: Callable[[str], str] | Mapping[str, str]) -> bytes:
        """The bytes, with each placeholder replaced."""
        look = value_of.__getitem__ if isinstance(value_of, Mapping) else value_of
        pieces = [look(part) if at % 2 else part for at, part in enumerate(self.parts)]
        return to_bytes("".join(pieces)) + self.end

    def answers(self, line: bytes) -> Match | None:
        """The match of a line that answers it."""
        return None if self.expect is None else self.expect.search(line)

    def refuses(self, line: bytes) -> bool:
        return self.failed is not None and self.failed.search(line) is not None


def sendable(line: Line, end: bytes, failed: str, *, fills: bool = False) -> Sendable:
    """failed: the pattern where the line has none of its own. fills: its text has placeholders."""
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


LONGEST_QUIET_NS = NS_PER_S
"""A robot that never stops sending is not waited for any longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Outstanding:
    """A line that was sent. subject: what it was for, as its owner named it."""

    line: Sendable
    subject: object
    size: int
    until_ns: int


class Answer(NamedTuple):
    """A line that answers `sent`; match is None when it refuses it. skipped: lines before it whose
    answers were lost."""

    sent: Outstanding
    match: Match | None
    skipped: list[Outstanding]


class Window:
    """Robots answer lines in order; a real-time line is answered at any time. byte_ns, answer_ns:
    time of a byte and of the longest answer on the line."""

    def __init__(self, window: int, window_bytes: int, byte_ns: int, answer_ns: int) -> None:
        self._window = window
        self._window_bytes = window_bytes
        self._byte_ns = byte_ns
        self._answer_ns = answer_ns
        self._lines: list[Outstanding] = []
        self._realtime: list[Outstanding] = []

    def clear(self) -> None:
        self._lines.clear()
        self._realtime.clear()

    @property
    def idle(self) -> bool:
        return not self._lines and not self._realtime

    def has(self, subject: object) -> bool:
        """Whether a line for this subject has no answer yet."""
        return any(each.subject == subject for each in (*self._lines, *self._realtime))

    def has_room(self, line: Sendable, size: int) -> bool:
        """Whether the line may be sent now; one alone always may."""
        if line.realtime or not self._lines:
            return True
        held = sum(each.size for each in self._lines)
        fits = not self._window_bytes or held + size <= self._window_bytes
        return len(self._lines) < self._window and fits

    def sent(self, line: Sendable, subject: object, size: int, now: int) -> None:
        """The line has left."""
        if line.expect is None:
            return
        waiting = self._realtime if line.realtime else self._lines
        ahead = sum(each.size for each in self._lines)
        line_ns = (ahead + size) * self._byte_ns + self._answer_ns
        until_ns = now + max(line.timeout_ns, line_ns)
        waiting.append(Outstanding(line, subject, size, until_ns))

    def take(self, line: bytes) -> Answer | None:
        """The line that this one answers; None: none."""
        for at, each in enumerate(self._realtime):
            if found := each.line.answers(line):
                del self._realtime[at]
                return Answer(each, found, [])
        for at, each in enumerate(self._lines):
            found = each.line.answers(line)
            if found is not None or each.line.refuses(line):
                skipped = self._lines[:at]
                del self._lines[: at + 1]
                return Answer(each, found, skipped)
        return None

    def next_deadline(self) -> int | None:
        return min([each.until_ns for each in (*self._lines[:1], *self._realtime)], default=None)

    def overdue(self, now: int) -> list[Outstanding]:
        """All lines without an answer, once one of them is late; forgets them: a late answer would
        be taken for that of the next line."""
        due = self.next_deadline()
        if due is None or now < due:
            return []
        lost = [*self._lines, *self._realtime]
        self.clear()
        return lost


class Silence:
    """The time in which the robot must be silent. until_ns: its end."""

    def __init__(self, quiet_ns: int) -> None:
        self.until_ns = 0
        self._quiet_ns = quiet_ns
        self._latest_ns = 0

    def expect(self, now: int) -> None:
        """The time begins."""
        self._latest_ns = now + LONGEST_QUIET_NS
        self.restart(now)

    def restart(self, now: int) -> None:
        """The robot was not silent: the time begins again."""
        self.until_ns = min(now + self._quiet_ns, self._latest_ns)

    def end(self, now: int) -> None:
        self.until_ns = now
