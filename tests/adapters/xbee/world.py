"""XBee modules in one air."""

from __future__ import annotations

from typing import Any

from firmware_mocks import xbee
from hilgw.adapters.base import StationSettings
from hilgw.adapters.xbee import ADAPTER
from hilgw.medium.packet import Packet
from hilgw.testing.co_simulation import CoSimulation
from tests.adapters import world


class Side(world.Side):
    def send(self, data: bytes, channel: int = 12) -> Any:
        return self.transmit(Packet(data=data, channel=channel, type="radio", source="s"))


class World(CoSimulation):
    def add(self, mock: dict[str, Any] | None = None, **settings: Any) -> Side:
        common = StationSettings(port="/dev/null", channel=settings.pop("channel", 12))
        chosen = ADAPTER.Settings(**settings)
        spec = ADAPTER.mock(chosen, common)
        module = xbee.create(f"m{len(self.sides)}", self.air, {**spec.parameters, **(mock or {})})
        side = Side(self, ADAPTER.session(chosen, common), module)
        self.start(side)
        return side
