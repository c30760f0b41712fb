"""The packets of other gateways, and of other programs on Zenoh, for the medium here.

All of it comes from the network: what is not a packet is counted and has no effect.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hilgw.errors import ConfigError
from hilgw.federation import wire
from hilgw.federation.outgoing import LONGEST_PACKET
from hilgw.medium.packet import Packet
from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hilgw.engine.scene import Scene
    from hilgw.federation.member import Member
    from hilgw.federation.shared_airs import SharedAirs
    from hilgw.federation.wire import Given, PacketKey

OUTSIDE = "zenoh"  # the gateway of packets that another program on Zenoh sends
OTHERS = "others"
NOWHERE: frozenset[str] = frozenset()
Before = tuple[int, str, str, str | None, str | None, float, float, float | None, str | None]
After = tuple[float, bool, bool, str, frozenset[str]]
"""The fields of a `Packet` between its data and its time, and after that."""
MOST_SOURCES = 1024  # names of sources from outside; further ones are counted together
LONGEST_WAY_NS = NS_PER_S


class Refusing:
    """Counts a malformed message, which then has no effect."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, (wire.Malformed, ConfigError, ValueError)):
            self._counts["malformed"] += 1
            return True
        return False


class Incoming:
    """Puts packets on the medium. members: by name. dropped: why samples of no member were not.
    is_open: whether it does. ask: asks a gateway how many packets it sent."""

    def __init__(
        self,
        name: str,
        id: int,
        members: Mapping[str, Member],
        scene: Scene,
        airs: SharedAirs,
        now: Callable[[], int],
        ask: Callable[[Member], object],
    ) -> None:
        self.is_open = True
        self.dropped: Counter[str] = Counter()
        self.entered = 0  # of other programs
        self._name = name
        self._id = id
        self._members = members
        self._scene = scene
        self._airs = airs
        self._now = now
        self._ask = ask
        self._sources: dict[tuple[str, str], str] = {}
        self._ways: dict[tuple[PacketKey, wire.Head, str], tuple[Before, After]] = {}

    def sample(self, key: str, payload: bytes, attachment: bytes) -> None:
        """A sample on the key of a packet."""
        if not self.is_open:
            return
        try:
            at = wire.packet_key(key)
            given = wire.decode_attachment(attachment, self._id)
            if not payload or len(payload) > LONGEST_PACKET:
                raise wire.Malformed(f"a packet of {len(payload)} B")
            self._take(at, given, payload)
        except (wire.Malformed, ValueError):
            self.dropped["malformed"] += 1

    def _take(self, at: PacketKey, given: Given, payload: bytes) -> None:
        now, member = self._now(), self._members.get(at.sender)
        if given.sender is None:
            if at.sender == self._name or (member is not None and member.is_live):
                self.dropped["wrong_sender"] += 1  # the name of a gateway, and not from it
            else:
                self.entered += 1
                self._enter(at, given, payload, now, now, OUTSIDE)
            return
        if member is None or member.id != given.sender:
            self.dropped["unknown_sender"] += 1
            return
        if given.number is None:
            member.dropped["not_for_here"] += 1
            return
        try:
            if not member.into(at.type).accept(given.number):
                return
        except ValueError:
            self._ask(member)
            raise
        sent_ns, offset = now, member.offset_ns
        if offset is not None:
            sent_ns = min(max(given.sent_ns + offset, now - LONGEST_WAY_NS), now)
            member.neighbour.latency.add(now - sent_ns)
        passed = member.neighbour.passed
        passed.received += len(payload)
        passed.last_ns = now
        head = given.head
        if head.air is not None and self._airs.is_duplicate(member.name, head, payload, now):
            member.dropped["duplicate"] += 1
            return
        member.entered += 1
        self._enter(at, given, payload, now, sent_ns, member.name)

    def _enter(
        self, at: PacketKey, given: Given, payload: bytes, now: int, sent_ns: int, gateway: str
    ) -> None:
        head = given.head
        way = self._ways.get((at, head, gateway)) or self._way(at, head, gateway)
        packet = Packet(payload, *way[0], sent_ns, *way[1])
        self._scene.transmit_from(packet, given.pose, head.on, now)

    def _way(self, at: PacketKey, head: wire.Head, gateway: str) -> tuple[Before, After]:
        """Of all packets with this key and head. The decoder keeps the heads of the last ones."""
        if len(self._ways) >= MOST_SOURCES:
            self._ways.clear()
        source = self._source(head.source or at.sender, gateway)
        air = self._airs.inside(head.air, gateway)
        served = self._served_elsewhere(head) if head.served else NOWHERE
        limits = head.range, head.aperture
        before = at.channel, at.type, source, head.owner, air, *limits, head.rssi_dbm, head.address
        after = head.rssi_at_1m_dbm, head.rssi_uncertain, head.is_own, gateway, served
        self._ways[at, head, gateway] = before, after
        return before, after

    def _served_elsewhere(self, head: wire.Head) -> frozenset[str]:
        return frozenset(air for air, name in head.served.items() if name != self._name)

    def _source(self, device: str, gateway: str) -> str:
        """Its name here; in bounded memory, as the network has any number of names."""
        found = self._sources.get((device, gateway))
        if found is None:
            if len(self._sources) >= MOST_SOURCES:
                return f"{OTHERS}@{gateway}" if gateway in self._members else OTHERS
            found = self._sources[device, gateway] = f"{device}@{gateway}"
        return found
