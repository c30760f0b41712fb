"""Small parts shared by sessions: send pauses, drop counts, restart limits, dialogues in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from hilgw.adapters.base import Event, Failed, Notice, Write
from hilgw.errors import PeerError
from hilgw.protocols import dialogue
from hilgw.protocols.dialogue import LineScript

T = TypeVar("T")


def notice(text: str) -> list[Event]:
    """A notice that is shown each time; nothing for no text."""
    return [Notice(text, once=False)] if text else []


class NotBefore:
    """The earliest time of the next packet, and whether a packet waits for it."""

    def __init__(self) -> None:
        self.time_ns = 0
        self._waiting = False

    def blocks(self, now: int) -> bool:
        """Whether a packet must wait now; `deadline` is set if so."""
        self._waiting = now < self.time_ns
        return self._waiting

    @property
    def deadline(self) -> int | None:
        return self.time_ns if self._waiting else None

    def expire(self, now: int) -> None:
        if now >= self.time_ns:
            self._waiting = False

    def clear(self) -> None:
        self.time_ns = 0
        self._waiting = False


class DropCounts:
    """Reports how much counters have grown since the last report.

    reported: the totals of that report.
    """

    def __init__(self) -> None:
        self.reported: dict[str, int] = {}

    def new(self, totals: Mapping[str, int]) -> list[tuple[str, int]]:
        """(reason, increase) for each counter that has grown."""
        if totals == self.reported:
            return []
        grown = [(reason, total - self.reported.get(reason, 0)) for reason, total in totals.items()]
        self.reported.update(totals)
        return [(reason, count) for reason, count in grown if count]


MOST_RESTARTS = 6


class RestartLimit:
    """Counts restarts of a module that does not become ready in between."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def error(self) -> PeerError:
        """Of a module that restarts too often."""
        return PeerError("the module keeps restarting", fix="check its power supply")

    def exceeded(self) -> bool:
        """Counts one more restart; true when there were too many."""
        self._count += 1
        return self._count > MOST_RESTARTS

    def clear(self) -> None:
        self._count = 0


class LineDialogue(dialogue.LineDialogue[Event, T]):
    """A dialogue with a module whose commands and answers are lines of text."""

    def __init__(self, script: LineScript[Event, T]) -> None:
        super().__init__(script, Write, Failed)
