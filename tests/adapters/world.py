"""Sessions of adapters and firmware mocks, two readings of the same pages, joined by an air."""

from typing import Any

from hilgw.adapters.base import StationSettings, Transmission
from hilgw.medium.packet import Packet
from hilgw.plugins import load_mock
from hilgw.testing import co_simulation
from hilgw.testing.co_simulation import CoSimulation


class Side(co_simulation.Side):
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

    side: type[Side] = Side

    def __init__(self, adapter: Any, air: Any = None, **common: Any) -> None:
        super().__init__(air)
        self.adapter = adapter
        self.common = {"port": "/dev/null", "channel": 12} | common

    def add(self, mock: dict[str, Any] | None = None, **settings: Any) -> Any:
        """Start another side. mock: parameters in place of those that the adapter names."""
        return self.start(self.make(mock, **settings))

    def make(self, mock: dict[str, Any] | None = None, **settings: Any) -> Side:
        of_station = settings.keys() & {"baudRate", "channel", "parity"}
        common = StationSettings(**self.common | {each: settings.pop(each) for each in of_station})
        chosen = self.adapter.Settings(**settings)
        spec = self.adapter.mock(chosen, common)
        parameters = {**spec.parameters, **(mock or {})}
        made = load_mock(spec.name).create(
            f"m{len(self.sides)}", self.air, parameters, position=(0.0, 0.0, 0.0)
        )
        return self.side(self, self.adapter.session(chosen, common), made)
