"""Node discovery: ND, DN and FN, and the answers to those of other modules; AG of DigiMesh."""

import random
from dataclasses import dataclass

from firmware_mocks.base import MS, Timers
from firmware_mocks.xbee.hardware import MAC_FAMILY, ZIGBEE_FAMILY
from firmware_mocks.xbee.network.packets import BROADCAST64, UNKNOWN16, Packet, Request, ignore
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.commands import Answer, Reply, Status

PROFILE = 0xC105
MANUFACTURER = 0x101E
COORDINATOR, ROUTER, END_DEVICE = 0, 1, 2
WITH_DEVICE_TYPE, WITH_SELF, WITH_RSSI = 0x01, 0x02, 0x04
NAMED_END_NS = 100 * MS  # from the answer of the node searched by name to the end of the search
LATEST = 0.8  # of NT: answers come before the search ends


@dataclass(frozen=True, slots=True)
class Query:
    """Asks all modules, or the one of this name, to identify themselves within `window_ns`."""

    token: int
    name: bytes
    window_ns: int


@dataclass(frozen=True, slots=True)
class Node:
    """The identity of a module, as the answer to a query."""

    token: int
    source16: int
    address: int
    name: bytes
    role: int
    device_type: int

    def record(self, family: str, options: int, rssi_dbm: int) -> bytes:
        """Return the value of an ND answer."""
        head = self.source16.to_bytes(2, "big") + self.address.to_bytes(8, "big")
        if family == MAC_FAMILY:
            return head + bytes((-rssi_dbm,)) + self.name + b"\0"
        tail = UNKNOWN16.to_bytes(2, "big") + bytes((self.role, 0))
        tail += PROFILE.to_bytes(2, "big") + MANUFACTURER.to_bytes(2, "big")
        if options & WITH_DEVICE_TYPE:
            tail += self.device_type.to_bytes(4, "big")
        if options & WITH_RSSI:
            tail += bytes((-rssi_dbm,))
        return head + self.name + b"\0" + tail

    def lines(self, family: str, options: int, rssi_dbm: int) -> list[str]:
        """Return the lines of an ND answer in command mode."""
        short, strength = f"{self.source16:X}", f"{-rssi_dbm:X}"
        address = [f"{self.address >> 32:X}", f"{self.address & 0xFFFFFFFF:X}"]
        name = self.name.decode("latin-1")
        if family == MAC_FAMILY:
            return [short, *address, strength, name]
        parent = f"{UNKNOWN16:X}"
        head = [short, *address, name, parent]
        if family != ZIGBEE_FAMILY:
            head = [*address, strength, name]
        tail = [f"{self.role:X}", "0", f"{PROFILE:X}", f"{MANUFACTURER:X}"]
        if options & WITH_DEVICE_TYPE:
            tail.append(f"{self.device_type:X}")
        if options & WITH_RSSI:
            tail.append(strength)
        return head + tail


@dataclass(frozen=True, slots=True)
class _Search:
    token: int
    name: bytes
    reply: Reply
    adopt: bool  # DN: the node found becomes the destination
    neighbours: bool  # FN: its answers to an API client are those of the nodes alone


@dataclass(frozen=True, slots=True)
class Aggregation:
    """AG: modules whose destination is this address get the sender's."""

    destination: int


