"""The route of each channel map.

`outward` turns a packet into a destination and the bytes for the hardware; `inward` turns received
bytes and the addresses of their sender into a channel and the packet's bytes. Addresses are text,
as the module writes them.
"""

from collections.abc import Callable, Mapping

from hilgw.adapters.base import CannotSend, Dropped
from hilgw.adapters.declaration import LAST_HEADER, ByDestination, ByHeader
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.reasons import PacketDropped, PacketRefused

HEADER_OF_BROADCAST = 255

_EMPTY = CannotSend(PacketRefused.EMPTY, "a packet must have at least one byte")
_NO_DATA = Dropped(PacketDropped.NO_HEADER, "a frame without data after the channel byte")

Outward = tuple[str, bytes] | CannotSend
Inward = tuple[int, bytes] | Dropped


def route_for(
    mapping: object,
    channel: int,
    destination: str,
    to_all: str,
    normal: Callable[[str], str] = str,
) -> "Route":
    """Return the route of a mapping; `normal` returns an address in the module's spelling."""
    if isinstance(mapping, ByHeader):
        return HeaderRoute(destination)
    table = mapping.table if isinstance(mapping, ByDestination) else {}
    return TableRoute(
        channel, destination, to_all, {key: normal(address) for key, address in table.items()}
    )


class OneChannelRoute:
    """The route of all packets on one channel, without addresses."""

    destinations: frozenset[str] = frozenset()

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.channels: frozenset[int] | None = frozenset({channel})

    def outward(self, packet: Packet) -> Outward:
        if not packet.data:
            return _EMPTY
        if packet.channel not in (self.channel, BROADCAST):
            return CannotSend(
                PacketRefused.CHANNEL, f"the line is channel {self.channel}, not {packet.channel}"
            )
        return "", packet.data

    def inward(self, payload: bytes, *sources: str) -> Inward:
        return self.channel, payload


class TableRoute:
    """A destination per channel; a source's channel by its address, else the module's own."""

    def __init__(
        self, channel: int, destination: str, to_all: str, table: Mapping[int, str]
    ) -> None:
        self._to = {channel: destination, **table}
        self._channel = channel
        self._by_address = {address: key for key, address in reversed(list(table.items()))}
        self.channels: frozenset[int] | None = frozenset(self._to)
        self.destinations = frozenset(self._to.values())
        self._to[BROADCAST] = to_all

    def outward(self, packet: Packet) -> Outward:
        destination = self._to.get(packet.channel)
        if destination is None:
            return CannotSend(
                PacketRefused.CHANNEL, f"channel {packet.channel} has no destination here"
            )
        return (destination, packet.data) if packet.data else _EMPTY

    def inward(self, payload: bytes, *sources: str) -> Inward:
        for source in sources if self._by_address else ():
            if source in self._by_address:
                return self._by_address[source], payload
        return self._channel, payload


class HeaderRoute:
    """The first byte is the channel, 255 is -1; all packets go to one destination."""

    channels: frozenset[int] | None = None

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self.destinations = frozenset((destination,))

    def outward(self, packet: Packet) -> Outward:
        channel = packet.channel
        if channel == BROADCAST:
            channel = HEADER_OF_BROADCAST
        elif not 0 <= channel <= LAST_HEADER:
            return CannotSend(
                PacketRefused.CHANNEL, f"channel {channel} does not fit into the header byte"
            )
        if not packet.data:
            return _EMPTY
        return self._destination, bytes((channel,)) + packet.data

    def inward(self, payload: bytes, *sources: str) -> Inward:
        if len(payload) < 2:
            return _NO_DATA
        header = payload[0]
        return (BROADCAST if header == HEADER_OF_BROADCAST else header), payload[1:]


Route = OneChannelRoute | TableRoute | HeaderRoute
"""channels: the medium channels whose packets are sent, None: all. destinations: those of them."""
