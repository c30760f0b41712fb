"""Sessions of hilgw and firmware mocks in simulated time: what one end writes, the other receives.

Time goes from deadline to deadline, so that seconds take milliseconds, and each run is the same.
"""

from __future__ import annotations

from typing import Any

from firmware_mocks.air import Air
from hilgw.adapters import base
from hilgw.control import events as control

MS = 1_000_000
SECOND = 1_000 * MS


class Side:
    """A session and its mock on a line; or one of them alone, whose other end is the test.

    events: of the session, in order. written: its bytes. output: bytes of a mock without a session
    since `taken`. delay_ns: what the line and the host add on the way to the mock. is_cut: what
    both ends write is lost.
    """

    def __init__(self, world: CoSimulation, session: Any = None, mock: Any = None) -> None:
        self.world = world
        self.session = session
        self.mock = mock
        self.events: list[Any] = []
        self.written = bytearray()
        self.output = bytearray()
        self.delay_ns = 0
        self.is_cut = False
        self._on_the_way: list[tuple[int, bytes]] = []

    def take(self, events: list[Any]) -> list[Any]:
        """Does what the session wants: its bytes and modem lines go to the mock."""
        for event in events:
            self.events.append(event)
            if isinstance(event, base.Write | control.Write):
                self.put(event.data)
            elif isinstance(event, base.SetLine):
                self.mock.set_modem_line(event.name, event.on, self.world.now)
        return events

    def put(self, data: bytes) -> None:
        """Bytes on the line to the mock."""
        self.written += data
        if not self.is_cut:
            self._on_the_way.append((self.world.now + self.delay_ns, data))
            self._deliver()

    def _deliver(self) -> None:
        while self._on_the_way and self._on_the_way[0][0] <= self.world.now:
            self.mock.receive(self._on_the_way.pop(0)[1], self.world.now)

    def step(self) -> None:
        """What is due now."""
        now = self.world.now
        self._deliver()
        if self.mock is not None:
            self.mock.advance(now)
            self.collect()
        if self.session is not None:
            due = self.session.next_deadline()
            if due is not None and due <= now:
                self.take(self.session.expire(now))

    def collect(self) -> None:
        """The session gets what the mock has written so far."""
        while data := self.mock.take(self.world.now):
            if self.session is None:
                self.output += data
                self.world.collected(self.mock, data)
            elif not self.is_cut:
                self.take(self.session.receive(data, self.world.now))

    def dues(self) -> list[int]:
        """The times at which something happens by itself."""
        dues = [part.next_deadline() for part in (self.session, self.mock) if part is not None]
        dues += [at for at, _ in self._on_the_way[:1]]
        return [due for due in dues if due is not None]

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of this kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def taken(self) -> bytes:
        """The output of a mock without a session since the last call."""
        data = bytes(self.output)
        self.output.clear()
        return data


class CoSimulation:
    """Sides in one air, on one clock."""

    def __init__(self, air: Air | None = None, now: int = SECOND) -> None:
        self.air = air or Air()
        self.now = now
        self.sides: list[Side] = []

    def start(self, side: Side) -> Side:
        """The mock is powered up, the session opened."""
        self.sides.append(side)
        if side.mock is not None:
            side.mock.advance(self.now)
        if side.session is not None:
            side.take(side.session.open(self.now))
        return side

    def run(self, seconds: float) -> None:
        """Time passes; what is due happens at its time."""
        end = self.now + round(seconds * SECOND)
        while (due := self._due()) is not None and due <= end:
            self.now = max(self.now, due)
            self.air.advance(self.now)
            for side in self.sides:
                side.step()
        self.now = end

    def _due(self) -> int | None:
        dues = [due for side in self.sides for due in side.dues()]
        if (of_air := self.air.next_deadline()) is not None:
            dues.append(of_air)
        return min(dues, default=None)

    def collected(self, mock: Any, data: bytes) -> None:
        """A mock without a session has written; overridden where the test keeps a record."""
