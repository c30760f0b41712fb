"""How Webots channels map to the radio: one small class per kind of mapping.

`outward` turns a packet into a destination address and RF data, `inward` RF data and its
source into a channel and the packet's bytes. `channels`: what the medium sends here, None: all.
"""

from __future__ import annotations

from typing import Protocol

from hilgw.adapters.base import CannotSend, Dropped, StationSettings
from hilgw.adapters.xbee.frames import BROADCAST_16
from hilgw.adapters.xbee.settings import (
    LAST_HEADER,
    ByDestination,
    ByHeader,
    XBeeSettings,
    normal_address,
)
from hilgw.medium.packet import BROADCAST, Packet

HEADER_OF_BROADCAST = 255

_EMPTY = CannotSend("empty", "an XBee frame needs at least one byte")
_NO_DATA = Dropped("no_header", "a frame without data behind the channel byte")

Outward = tuple[str, bytes] | CannotSend
Inward = tuple[int, bytes] | Dropped


class Route(Protocol):
    channels: frozenset[int] | None

    def outward(self, packet: Packet) -> Outward: ...

    def inward(self, payload: bytes, address: str, network: str) -> Inward: ...


def route_for(settings: XBeeSettings, common: StationSettings) -> Route:
    destination = normal_address(settings.destination)
    if isinstance(settings.mapping, ByDestination):
        table = {common.channel: destination}
        table |= {key: normal_address(to) for key, to in settings.mapping.table.items()}
        named = {normal_address(to): key for key, to in reversed(settings.mapping.table.items())}
        return TableRoute(common.channel, table, named)
    if isinstance(settings.mapping, ByHeader):
        return HeaderRoute(destination)
    return TableRoute(common.channel, {common.channel: destination}, {})


class TableRoute:
    """A destination per channel; a source's channel by its address, else the module's own."""

    def __init__(self, channel: int, to: dict[int, str], by_address: dict[str, int]) -> None:
        self.channels: frozenset[int] | None = frozenset(to)
        self._channel = channel
        self._to = {**to, BROADCAST: BROADCAST_16}
        self._by_address = by_address

    def outward(self, packet: Packet) -> Outward:
        destination = self._to.get(packet.channel)
        if destination is None:
            return CannotSend("channel", f"channel {packet.channel} has no destination here")
        return (destination, packet.data) if packet.data else _EMPTY

    def inward(self, payload: bytes, address: str, network: str) -> Inward:
        known = self._by_address
        if not known:
            return self._channel, payload
        return known.get(address, known.get(network, self._channel)), payload


class HeaderRoute:
    """The first byte of the RF data is the channel, 255 is -1."""

    channels: frozenset[int] | None = None

    def __init__(self, destination: str) -> None:
        self._destination = destination

    def outward(self, packet: Packet) -> Outward:
        channel = packet.channel
        if channel == BROADCAST:
            channel = HEADER_OF_BROADCAST
        elif not 0 <= channel <= LAST_HEADER:
            return CannotSend("channel", f"channel {channel} does not fit the header byte")
        if not packet.data:
            return _EMPTY
        return self._destination, bytes((channel,)) + packet.data

    def inward(self, payload: bytes, address: str, network: str) -> Inward:
        if len(payload) < 2:
            return _NO_DATA
        header = payload[0]
        return (BROADCAST if header == HEADER_OF_BROADCAST else header), payload[1:]
