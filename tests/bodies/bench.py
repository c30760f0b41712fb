"""A body's session and its mock in simulated time: what one writes, the other receives."""

from __future__ import annotations

from typing import Any

from hilgw.control.events import (
    Command,
    Event,
    MotorCommand,
    MotorSettings,
    Refused,
    SensorValue,
    Write,
)
from hilgw.devices.kinds import Refusal

MS = 1_000_000


def commanded(session: Any, command: Command, now: int) -> list[Event]:
    """The events of a command, and those that the control loop makes of its outcome."""
    outcome, events = session.command(command, now)
    if not isinstance(outcome, Refusal):
        return list(events)
    return [*events, Refused(command.index, outcome.reason, outcome.text)]


class BodyBench:
    """events: all but Write, in order. written: the bytes of the session. cut: the line is dead;
    what both ends write is lost."""

    def __init__(self, session: Any, mock: Any) -> None:
        self.session = session
        self.mock = mock
        self.now = 1_000 * MS
        self.events: list[Event] = []
        self.written = bytearray()
        self.cut = False
        mock.reset(self.now)

    def open(self, milliseconds: int = 200) -> None:
        self.handle(self.session.open(self.now))
        self.run(milliseconds)

    def handle(self, events: list[Event] | None) -> list[Event]:
        """Writes what the session wants to write; returns the other events."""
        events = events or []
        others = [event for event in events if not isinstance(event, Write)]
        for event in events:
            if isinstance(event, Write):
                self.written += event.data
                if not self.cut:
                    self.mock.receive(event.data, self.now)
        self.events += others
        return others

    def run(self, milliseconds: float) -> None:
        """Both run at their deadlines."""
        end = self.now + round(milliseconds * MS)
        while True:
            dues = (self.mock.next_deadline(), self.session.next_deadline())
            self.now = min([end, *(max(self.now, due) for due in dues if due is not None)])
            self.mock.advance(self.now)
            while data := self.mock.take(self.now):
                if not self.cut:
                    self.handle(self.session.receive(data, self.now))
            due = self.session.next_deadline()
            if due is not None and due <= self.now:
                self.handle(self.session.expire(self.now))
            if self.now >= end:
                return

    def index(self, name: str) -> int:
        device = self.session.devices.by_name(name)
        assert device is not None, name
        return int(device.index)

    def command(self, name: str, field: str, value: float) -> list[Any]:
        return self.give(MotorCommand(self.index(name), field, value))

    def settings(self, name: str, *values: float) -> list[Any]:
        """Position, velocity, acceleration and available torque at once."""
        return self.give(MotorSettings(self.index(name), *values))

    def give(self, command: Command) -> list[Any]:
        """Returns the events of a command but Write."""
        return self.handle(commanded(self.session, command, self.now))

    def enable(self, name: str, period_ms: float | None = None) -> None:
        self.handle(self.session.switch(self.index(name), period_ms, self.now))

    def found(self, kind: type[Any]) -> list[Any]:
        """The events of this kind; forgets them."""
        found = [event for event in self.events if isinstance(event, kind)]
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return found

    def values(self) -> dict[str, Any]:
        """The last value of each sensor by name; forgets them."""
        return {
            self.session.devices.by_index(event.index).name: event.value
            for event in self.found(SensorValue)
        }
