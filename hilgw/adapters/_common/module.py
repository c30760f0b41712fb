"""The session of a module that must be found, checked and configured before packets pass.

First come small parts that it shares with other sessions: send pauses, drop counts, restart limits,
dialogues in lines.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from hilgw.adapters.base import Dropped, Event, Failed, Notice, NotReady, Write
from hilgw.errors import PeerError
from hilgw.framing.guess import FirstFrame
from hilgw.protocols import dialogue
from hilgw.protocols.dialogue import Dialogue, LineScript
from hilgw.reasons import PacketDropped
from hilgw.transports.base import LineSettings

ModuleT = TypeVar("ModuleT")
EARLY = Dropped(PacketDropped.NOT_READY, "received while the module was being set up")


def notice(text: str) -> list[Event]:
    """Return a notice that is shown each time; nothing for no text."""
    return [Notice(text, once=False)] if text else []


class NotBefore:
    """The earliest time of the next packet, and whether a packet waits for it."""

    def __init__(self) -> None:
        self.clear()

    def blocks(self, now: int) -> bool:
        """Return whether a packet must wait now, and set `deadline` if so."""
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
        """Return (reason, increase) for each counter that has grown."""
        if totals == self.reported:
            return []
        grown = [(reason, total - self.reported.get(reason, 0)) for reason, total in totals.items()]
        self.reported.update(totals)
        return [(reason, count) for reason, count in grown if count]


MOST_RESTARTS = 6
"""Of a module that does not become ready in between."""
LONGEST_FRAME = 512
"""Bytes that any of these modules sends for one packet, with a margin."""


class LineDialogue(dialogue.LineDialogue[Event, ModuleT]):
    """A dialogue with a module whose commands and answers are lines of text."""

    def __init__(self, script: LineScript[Event, ModuleT], line: LineSettings) -> None:
        super().__init__(script, Write, Failed, line.duration_ns(1))


class ModuleSession(ABC, Generic[ModuleT]):
    """The part of an AdapterSession from the open port to the Ready module, and back.

    kind: of the adapter.
    """

    kind: ClassVar[str]

    def __init__(self, line: LineSettings) -> None:
        self._line = line
        self._first_frame = FirstFrame()
        self._dialogue: Dialogue[Event, Any, Any] | None = None
        # was_ready: at least once since `open`
        self._open = self._ready = self._was_ready = False
        self._restarts = 0  # without becoming ready in between

    @abstractmethod
    def _new_handshake(self) -> Dialogue[Event, Any, ModuleT]:
        """Return the handshake that finds and configures the module."""

    @abstractmethod
    def _begin_packets(self, module: ModuleT, now: int) -> list[Event]:
        """Return Ready and its consequences, after the handshake has found this module."""

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        return []

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._restarts = 0
        self._open = True
        limit_ns = self._line.patience_ns(LONGEST_FRAME)
        self._first_frame = FirstFrame(self.kind, self._line.baudRate, limit_ns)
        return events + self._set_up(now)

    def close(self) -> list[Event]:
        self._dialogue = None
        self._open = self._ready = self._was_ready = False
        self._first_frame.found()
        return []

    def _set_up(self, now: int) -> list[Event]:
        self._dialogue = self._new_handshake()
        return self._after_dialogue(self._dialogue.start(now), now)

    def _restart(self, reason: str, lost_by: str, now: int) -> list[Event]:
        events = self._refuse_outstanding(lost_by)
        if self._ready:
            events.append(NotReady(reason))
        self._dialogue, self._ready = None, False
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            return [*events, Failed(self._too_many_restarts(reason))]
        return events + self._set_up(now)

    def _too_many_restarts(self, reason: str) -> PeerError:
        return PeerError("the module keeps restarting", fix="check its power supply")

    def _after_dialogue(self, events: list[Event], now: int) -> list[Event]:
        dialogue = self._dialogue
        if dialogue is None or not dialogue.over:
            return events
        self._dialogue, module = None, dialogue.result
        if module is None:
            return notice(self._first_frame.give_up()) + events
        self._ready = self._was_ready = True
        return events + self._begin_packets(module, now)
