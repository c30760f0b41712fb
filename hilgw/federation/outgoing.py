"""The packets of this gateway for the others: one sample each, for all receivers."""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from hilgw.engine.neighbour import Outlet
from hilgw.federation import wire
from hilgw.federation.member import Member
from hilgw.federation.session import ZenohSession
from hilgw.federation.shared import SharedAirs
from hilgw.medium.medium import Medium
from hilgw.medium.packet import BROADCAST, Copy
from hilgw.reasons import PacketRefused, RefusedReason

LONGEST_PACKET = 1 << 19
_FIELDS = attrgetter(
    *("range", "aperture", "owner", "air", "address", "rssi_dbm"),
    *("rssi_at_1m_dbm", "rssi_uncertain", "is_own"),
)
MOST_ROUTES, MOST_SOURCES = 4096, 4096
MOST_LIGHT, LONGEST_LIGHT = 256, 512
"""Packets, and bytes of them, under way to a gateway with which Zenoh has room for one more."""


class Route(NamedTuple):
    """The route of packets of one type and channel.

    key: where they are published. receivers: gateways that get them. served: see `wire.Head`.
    """

    key: str
    receivers: int
    served: dict[str, str]


class Outgoing:
    """The exit of copies for all neighbours. call_soon: calls in the next turn of the event loop.

    The medium passes a packet to one neighbour after the other; it leaves as one sample to all of
    them, with the number of the packet for each.
    """

    def __init__(
        self,
        keys: wire.Keys,
        id: int,
        session: ZenohSession,
        members: Mapping[str, Member],
        medium: Medium,
        airs: SharedAirs,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._keys = keys
        self._id = id
        self._session = session
        self._members = members
        self._medium = medium
        self._airs = airs
        self._call_soon = call_soon
        self._routes: dict[tuple[str, int], Route] = {}
        self._heads: dict[str, tuple[tuple[Any, ...], bytes]] = {}
        self._copy: Copy | None = None  # of the packet that the medium is giving to the neighbours
        self._numbers: list[tuple[int, int]] = []
        self._route = Route("", 0, {})
        self._is_light = True
        self._is_flush_due = False

    def carry(self, copy: Copy, outlet: Outlet) -> RefusedReason | None:
        """Take a copy for a neighbour; return the reason if it was refused, else None."""
        packet = copy.packet
        if self._session.is_full:
            return PacketRefused.OVERFLOW
        if len(packet.data) > LONGEST_PACKET:
            return PacketRefused.TOO_LONG
        member = self._members[outlet.neighbour]
        if (before := self._copy) is None or before.packet is not packet:
            if before is not None:
                self.flush()
            way = packet.type, packet.channel
            self._copy, self._route = copy, self._routes.get(way) or self._route_of(*way)
        stream = member.outgoing.get(packet.type) or member.out(packet.type)
        self._numbers.append((member.id, stream.next()))
        if len(packet.data) > LONGEST_LIGHT:
            member.heavy = stream, stream.sent
        settled = stream.delivered + stream.lost
        if stream.sent - settled > MOST_LIGHT or (member.heavy and not member.is_light()):
            self._is_light = False
        member.neighbour.passed.sent += len(packet.data)
        if len(self._numbers) >= self._route.receivers:
            self.flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._call_soon(self._flush_late)
        return None

    def _flush_late(self) -> None:
        self._is_flush_due = False
        self.flush()

    def flush(self) -> None:
        """Send the packet to the neighbours that have it by now."""
        copy, self._copy = self._copy, None
        if copy is not None:
            numbers, self._numbers = self._numbers, []
            packet, key, served = copy.packet, self._route.key, self._route.served
            # Mostly that of the packet before, of the same source. First all that it is made of.
            origin = copy.origin, copy.mounted_on, served, _FIELDS(packet)
            before = self._heads.get(packet.source)
            if before is not None and before[0] == origin:
                head = before[1]
            else:
                head = self._new_head(copy, served)
                self._heads[packet.source] = origin, head
            attachment = head + wire.trailer(self._id, packet.sent_ns, numbers)
            is_light, self._is_light = self._is_light, True
            self._session.put(key, packet.data, attachment, is_light=is_light)

    def _new_head(self, copy: Copy, served: dict[str, str]) -> bytes:
        packet, pose = copy.packet, copy.origin
        if len(self._heads) >= MOST_SOURCES:
            self._heads.clear()
        return wire.encode_json(
            wire.Head(
                source=packet.source,
                owner=packet.owner,
                on=copy.mounted_on,
                air=self._airs.outside(packet.air),
                address=packet.address,
                served=served,
                position=None if pose is None else pose.position,
                rotation=(0.0, 0.0, 0.0, 1.0) if pose is None else pose.quaternion(),
                range=packet.range,
                aperture=packet.aperture,
                rssi_dbm=packet.rssi_dbm,
                rssi_at_1m_dbm=packet.rssi_at_1m_dbm,
                rssi_uncertain=packet.rssi_uncertain,
                is_own=packet.is_own,
            )
        )

    # --- who gets them --------------------------------------------------------------------------

    def changed(self) -> None:
        """Forget the routes after a change of listeners or channels, here or at a neighbour."""
        self.flush()
        self._routes.clear()

    def _route_of(self, type: str, channel: int) -> Route:
        if len(self._routes) >= MOST_ROUTES:
            self._routes.clear()
        key = self._keys.packet(type, channel)
        receivers = sum(1 for _ in self._receivers(type, channel))
        made = self._routes[type, channel] = Route(key, receivers, self._served(type, channel))
        return made

    def _receivers(self, type: str, channel: int) -> Iterator[Member]:
        for member in self._members.values():
            outlet = member.neighbour.outlets.get(type)
            if outlet is not None and outlet.is_attached and _is_on(outlet.listener, channel):
                yield member

    def _served(self, type: str, channel: int) -> dict[str, str]:
        """Return the gateway that serves each air with modules of several gateways.

        This gateway's module comes before that of another one, then the first by name.
        """
        candidates: dict[str, list[str]] = {}
        for listener in self._medium.listeners:
            air = self._airs.shared(listener.air)
            if air is not None and listener.type == type and _is_on(listener, channel):
                candidates[air] = [self._keys.name]
        for member in sorted(self._receivers(type, channel), key=lambda each: each.name):
            for state in () if member.state is None else member.state.listeners.values():
                if state.air is not None and state.type == type and _takes(state.channels, channel):
                    names = candidates.setdefault(state.air, [])
                    if member.name not in names:
                        names.append(member.name)
        return {air: names[0] for air, names in candidates.items() if len(names) > 1}


def _is_on(listener: Any, channel: int) -> bool:
    return _takes(listener.channels, channel)


def _takes(channels: Any, channel: int) -> bool:
    return channels is None or channel == BROADCAST or channel in channels or BROADCAST in channels
