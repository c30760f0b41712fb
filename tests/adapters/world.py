"""Sessions and firmware mocks, two readings of the same pages, joined by simulated time and air."""

from __future__ import annotations

from typing import Any

from firmware_mocks.air import Air
from hilgw.adapters.base import Event, Transmission, Write
from hilgw.medium.packet import Packet

SECOND = 1_000_000_000


class Side:
    """One session on one mock. delay_ns: what the line and the host add on the way to the mock."""

    def __init__(self, world: World, session: Any, mock: Any) -> None:
        self.world = world
        self.session = session
        self.mock = mock
        self.events: list[Event] = []
        self.delay_ns = 0
        self._on_the_way: list[tuple[int, bytes]] = []

    def take(self, events: list[Event]) -> None:
        for event in events:
            self.events.append(event)
            if isinstance(event, Write):
                self.put(event.data)

    def put(self, data: bytes) -> None:
        self._on_the_way.append((self.world.now + self.delay_ns, data))
        self._deliver()

    def _deliver(self) -> None:
        while self._on_the_way and self._on_the_way[0][0] <= self.world.now:
            self.mock.receive(self._on_the_way.pop(0)[1], self.world.now)

    def transmit(self, packet: Packet) -> Any:
        """What the session makes of a packet; the bytes of a transmission go to the mock."""
        sent = self.session.send(packet, self.world.now)
        if isinstance(sent, Transmission):
            self.put(sent.data)
        return sent

    def step(self) -> None:
        now = self.world.now
        self._deliver()
        self.mock.advance(now)
        self.take(self.session.expire(now))
        if data := self.mock.take(now):
            self.take(self.session.receive(data, now))

    def dues(self) -> list[int | None]:
        on_the_way = self._on_the_way[0][0] if self._on_the_way else None
        return [self.session.next_deadline(), self.mock.next_deadline(), on_the_way]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class World:
    """Sides in one air; time jumps from deadline to deadline."""

    def __init__(self, air: Air | None = None) -> None:
        self.air = air or Air()
        self.sides: list[Side] = []
        self.now = SECOND

    def opened(self, side: Side) -> None:
        self.sides.append(side)
        side.mock.advance(self.now)  # power up
        side.take(side.session.open(self.now))

    def run(self, seconds: float) -> None:
        end = self.now + round(seconds * SECOND)
        while True:
            dues = [self.air.next_deadline(), *(due for side in self.sides for due in side.dues())]
            due = min((each for each in dues if each is not None), default=None)
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self.air.advance(self.now)
            for side in self.sides:
                side.step()
        self.now = end
