"""The packets of other gateways, and of other programs on Zenoh, for the medium here.

All of it comes from the network: samples that are not packets are counted and have no effect.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from hilgw.engine.scene import Scene
from hilgw.errors import ConfigError
from hilgw.federation import wire
from hilgw.federation.member import Member
from hilgw.federation.outgoing import LONGEST_PACKET
from hilgw.federation.shared import SharedAirs
from hilgw.federation.wire import PacketKey
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose
from hilgw.units import NS_PER_S

OUTSIDE = "zenoh"  # the gateway of packets that another program on Zenoh sends
OTHERS = "others"
MOST_SOURCES = 1024  # names of sources from outside; further ones are counted together
LONGEST_WAY_NS = NS_PER_S

Before = tuple[int, str, str, str | None, str | None, float, float, float | None, str | None]
After = tuple[float, bool, bool, str, frozenset[str]]


class Way:
    """The common part of packets with one key and head.

    fields: of a `Packet`, between its data and its time, and after that; None until one enters the
    medium.
    """

    __slots__ = ("at", "fields", "head", "pose")

    def __init__(self, key: PacketKey, head: wire.Head, pose: Pose | None) -> None:
        self.at, self.head, self.pose = key, head, pose
        self.fields: tuple[Before, After] | None = None


class Refusing:
    """A context that counts a malformed message, which then has no effect."""

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
    """The entrance of packets to the medium.

    members: by name. dropped: why samples that are not of a member were dropped. is_open: packets
    enter. ask: asks a gateway how many packets it sent.
    """

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
        self._ways: dict[tuple[str, bytes, bytes], Way] = {}

    def sample(self, key: str, payload: bytes, attachment: bytes) -> None:
        """Take a sample on the key of a packet."""
        if not self.is_open:
            return
        head, zero, trailer = attachment.partition(b"\0")
        try:
            # Mostly equal to the one before: decoding it costs more than all else.
            way = self._ways.get((key, head, zero)) or self._way(key, head, zero)
            if not payload or len(payload) > LONGEST_PACKET:
                raise wire.Malformed(f"a packet of {len(payload)} B")
            if zero:
                self._take(way, payload, *wire.decode_trailer(trailer, self._id))
            else:
                self._take_from_outside(way, payload)
        except (wire.Malformed, ValueError):
            self.dropped["malformed"] += 1

    def _take_from_outside(self, way: Way, payload: bytes) -> None:
        sender = way.at.sender
        member = self._members.get(sender)
        if sender == self._name or (member is not None and member.is_live):
            self.dropped["wrong_sender"] += 1  # the name of a gateway, and not from it
        else:
            self.entered += 1
            now = self._now()
            self._enter(way, payload, now, now, OUTSIDE)

    def _take(
        self, way: Way, payload: bytes, sender: int, sent_ns: int, number: int | None
    ) -> None:
        now, member = self._now(), self._members.get(way.at.sender)
        if member is None or member.id != sender:
            self.dropped["unknown_sender"] += 1
            return
        if number is None:
            member.dropped["not_for_here"] += 1
            return
        try:
            stream = member.incoming.get(way.at.type) or member.into(way.at.type)
            if not stream.accept(number):
                return
        except ValueError:
            self._ask(member)
            raise
        passed, offset, head = member.neighbour.passed, member.offset_ns, way.head
        if offset is None:
            sent_ns = now
        else:
            sent_ns = min(max(sent_ns + offset, now - LONGEST_WAY_NS), now)
            member.neighbour.latency.add(now - sent_ns)
        passed.received += len(payload)
        passed.last_ns = now
        if head.air is not None and self._airs.is_duplicate(member.name, head, payload, now):
            member.dropped["duplicate"] += 1
            return
        member.entered += 1
        self._enter(way, payload, now, sent_ns, member.name)

    def _enter(self, way: Way, payload: bytes, now: int, sent_ns: int, gateway: str) -> None:
        before, after = way.fields or self._fields(way, gateway)
        packet = Packet(payload, *before, sent_ns, *after)
        self._scene.transmit_from(packet, way.pose, way.head.on, now)

    def _way(self, key: str, data: bytes, zero: bytes) -> Way:
        """Return the way of a packet, or raise Malformed.

        `zero` is not empty for a packet of a gateway.
        """
        made = Way(wire.packet_key(key), *wire.decode_head(data))
        if len(self._ways) >= MOST_SOURCES:
            self._ways.clear()
        self._ways[key, data, zero] = made
        return made

    def _fields(self, way: Way, gateway: str) -> tuple[Before, After]:
        packet_key, head = way.at, way.head
        source = self._source(head.source or packet_key.sender, gateway)
        air = self._airs.inside(head.air, gateway)
        served = frozenset(air for air, name in head.served.items() if name != self._name)
        limits = head.range, head.aperture
        before = (
            packet_key.channel,
            packet_key.type,
            source,
            head.owner,
            air,
            *limits,
            head.rssi_dbm,
            head.address,
        )
        after = head.rssi_at_1m_dbm, head.rssi_uncertain, head.is_own, gateway, served
        way.fields = before, after
        return way.fields

    def _source(self, device: str, gateway: str) -> str:
        """Return the device's name here, in bounded memory: the network may have many names."""
        source = self._sources.get((device, gateway))
        if source is None:
            if len(self._sources) >= MOST_SOURCES:
                return f"{OTHERS}@{gateway}" if gateway in self._members else OTHERS
            source = self._sources[device, gateway] = f"{device}@{gateway}"
        return source
