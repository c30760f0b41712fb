"""A session of an adapter, whose other end is the test."""

from typing import Any

from hilgw.adapters.base import Dropped, Event

SECOND = 1_000_000_000


def of(kind: type[Any], events: list[Event]) -> list[Any]:
    """Return the events of this kind."""
    return [event for event in events if isinstance(event, kind)]


def dropped(events: list[Event]) -> list[str]:
    """Return the reasons of what was dropped."""
    return [event.reason for event in of(Dropped, events)]


class SessionBench:
    """A session, its events, and time that goes from deadline to deadline, only on request."""

    def __init__(self, session: Any, now: int = 0) -> None:
        self.session = session
        self.now = now
        self.events: list[Event] = []

    def take(self, events: list[Event]) -> list[Event]:
        """Do what the session wants; return all events that come of it."""
        self.events += events
        return events

    def open(self) -> list[Event]:
        return self.take(self.session.open(self.now))

    def take_in(self, data: bytes) -> list[Event]:
        """Let the session receive this."""
        return self.take(self.session.receive(data, self.now))

    def pass_time(self, seconds: float) -> list[Event]:
        """Expire every deadline up to then, at its time."""
        end = self.now + round(seconds * SECOND)
        seen: list[Event] = []
        while (due := self.session.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            seen += self.take(self.session.expire(self.now))
        self.now = end
        return seen

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the events of this kind."""
        return of(kind, self.events)
