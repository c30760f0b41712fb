"""The lines that the robot has not answered yet, and the window that bounds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hilgw.bodies.text.lines import Sendable
from hilgw.protocols.text.patterns import Match
from hilgw.units import NS_PER_S

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


class Exchange:
    """Robots answer lines in order; a real-time line is answered at any time."""

    def __init__(self, window: int, window_bytes: int) -> None:
        self._window = window
        self._window_bytes = window_bytes
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
        waiting.append(Outstanding(line, subject, size, now + line.timeout_ns))

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
        dues = [each.until_ns for each in (*self._lines[:1], *self._realtime)]
        return min(dues, default=None)

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
