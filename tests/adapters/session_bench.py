"""A session of an adapter, whose other end is the test."""

from typing import Any

from hilgw.adapters.base import Dropped, Event, Write
from hilgw.testing.co_simulation import CoSimulation, Side

SECOND = 1_000_000_000


def of(kind: type[Any], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def dropped(events: list[Event]) -> list[str]:
    return [event.reason for event in of(Dropped, events)]


class SessionBench(Side):
    """A session in time that only passes on request. events: all, also what it writes."""

    def __init__(self, session: Any, now: int = 0) -> None:
        super().__init__(CoSimulation(now=now), session)
        self.world.sides.append(self)

    def handle(self, events: list[Event] | None) -> list[Event]:
        """Do what the session wants; return all events that come of it."""
        before = len(self.events)
        self.events += events or ()
        for write in of(Write, events or []):
            self.put(write.data)
        return self.events[before:]

    def open(self) -> list[Event]:
        return self.handle(self.session.open(self.now))

    def take_in(self, data: bytes) -> list[Event]:
        return self.handle(self.session.receive(data, self.now))

    def pass_time(self, seconds: float) -> list[Event]:
        """Return the events of this time."""
        before = len(self.events)
        self.world.run(seconds)
        return self.events[before:]
