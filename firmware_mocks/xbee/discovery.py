"""Node discovery: ND and DN, the asking and the answering side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_mocks.base import MS
from firmware_mocks.xbee import status
from firmware_mocks.xbee.commands import Answer, Reply
from firmware_mocks.xbee.hardware import MAC_FAMILY, ZIGBEE_FAMILY
from firmware_mocks.xbee.packets import BROADCAST64, UNKNOWN16, Outcome, Packet, Request

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

DISCOVER = "discover"
FOUND = "found"
PROFILE = 0xC105
MANUFACTURER = 0x101E
COORDINATOR, ROUTER, END_DEVICE = 0, 1, 2
WITH_DEVICE_TYPE, WITH_SELF, WITH_RSSI = 0x01, 0x02, 0x04
NAMED_END_NS = 100 * MS  # from the answer of the node asked for by name to the end of the search
LATEST = 0.8  # of NT: answers come before the asker stops listening


@dataclass(frozen=True, slots=True)
class Query:
    """Asks all modules, or the one named, to say who they are within `window_ns`."""

    token: int
    name: bytes
    window_ns: int


@dataclass(frozen=True, slots=True)
class Node:
    """Who a module is, as an answer to a query."""

    token: int
    source16: int
    address: int
    name: bytes
    role: int
    device_type: int

    def record(self, family: str, options: int, rssi_dbm: int) -> bytes:
        """The value of an ND answer."""
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
        """The lines of an ND answer in command mode."""
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


class Discovery:
    """One module's searches and its answers to others'. A new search ends the one before."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._search: _Search | None = None
        self._found_name = False
        self._token = 0

    def restart(self) -> None:
        self._search = None

    def search(self, name: bytes, reply: Reply, now: int) -> None:
        """ND: everybody, or the node of this name."""
        self._start(name, reply, now, adopt=False)

    def resolve(self, name: bytes, reply: Reply, now: int) -> None:
        """DN: make the node of this name the destination."""
        if name:
            self._start(name, reply, now, adopt=True)
        else:
            reply(Answer(status.ERROR), now)

    def _start(self, name: bytes, reply: Reply, now: int, *, adopt: bool) -> None:
        if not self.module.has_header:
            reply(Answer(status.ERROR), now)
            return
        self._token += 1
        self._found_name = False
        search = self._search = _Search(self._token, name, reply, adopt)
        window = self.module.registers.number("NT") * 100 * MS
        if self._lists_itself and not name:
            self._tell(self._self(search.token), 0, now)
        query = Query(search.token, name, window)
        asked = Request(name, BROADCAST64, kind=DISCOVER, body=query)
        refusal = self.module.send(asked, _ignore, now)
        if refusal:
            self._end(now)
        else:
            self.module.timers.start("discovery", now + window, self._end)

    @property
    def _options(self) -> int:
        return self.module.registers.number("NO")

    @property
    def _lists_itself(self) -> bool:
        """NO bit 1; S1 knows one bit only."""
        return bool(self._options & (WITH_SELF if self.module.hardware.modern else 0x01))

    def _self(self, token: int) -> Node:
        number = self.module.registers.number
        zigbee = self.module.hardware.family == ZIGBEE_FAMILY
        role = COORDINATOR if zigbee and number("CE") == 1 else ROUTER
        return Node(
            token=token,
            source16=self.module.addressing.source16,
            address=self.module.address,
            name=self.module.registers.text("NI"),
            role=END_DEVICE if zigbee and number("SM") in (4, 5) else role,
            device_type=number("DD"),
        )

    # --- the answering side ---------------------------------------------------------------------

    def asked(self, packet: Packet, query: Query, now: int) -> None:
        """Somebody searches: answer, at a random time unless asked by name."""
        if query.name not in (b"", self.module.registers.text("NI")):
            return
        delay = 0
        if not query.name:
            delay = self.module.air.random.randrange(int(query.window_ns * LATEST) + 1)
        asker = packet.source64
        name = f"found {asker:X} {query.token}"

        def answer(when: int) -> None:
            body = self._self(query.token)
            request = Request(bytes(12) + body.name, asker, kind=FOUND, body=body)
            self.module.send(request, _ignore, when)

        self.module.timers.start(name, now + delay, answer)

    # --- the asking side ------------------------------------------------------------------------

    def found(self, node: Node, rssi_dbm: int, now: int) -> None:
        """A node answered our search."""
        search = self._search
        if search is None or node.token != search.token:
            return
        if not search.adopt:
            self._tell(node, rssi_dbm, now)
        if search.adopt:
            self._finish(self._adopted(node), now)
        elif search.name:
            self._found_name = True
            self.module.timers.start("discovery", now + NAMED_END_NS, self._end)

    def _tell(self, node: Node, rssi_dbm: int, now: int) -> None:
        assert self._search is not None
        family = self.module.hardware.family
        lines = node.lines(family, self._options, rssi_dbm)
        record = node.record(family, self._options, rssi_dbm)
        text = "".join(f"{line}\r" for line in lines)
        self._search.reply(Answer(value=record, text=text, last=False), now)

    def _adopted(self, node: Node) -> Answer:
        registers = self.module.registers
        registers.put("DH", node.address >> 32)
        registers.put("DL", node.address & 0xFFFFFFFF)
        short = node.source16.to_bytes(2, "big")
        return Answer(value=short + node.address.to_bytes(8, "big"))

    def _end(self, now: int) -> None:
        """The time is over; who was asked for by name did not answer."""
        if self._search is not None:
            missed = self._search.name and not self._found_name
            self._finish(Answer(status.ERROR) if missed else Answer(text=""), now)

    def _finish(self, answer: Answer, now: int) -> None:
        search, self._search = self._search, None
        self.module.timers.stop("discovery")
        if search is not None:
            search.reply(answer, now)


def _ignore(outcome: Outcome, now: int) -> None:
    """Nobody waits for this transmission's end."""
