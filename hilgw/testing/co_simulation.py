"""A body's session and the mock of its robot on one clock: what one writes, the other receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hilgw.bodies.base import BodySession
from hilgw.control.events import Connected, Event, Write
from hilgw.units import NS_PER_MS

STEPS = 10_000
"""Deadlines at one instant: more are a deadline that does not advance."""


class CoSimulation:
    """events: all of the session but Write, in order. written: the bytes of the session. cut: the
    line is dead; what both ends write is lost."""

    def __init__(self, session: BodySession, mock: Any, *, on_line: bool = True) -> None:
        """on_line: false for a robot on TCP, whose mock has a connection."""
        self.session = session
        self.mock = mock
        self.now = 1_000 * NS_PER_MS
        self.events: list[Event] = []
        self.written = bytearray()
        self.cut = False
        self.on_line = on_line
        if on_line:
            mock.reset(self.now)

    def connect(self) -> None:
        """Opens the connection; no time passes."""
        if not self.on_line:
            self.mock.connect(self.now)
        self.handle(self.session.open(self.now))

    def disconnect(self) -> None:
        self.handle(self.session.close())
        if not self.on_line:
            self.mock.disconnect(self.now)

    def handle(self, events: list[Event] | None) -> list[Event]:
        """Writes what the session wants to write; returns the other events."""
        events = events or []
        others: list[Event] = [event for event in events if not isinstance(event, Write)]
        for event in events:
            if isinstance(event, Write):
                self.written += event.data
                if not self.cut:
                    self.mock.receive(event.data, self.now)
        self.events += others
        return others

    def run(self, milliseconds: float, until: Callable[[], object] = lambda: False) -> bool:
        """Both run at their deadlines, for so long or until this holds; whether it holds."""
        end, begin, steps = self.now + round(milliseconds * NS_PER_MS), self.now, 0
        while steps < STEPS:
            if until():
                return True
            dues = (self.mock.next_deadline(), self.session.next_deadline())
            self.now = min([end, *(max(self.now, due) for due in dues if due is not None)])
            steps, begin = (steps + 1 if self.now == begin else 0), self.now
            self.mock.advance(self.now)
            while data := self.mock.take(self.now):
                if not self.cut:
                    self.handle(self.session.receive(data, self.now))
            due = self.session.next_deadline()
            if due is not None and due <= self.now:
                self.handle(self.session.expire(self.now))
            if self.now >= end:
                return bool(until())
        raise AssertionError(f"{STEPS} deadlines at {self.now} ns")

    def saw(self, kind: type[Any]) -> bool:
        """Whether there is an event of this kind."""
        return any(isinstance(event, kind) for event in self.events)

    @property
    def is_connected(self) -> bool:
        return self.saw(Connected)
