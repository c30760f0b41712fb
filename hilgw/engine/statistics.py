"""What becomes of one station's copies, counted and then told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.engine.latency import Latency

if TYPE_CHECKING:
    from hilgw.engine.observer import Observer
    from hilgw.medium.ledger import StationCount
    from hilgw.medium.packet import Copy

SAID_LIMIT = 256  # notices remembered, so that each is said once


class NoticeFilter:
    """The notices the user has read already."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def is_due(self, text: str, once: bool) -> bool:
        """Whether to say it (again); `once`: not if it was said before."""
        if once and text in self._texts:
            return False
        if len(self._texts) < SAID_LIMIT:
            self._texts.add(text)
        return True


class StationStatistics:
    """The counts of one station and whoever watches. All copies of one happening are counted
    before anybody hears of the first, so whoever is told finds a ledger that adds up."""

    __slots__ = ("_said", "count", "latency", "name", "observer")

    def __init__(self, name: str, count: StationCount, observer: Observer) -> None:
        self.name = name
        self.count = count
        self.observer = observer
        self.latency = Latency()
        self._said = NoticeFilter()

    def deliver(self, copy: Copy, now: int) -> None:
        """A copy reached its end: read, last byte out, or acknowledged."""
        self.count.deliver()
        self.latency.add(now - copy.arrived_ns)
        self.observer.delivered(self.name, copy)

    def refuse(self, reason: str, text: str, copies: int = 1) -> None:
        """Copies are lost for this reason (a word) and in these words."""
        if copies:
            self.count.refuse(reason, copies)
        for _ in range(copies):
            self.observer.refused(self.name, reason, text)

    def echo(self) -> None:
        """The hardware heard what another of our modules had sent."""
        self.count.echo()
        self.observer.refused(self.name, "own_echo", "sent by a module of this gateway")

    def drop(self, reason: str, text: str, count: int = 1) -> None:
        """The hardware heard something that cannot become a packet."""
        self.count.drop(reason, count)
        self.observer.refused(self.name, reason, text)

    def expire(self, copies: int) -> None:
        """The gateway ends, and nobody wants them any more."""
        self.count.expire(copies, "stopped")

    def say(self, text: str, once: bool = False) -> None:
        """A notice for the user."""
        if self._said.is_due(text, once):
            self.observer.notice(self.name, text)
