"""Zigbee modules: joining a network, and addressing packets in it over one hop."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

from firmware_mocks.base import MS, Timers
from firmware_mocks.xbee.network import zdo, zigbee_tables
from firmware_mocks.xbee.network.addressing import MESH_OVERHEAD, Addressing
from firmware_mocks.xbee.network.link_keys import KEY_BYTES, SECOND, LinkKeys, Registration
from firmware_mocks.xbee.network.options import APS_ENCRYPTION, MULTICAST, NO_ACK, refused
from firmware_mocks.xbee.network.packets import (
    ADDRESS_DISCOVERY,
    BROADCAST64,
    COORDINATOR64,
    ROUTE_DISCOVERY,
    UNKNOWN16,
    UNKNOWN64,
    Delivery,
    Done,
    Outcome,
    Packet,
    Request,
    ignore,
)
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.commands import Answer, Reply, Status
from firmware_mocks.xbee.uart.serial_line import COORDINATOR_STARTED, JOINED, SerialLine

ASSOCIATION_NS = 100 * MS
APS_RETRIES = 3
MAC_TRANSMISSIONS = 4
UNICAST_BYTES, BROADCAST_BYTES = 84, 92
ENCRYPTION_BYTES = 18
FRAGMENTED_BYTES = 255
BROADCASTS16 = range(0xFFFC, 0x10000)
LOWEST_CHANNEL = 11
LARGEST_ADDRESS = 0xFFF7
# AI: association indication
NO_NETWORK = 0x21
NO_MATCHING_NETWORK = 0x22
JOINING_CLOSED = 0x23
SCANNING = 0xFF

NETWORK_RESET = "network reset"  # kind of a packet: NR=1 to the whole network
ALWAYS_OPEN = 0xFF  # NJ
PAN_ANY = 0xFFFF  # II
END_DEVICE_MODES = (4, 5)  # SM

Modules = Callable[[], Iterable[Addressing]]
Links = Callable[[], Iterable[tuple[Addressing, float]]]
Send = Callable[[Request, Done, int], object]


def _resolved(request: Request) -> Request:
    # Broadcast addresses FFFC to FFFF, in 64 or in 16 bits, as the 64-bit one.
    short = request.destination64 == UNKNOWN64 and request.destination16 in BROADCASTS16
    if short or request.destination64 in BROADCASTS16:
        return replace(request, destination64=BROADCAST64)
    return request


def _is_for_many(request: Request) -> bool:
    # Whether no module acknowledges it: a broadcast, or a multicast to a group.
    return request.broadcast or bool(request.options & MULTICAST)


class Zigbee(Addressing):
    """A coordinator (CE=1) forms a network; a router joins one in reach.

    in_reach: the other Zigbee modules that this module's signal reaches. links: of those, the ones
    that it receives, each with its RSSI in dBm. others: all of them.
    send: transmits a packet.
    """

    def __init__(
        self,
        settings: Settings,
        line: SerialLine,
        timers: Timers,
        in_reach: Modules,
        links: Links,
        others: Modules,
        send: Send,
    ) -> None:
        super().__init__(settings)
        self._line = line
        self._timers = timers
        self._in_reach = in_reach
        self._links = links
        self._others = others
        self._send = send
        self._started = False
        self._known: dict[int, int] = {}  # modules to which it has a route: 64 and 16 bits
        self._parent: Zigbee | None = None
        self._network_key = b""
        self._open_until = 0
        self._link_keys = LinkKeys()

    # --- the network ----------------------------------------------------------------------------

    @property
    def source16(self) -> int:
        return self.settings.number("MY")

    @property
    def joined(self) -> bool:
        return self.source16 != UNKNOWN16

    @property
    def coordinator(self) -> bool:
        return self.settings.number("CE") == 1

    @property
    def key(self) -> bytes:
        return self._network_key if self.settings.number("EE") else b""

    @property
    def identity(self) -> zdo.Identity:
        end_device = self.settings.number("SM") in END_DEVICE_MODES
        role = 0 if self.coordinator else 2 if end_device else 1
        return zdo.Identity(self.source16, self.settings.address, role)

    def restart(self, now: int) -> None:
        # It leaves the network, and looks for one.
        self._started = True
        self._open_until = now + self.settings.number("NJ") * SECOND
        put = self.settings.registers.put
        for name, value in (("CH", 0), ("OP", 0), ("OI", 0xFFFF), ("MY", UNKNOWN16)):
            put(name, value)
        put("AI", SCANNING)
        self._known.clear()
        self._parent = None
        self._link_keys.clear()
        self._timers.start("association", now + ASSOCIATION_NS, self.associate)

    def associate(self, now: int) -> None:
        """Form or join a network, or put the reason of the failure into AI."""
        if self.joined:
            return
        if self.coordinator:
            self._form(now)
            return
        hosts, reason = self._hosts(now)
        if not hosts:
            self.settings.registers.put("AI", reason)
            return
        self._join(hosts[0], self._new_address())
        self._line.send_modem_status(JOINED, now)
        self._announce(now)
        self._invite(now)

    def _form(self, now: int) -> None:
        registers = self.settings.registers
        mask = registers.number("SC")
        address = self.settings.address
        registers.put("CH", LOWEST_CHANNEL + (mask & -mask).bit_length() - 1)
        registers.put("OP", registers.number("ID") or address ^ 0xDEADBEEF)
        random_pan = zlib.crc32(address.to_bytes(8, "big")) & 0x3FFF
        registers.put(
            "OI", random_pan if registers.number("II") == PAN_ANY else registers.number("II")
        )
        random_key = sha256(address.to_bytes(8, "big")).digest()[:KEY_BYTES]
        self._network_key = registers.text("NK") if any(registers.text("NK")) else random_key
        registers.put("MY", 0)
        registers.put("AI", 0)
        self._line.send_modem_status(COORDINATOR_STARTED, now)
        self._invite(now)

    def _join(self, host: Zigbee, address: int) -> None:
        registers = self.settings.registers
        for name in ("CH", "OP", "OI"):
            registers.put(name, host.settings.number(name))
        registers.put("MY", address)
        registers.put("AI", 0)
        self._network_key = host._network_key
        if host._is_below(self):  # it is a child now, and no parent of its parent
            for other in self._others():
                if isinstance(other, Zigbee) and other._parent is self:
                    other._parent = None
        self._parent = host

    def _invite(self, now: int) -> None:
        for other in self._neighbours():
            if other._started:
                other.associate(now)

    def _neighbours(self) -> Iterable[Zigbee]:
        return (other for other in self._in_reach() if isinstance(other, Zigbee))

    def _hosts(self, now: int) -> tuple[list[Zigbee], int]:
        settings = self.settings
        hosts = [other for other in self._neighbours() if other.joined]
        if not hosts:
            return [], NO_NETWORK
        wanted, mask = settings.number("ID"), settings.number("SC")
        hosts = [
            host
            for host in hosts
            if wanted in (0, host.settings.number("OP"))
            and mask >> host.settings.number("CH") - LOWEST_CHANNEL & 1
            and host._admits(self, now)
        ]
        if not hosts:
            return [], NO_MATCHING_NETWORK
        hosts = [host for host in hosts if host.is_open(now)]
        return sorted(hosts, key=lambda host: host._is_below(self)), JOINING_CLOSED

    def is_open(self, now: int) -> bool:
        """Return whether NJ seconds since the start or its change last; 0 never, FF always."""
        seconds = self.settings.number("NJ")
        return seconds == ALWAYS_OPEN or (seconds > 0 and now < self._open_until)

    def open_network(self, now: int) -> None:
        self._open_until = now + self.settings.number("NJ") * SECOND
        if self.joined:
            self._invite(now)

    def _admits(self, joining: Zigbee, now: int) -> bool:
        # A module joins with the key of the network, or with one registered for it.
        if joining.settings.key == self.settings.key:
            return True
        link_key = self._trust_center()._link_keys.key(joining.settings.address, now)
        return link_key != b"" and link_key == joining.settings.key

    def _trust_center(self) -> Zigbee:
        network = self.settings.number("OP")
        others = (other for other in self._others() if isinstance(other, Zigbee))
        members = (m for m in others if m.coordinator and m.settings.number("OP") == network)
        return self if self.coordinator else next(members, self)

    def register(self, address: int, kind: int, key: bytes, now: int) -> Registration:
        """Let the module of this address join with a key of its own, for KT seconds (frame 24)."""
        timeout_s = self.settings.number("KT")
        status = self._link_keys.register(address, kind, key, timeout_s, now)
        if status == Registration.SUCCESS and self.joined:
            self._invite(now)
        return status

    def _announce(self, now: int) -> None:
        # Device_annce to the whole network.
        payload = zdo.announcement(self.next_sequence(), self.identity)
        ends = zdo.endpoints(zdo.DEVICE_ANNCE)
        self._send(Request(payload, BROADCAST64, endpoints=ends), ignore, now)

    # --- ZDO ------------------------------------------------------------------------------------

    def answer_zdo(self, cluster: int, payload: bytes, now: int) -> bytes | None:
        """Return the payload of the answer to a ZDO request; None when it is not answered."""
        if cluster == zigbee_tables.MGMT_LQI:
            entries = [each.entry() for each in self._neighbour_table(now)]
            return zigbee_tables.answer(cluster, payload, entries)
        if cluster == zigbee_tables.MGMT_RTG:
            entries = [zigbee_tables.route(short, short) for short in self._known.values()]
            return zigbee_tables.answer(cluster, payload, entries)
        return zdo.answer(cluster, payload, self.identity)

    def _is_below(self, other: Zigbee) -> bool:
        parent = self._parent
        return parent is not None and (parent is other or parent._is_below(other))

    def _depth(self) -> int:
        return 0 if self.coordinator or self._parent is None else self._parent._depth() + 1

    def _neighbour_table(self, now: int) -> Iterator[zigbee_tables.Neighbour]:
        # The members of its network that it receives. An end device has its parent alone, and is
        # listed by it alone.
        for other, rssi_dbm in self._links():
            if not isinstance(other, Zigbee) or not other.joined:
                continue
            network = other.settings.number("OP")
            if network != self.settings.number("OP"):
                continue
            relation = zigbee_tables.SIBLING
            if other is self._parent:
                relation = zigbee_tables.PARENT
            elif other._parent is self:
                relation = zigbee_tables.CHILD
            ends = zdo.END_DEVICE in (self.identity.role, other.identity.role)
            if relation == zigbee_tables.SIBLING and ends:
                continue
            long, short, role = other.settings.address, other.source16, other.identity.role
            joining = role != zdo.END_DEVICE and other.is_open(now)
            depth = other._depth()
            yield zigbee_tables.Neighbour(
                network, long, short, role, relation, joining, depth, rssi_dbm
            )

    # --- commands -------------------------------------------------------------------------------

    def reset_network(self, value: bytes, reply: Reply, now: int) -> None:
        """Leave the network (NR), alone (0) or with all its members (1), and look for one."""
        if value not in (b"", b"\0", b"\1"):
            reply(Answer(Status.BAD_PARAMETER), now)
            return
        reply(Answer(), now)
        if value != b"\1" or not self.joined:
            self.restart(now)
            return
        everyone = Request(b"", BROADCAST64, kind=NETWORK_RESET)
        self._send(everyone, lambda outcome, when: self.restart(when), now)

    def _new_address(self) -> int:
        taken = {member.source16 for member in self._others()}
        address = zlib.crc32(self.settings.address.to_bytes(8, "big")) % LARGEST_ADDRESS + 1
        while address in taken:
            address = address % LARGEST_ADDRESS + 1
        return address

    # --- packets --------------------------------------------------------------------------------

    def packet(self, request: Request) -> Packet:
        request = _resolved(request)
        acknowledged = not _is_for_many(request)
        once = bool(request.options & NO_ACK)
        return Packet(
            request=request,
            family=self.settings.hardware.family,
            source64=self.settings.address,
            source16=self.source16,
            network=self.settings.number("OP"),
            acknowledged=acknowledged,
            size=len(request.data) + MESH_OVERHEAD * max(1, -(-len(request.data) // UNICAST_BYTES)),
            repeats=MAC_TRANSMISSIONS * (1 if once else APS_RETRIES) if acknowledged else 1,
            sequence=self.next_sequence(),
            key=self.key,
        )

    def accepts(self, packet: Packet) -> bool:
        if not self.joined or packet.network != self.settings.number("OP"):
            return False
        if packet.request.options & MULTICAST:  # to a group: this module is in none
            return False
        return packet.request.broadcast or self._is_addressed_by(packet.request)

    def _is_addressed_by(self, request: Request) -> bool:
        if request.destination64 == COORDINATOR64:
            return self.coordinator
        if request.destination64 != UNKNOWN64:
            return request.destination64 == self.settings.address
        return request.destination16 == self.source16

    def refusal(self, request: Request) -> int:
        request, key = _resolved(request), self.key
        if not self.joined:
            return Delivery.NOT_JOINED
        to_many = _is_for_many(request)
        if not to_many and self._is_addressed_by(request):
            return Delivery.SELF_ADDRESSED
        if request.options & APS_ENCRYPTION and not key:
            return Delivery.APS_BROADCAST if to_many else Delivery.APS_UNENCRYPTED
        broadcast_limit = BROADCAST_BYTES - (ENCRYPTION_BYTES if key else 0)
        if len(request.data) > (broadcast_limit if to_many else self.longest()):
            return Delivery.TOO_LARGE
        return refused(self.settings.hardware.family, request.options)

    def failure(self, request: Request, *, in_reach: bool, exists: bool) -> int:
        # Lost again and again; or out of reach; or no module has this address.
        # An address that no module has: the discovery of an unknown 16-bit address fails (24); a
        # packet to a known one is sent, and not acknowledged (21).
        if in_reach:
            return Delivery.NETWORK_ACK
        if exists:
            return Delivery.ROUTE_NOT_FOUND
        by_short = request.destination16 != UNKNOWN16 or request.destination64 == COORDINATOR64
        return Delivery.NETWORK_ACK if by_short else Delivery.ADDRESS_NOT_FOUND

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        # Adds the address and route discovery that the first packet to a module needs.
        if outcome.status == Delivery.ADDRESS_NOT_FOUND:
            # The packet itself was not sent: no retries, as in the log of an S2C.
            return replace(outcome, retries=0, discovery=ADDRESS_DISCOVERY)
        receiver = outcome.receiver
        if receiver is None or receiver.long in self._known:
            return outcome
        self._known[receiver.long] = receiver.short
        has_short = packet.request.destination16 != UNKNOWN16
        discovery = ROUTE_DISCOVERY | (0 if has_short else ADDRESS_DISCOVERY)
        return replace(outcome, discovery=discovery)

    def receive_options(self, packet: Packet) -> int:
        aps = packet.request.options & APS_ENCRYPTION
        return (0x02 if packet.request.broadcast else 0x01) | aps

    def longest(self) -> int:
        # API mode sends fragments.
        if self._line.api_mode:
            return FRAGMENTED_BYTES
        return UNICAST_BYTES - (ENCRYPTION_BYTES if self.key else 0)
