"""How Webots channels map to a module that knows addresses, or knows nothing of channels.

`outward` turns a packet into a destination and the bytes for the module, `inward` bytes and
their source into a channel and the packet's bytes. Addresses are the module's own text.
`channels`: what the medium sends here, None: all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from hilgw.adapters.base import CannotSend, Dropped
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.settings import setting

LAST_HEADER = 254
HEADER_OF_BROADCAST = 255

_EMPTY = CannotSend("empty", "a packet has at least one byte")
_NO_DATA = Dropped("no_header", "a packet without data behind the channel byte")

Outward = tuple[str, bytes] | CannotSend
Inward = tuple[int, bytes] | Dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDestination:
    """Each Webots channel is one module's address. What is heard from an address of the table
    comes in on its channel (the first one named), from any other on `channel`. `channel` itself,
    when not in the table, goes to `destination`."""

    by: Literal["destination"] = "destination"
    table: dict[int, str] = setting(
        "Webots channel -> address of the module", default_factory=dict, example={7: "50"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHeader:
    """The first payload byte is the Webots channel, 0 to 254; 255 is -1."""

    by: Literal["header"] = "header"


class Route(Protocol):
    channels: frozenset[int] | None
    overhead: int

    def outward(self, packet: Packet) -> Outward: ...

    def inward(self, payload: bytes, source: str) -> Inward: ...


class TableRoute:
    """A destination per channel; a source's channel by its address, else the module's own."""

    overhead = 0

    def __init__(
        self, channel: int, destination: str, to_all: str, table: Mapping[int, str]
    ) -> None:
        self._to = {channel: destination, **table}
        self._channel = channel
        self._by_address = {address: key for key, address in reversed(list(table.items()))}
        self.channels: frozenset[int] | None = frozenset(self._to)
        self._to[BROADCAST] = to_all

    def outward(self, packet: Packet) -> Outward:
        destination = self._to.get(packet.channel)
        if destination is None:
            return CannotSend("channel", f"channel {packet.channel} has no destination here")
        return (destination, packet.data) if packet.data else _EMPTY

    def inward(self, payload: bytes, source: str) -> Inward:
        return self._by_address.get(source, self._channel), payload


class HeaderRoute:
    """The first byte is the channel, 255 is -1; all go to one destination."""

    channels: frozenset[int] | None = None
    overhead = 1

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

    def inward(self, payload: bytes, source: str) -> Inward:
        if len(payload) < 2:
            return _NO_DATA
        header = payload[0]
        return (BROADCAST if header == HEADER_OF_BROADCAST else header), payload[1:]