class Discovery:
    """Searches of a module and its answers to others'. A new search ends the one before.

    random: draws the delays of answers.
    """

    def __init__(
        self, settings: Settings, radio: Transceiver, timers: Timers, random: random.Random
    ) -> None:
        self._settings = settings
        self._radio = radio
        self._timers = timers
        self._random = random
        self._search: _Search | None = None
        self._found_name = False
        self._token = 0

    def restart(self) -> None:
        self._search = None

    # --- this module's searches -----------------------------------------------------------------

    def search(self, name: bytes, reply: Reply, now: int) -> None:
        """Search for all nodes, or for the node of this name (ND)."""
        self._start(_Search(self._next_token(), name, reply, adopt=False, neighbours=False), now)

    def find_neighbours(self, value: bytes, reply: Reply, now: int) -> None:
        """Find the nodes in reach (FN)."""
        self._start(_Search(self._next_token(), b"", reply, adopt=False, neighbours=True), now)

    def aggregate(self, value: bytes, reply: Reply, now: int) -> None:
        """Make this module the destination of all whose destination is `value` (AG)."""
        if not 0 < len(value) <= 8:
            reply(Answer(Status.BAD_PARAMETER if value else Status.ERROR), now)
            return
        body = Aggregation(int.from_bytes(value, "big"))
        request = Request(value.rjust(8, b"\0"), BROADCAST64, kind="aggregate", body=body)
        refusal = self._radio.send(request, ignore, now)
        reply(Answer(Status.ERROR if refusal else Status.OK), now)

    def follow(self, packet: Packet, body: Aggregation) -> bytes | None:
        """Follow another module's AG: new and old destination, None where it is not meant."""
        number, put = self._settings.number, self._settings.registers.put
        old = number("DH") << 32 | number("DL")
        if old != body.destination:
            return None
        put("DH", packet.source64 >> 32)
        put("DL", packet.source64 & 0xFFFFFFFF)
        return packet.source64.to_bytes(8, "big") + old.to_bytes(8, "big")

    def _next_token(self) -> int:
        self._token += 1
        return self._token

    def resolve(self, name: bytes, reply: Reply, now: int) -> None:
        """Make the node of this name the destination (DN)."""
        if name:
            search = _Search(self._next_token(), name, reply, adopt=True, neighbours=False)
            self._start(search, now)
        else:
            reply(Answer(Status.ERROR), now)

    def _start(self, search: _Search, now: int) -> None:
        if not self._settings.has_header:
            search.reply(Answer(Status.ERROR), now)
            return
        name, self._found_name = search.name, False
        self._search = search
        window = self._settings.number("NT") * 100 * MS
        if self._lists_itself and not name and not search.neighbours:
            self._report(self._own_node(search.token), 0, now)
        query = Query(search.token, name, window)
        request = Request(name, BROADCAST64, kind="discover", body=query)
        refusal = self._radio.send(request, ignore, now)
        if refusal:
            self._end(now)
        else:
            self._timers.start("discovery", now + window, self._end)

    @property
    def _options(self) -> int:
        return self._settings.number("NO")

    @property
    def _lists_itself(self) -> bool:
        # NO bit 1; S1 has one bit only.
        return bool(self._options & (WITH_SELF if self._settings.hardware.modern else 0x01))

    def receive(self, node: Node, rssi_dbm: int, now: int) -> None:
        search = self._search
        if search is None or node.token != search.token:
            return
        if search.adopt:
            self._finish(self._adopt(node), now)
            return
        self._report(node, rssi_dbm, now)
        if search.name:
            self._found_name = True
            self._timers.start("discovery", now + NAMED_END_NS, self._end)

    def _report(self, node: Node, rssi_dbm: int, now: int) -> None:
        assert self._search is not None
        family = self._settings.hardware.family
        lines = node.lines(family, self._options, rssi_dbm)
        record = node.record(family, self._options, rssi_dbm)
        text = "".join(f"{line}\r" for line in lines)
        self._search.reply(Answer(value=record, text=text, last=False), now)

    def _adopt(self, node: Node) -> Answer:
        registers = self._settings.registers
        registers.put("DH", node.address >> 32)
        registers.put("DL", node.address & 0xFFFFFFFF)
        short = node.source16.to_bytes(2, "big")
        return Answer(value=short + node.address.to_bytes(8, "big"))

    def _end(self, now: int) -> None:
        # The time is over. A search by name fails without an answer.
        if self._search is not None:
            missed = self._search.name and not self._found_name
            end = Answer(text="", text_only=self._search.neighbours)
            self._finish(Answer(Status.ERROR) if missed else end, now)

    def _finish(self, answer: Answer, now: int) -> None:
        search, self._search = self._search, None
        self._timers.stop("discovery")
        if search is not None:
            search.reply(answer, now)

    # --- other modules' searches ----------------------------------------------------------------

    def answer(self, packet: Packet, query: Query, now: int) -> None:
        """Answer a query: at a random time, at once when it is for this name."""
        if query.name not in (b"", self._settings.registers.text("NI")):
            return
        delay = 0
        if not query.name:
            delay = self._random.randrange(int(query.window_ns * LATEST) + 1)
        asker = packet.source64
        name = f"found {asker:X} {query.token}"

        def send(when: int) -> None:
            body = self._own_node(query.token)
            request = Request(bytes(12) + body.name, asker, kind="found", body=body)
            self._radio.send(request, ignore, when)

        self._timers.start(name, now + delay, send)

    def _own_node(self, token: int) -> Node:
        number = self._settings.number
        zigbee = self._settings.hardware.family == ZIGBEE_FAMILY
        role = COORDINATOR if zigbee and number("CE") == 1 else ROUTER
        return Node(
            token=token,
            source16=self._radio.addressing.source16,
            address=self._settings.address,
            name=self._settings.registers.text("NI"),
            role=END_DEVICE if zigbee and number("SM") in (4, 5) else role,
            device_type=number("DD"),
        )
