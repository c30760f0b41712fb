"""Sessions of adapters whose other end is the test or a firmware mock; fewer rules for variants."""

from typing import Any

from hilgw.adapters.base import Dropped, Event, StationSettings, Transmission, Write
from hilgw.medium.packet import Packet
from hilgw.plugins import load_mock
from hilgw.testing import AdapterConformance, co_simulation
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


class StationSide(co_simulation.Side):
    """What a station does: packets for the session."""

    def transmit(self, packet: Packet) -> Any:
        """What the session makes of a packet; the bytes of a transmission go to the mock."""
        sent = self.session.send(packet, self.now)
        if isinstance(sent, Transmission):
            self.put(sent.data)
        return sent

    def send(self, data: bytes, channel: int = 12) -> Any:
        return self.transmit(Packet(data=data, channel=channel, type="radio", source="s"))


class World(CoSimulation):
    """Sides of one adapter. common: its station settings, unless `add` has others."""

    side: type[StationSide] = StationSide

    def __init__(self, adapter: Any, air: Any = None, **common: Any) -> None:
        super().__init__(air)
        self.adapter = adapter
        self.common = {"port": "/dev/null", "channel": 12} | common

    def add(self, mock: dict[str, Any] | None = None, **settings: Any) -> Any:
        """Start another side. mock: parameters in place of those that the adapter names."""
        return self.start(self.make(mock, **settings))

    def make(self, mock: dict[str, Any] | None = None, **settings: Any) -> StationSide:
        of_station = settings.keys() & {"baudRate", "channel", "parity"}
        common = StationSettings(**self.common | {each: settings.pop(each) for each in of_station})
        chosen = self.adapter.Settings(**settings)
        spec = self.adapter.mock(chosen, common)
        parameters = {**spec.parameters, **(mock or {})}
        made = load_mock(spec.name).create(
            f"m{len(self.sides)}", self.air, parameters, position=(0.0, 0.0, 0.0)
        )
        return self.side(self, self.adapter.session(chosen, common), made)


class Variant(AdapterConformance):
    """Leave the rules of the port to the class of the same adapter with its usual settings."""

    test_slow_line = None  # type: ignore[assignment]
    test_round_trip_on_a_pipe = None  # type: ignore[assignment]
    test_round_trip_on_a_virtual_port = None  # type: ignore[assignment]
    test_round_trip_on_a_virtual_port_with_faults = None  # type: ignore[assignment]
