"""Sessions and firmware mocks of XBee modules in one air, joined by simulated time."""

from __future__ import annotations

from typing import Any

from firmware_mocks import xbee
from firmware_mocks.air import Air
from hilgw.adapters.base import Event, StationSettings, Transmission, Write
from hilgw.adapters.xbee import ADAPTER
from hilgw.medium.packet import Packet

SECOND = 1_000_000_000


class Side:
    """One session on one mock module."""

    def __init__(self, air: Air, name: str, mock: dict[str, Any], **settings: Any) -> None:
        common = StationSettings(port="/dev/null", channel=settings.pop("channel", 12))
        chosen = ADAPTER.Settings(**settings)
        spec = ADAPTER.mock(chosen, common)
        assert spec.name == "xbee"
        self.module = xbee.create(name, air, {**spec.parameters, **mock})
        self.session = ADAPTER.session(chosen, common)
        self.events: list[Event] = []

    def take(self, events: list[Event], now: int) -> None:
        for event in events:
            self.events.append(event)
            if isinstance(event, Write):
                self.module.receive(event.data, now)

    def send(self, data: bytes, now: int, channel: int = 12) -> Any:
        sent = self.session.send(Packet(data=data, channel=channel, type="radio", source="s"), now)
        if isinstance(sent, Transmission):
            self.module.receive(sent.data, now)
        return sent

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class World:
    """Sides in one air; time jumps from deadline to deadline."""

    def __init__(self) -> None:
        self.air = Air()
        self.sides: list[Side] = []
        self.now = 0

    def add(self, mock: dict[str, Any] | None = None, **settings: Any) -> Side:
        side = Side(self.air, f"m{len(self.sides)}", mock or {}, **settings)
        self.sides.append(side)
        side.module.advance(self.now)  # power up
        side.take(side.session.open(self.now), self.now)
        return side

    def run(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        parts = [self.air, *(p for side in self.sides for p in (side.session, side.module))]
        while True:
            due = [when for part in parts if (when := part.next_deadline()) is not None]
            if not due or min(due) > end:
                break
            self.now = max(self.now, min(due))
            self.air.advance(self.now)
            for side in self.sides:
                side.module.advance(self.now)
                side.take(side.session.expire(self.now), self.now)
                data = side.module.take(self.now)
                if data:
                    side.take(side.session.receive(data, self.now), self.now)
        self.now = end
