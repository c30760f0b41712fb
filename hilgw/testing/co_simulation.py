"""Sessions of hilgw and firmware mocks in simulated time: what one end writes, the other receives.

Time goes from deadline to deadline, so that seconds take milliseconds, and each run is the same.
"""

from collections.abc import Callable
from typing import Any

from hilgw.adapters import base
from hilgw.control import events as control
from hilgw.plugins import new_air
from hilgw.testing.sim.event_loop import CALLS_AT_ONCE, Clock, StuckError
from hilgw.units import NS_PER_MS, NS_PER_S, earliest, s_to_ns


class Side:
    """A session and its mock on a line; or one of them alone, whose other end is the test.

    events: all of the session but Write, in order. written: its bytes; writes: each Write with its
    time. cut: the line is dead; what both ends write is lost.
    """

    def __init__(self, world: "CoSimulation", session: Any = None, mock: Any = None) -> None:
        self.world = world
        self.session = session
        self.mock = mock
        self.events: list[Any] = []
        self.written = bytearray()
        self.writes: list[tuple[int, bytes]] = []
        self.cut = False

    @property
    def now(self) -> int:
        return self.world.now

    def handle(self, events: list[Any] | None) -> list[Any]:
        """Do what the session wants, and return the events but Write.

        Its bytes and modem lines go to the mock.
        """
        others: list[Any] = []
        for event in events or ():
            if isinstance(event, base.Write | control.Write):
                self.put(event.data)
                continue
            others.append(event)
            self.events.append(event)
            if isinstance(event, base.SetLine):
                self.mock.set_modem_line(event.name, event.on, self.now)
        return others

    def put(self, data: bytes) -> None:
        """Put bytes on the line to the mock."""
        self.written += data
        self.writes.append((self.now, data))
        if self.mock is not None and not self.cut:
            self.mock.receive(data, self.now)

    def step(self) -> None:
        """Do what is due now."""
        now = self.now
        if self.mock is not None:
            self.mock.advance(now)
            self.collect()
        if self.session is not None:
            due = self.session.next_deadline()
            if due is not None and due <= now:
                self.handle(self.session.expire(now))

    def collect(self) -> None:
        """Take what the mock has written so far from it."""
        while data := self.mock.take(self.now):
            if not self.cut:
                self.collected(data)

    def collected(self, data: bytes) -> None:
        """Give the session bytes of the mock; overridden where the test does."""
        self.handle(self.session.receive(data, self.now))

    def next_deadline(self) -> int | None:
        """Return when something happens by itself."""
        session, mock = self.session, self.mock
        return earliest(
            None if session is None else session.next_deadline(),
            None if mock is None else mock.next_deadline(),
        )

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the events of this kind."""
        return [event for event in self.events if isinstance(event, kind)]


class CoSimulation:
    """Sides in one air, and what else the clock calls: lines, and stations of a gateway."""

    def __init__(self, air: Any = None, now: int = NS_PER_S) -> None:
        self.air = air or new_air()
        self.clock = Clock(now)
        self.sides: list[Side] = []
        self._at_once = 0

    @property
    def now(self) -> int:
        return self.clock.time

    def start(self, side: Side) -> Side:
        """Power the mock up and open the session."""
        self.sides.append(side)
        if side.mock is not None:
            side.mock.advance(self.now)
        if side.session is not None:
            side.handle(side.session.open(self.now))
        return side

    def run(self, seconds: float, until: Callable[[], object] = lambda: False) -> bool:
        """Let time pass, for this long or until this holds; return whether it holds.

        What is due happens at its time.
        """
        end = self.now + s_to_ns(seconds)
        while not until():
            if not self.step(end):
                self._wake()
                return bool(until())
        return True

    def step(self, end: int) -> bool:
        """Advance the time to the first deadline, or to `end`; return whether there was one."""
        due = earliest(self.air.next_deadline(), *(side.next_deadline() for side in self.sides))
        called = self.clock.next()
        if due is None or due > end or (called is not None and called <= due):
            return self.clock.step(end)
        self._at_once = 0 if due > self.now else self._at_once + 1
        if self._at_once >= CALLS_AT_ONCE:
            raise StuckError(f"{CALLS_AT_ONCE} deadlines at one instant")
        self.clock.time = max(due, self.now)
        self._wake()
        return True

    def _wake(self) -> None:
        self.air.advance(self.now)
        for side in self.sides:
            side.step()


class BodyLine(Side):
    """A body's session and the mock of its robot, alone in a world."""

    def __init__(self, session: Any, mock: Any, *, on_line: bool = True) -> None:
        """Create it; `on_line` is false for a robot on TCP, whose mock has a connection."""
        super().__init__(CoSimulation(), session, mock)
        self.world.sides.append(self)
        self.on_line = on_line
        if on_line:
            mock.reset(self.now)

    def connect(self) -> None:
        """Open the connection; no time passes."""
        if not self.on_line:
            self.mock.connect(self.now)
        self.handle(self.session.open(self.now))

    def disconnect(self) -> None:
        self.handle(self.session.close())
        if not self.on_line:
            self.mock.disconnect(self.now)

    def run(self, milliseconds: float, until: Callable[[], object] = lambda: False) -> bool:
        """Run both at their deadlines, for this long or until this holds; return if it holds."""
        return self.world.run(milliseconds * NS_PER_MS / NS_PER_S, until)

    @property
    def is_connected(self) -> bool:
        return bool(self.of(control.Connected))
