"""Addressing of 802.15.4 and DigiMesh modules: packets made, limited and accepted."""

from abc import ABC, abstractmethod
from dataclasses import replace

from firmware_mocks.xbee.network.options import EVERY_PAN, MODE_BITS, NO_ACK, refused
from firmware_mocks.xbee.network.packets import (
    BROADCAST16,
    DATA,
    ROUTE_DISCOVERY,
    UNKNOWN16,
    UNKNOWN64,
    Delivery,
    Outcome,
    Packet,
    Request,
)
from firmware_mocks.xbee.settings import Settings

MAC_RETRIES = 3
PHY_BYTES = 6  # preamble, start of frame, length
FRAME_BYTES = 7  # frame control, sequence, PAN, checksum
HEADER_BYTES = 2  # Digi's own
ACKNOWLEDGED_MODES = (0, 2)  # MM with acknowledgements
MESH_OVERHEAD = 43  # bytes of all layers around a payload [M]
MESH_ENCRYPTION_BYTES = 8
ROUTES = 64


class Addressing(ABC):
    """The differences between the families of modules."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sequence = 0

    @property
    def source16(self) -> int:
        """The module's 16-bit address, FFFE when it has none."""
        return UNKNOWN16

    @property
    def key(self) -> bytes:
        """The key that encrypts packets; empty: they are not encrypted."""
        return self.settings.key

    def restart(self, now: int) -> None:  # noqa: B027 - most have nothing to do
        """Restart with the module, or with changed network registers."""

    def open_network(self, now: int) -> None:  # noqa: B027 - most have nothing to do
        """Restart the time in which other modules may join: NJ changed."""

    @abstractmethod
    def refusal(self, request: Request) -> int:
        """Return the delivery status of a request that cannot be sent at all; 0: it can."""

    @abstractmethod
    def packet(self, request: Request) -> Packet:
        """Return the request as a packet on the air."""

    @abstractmethod
    def accepts(self, packet: Packet) -> bool:
        """Return whether a packet of this family is for this module."""

    @abstractmethod
    def failure(self, request: Request, *, in_reach: bool, exists: bool) -> int:
        """Return the delivery status of a packet without acknowledgement.

        In reach means that a module that accepts it is in reach; it exists at any distance.
        """

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        """Return the outcome with the additions of the network layer."""
        return outcome

    @abstractmethod
    def receive_options(self, packet: Packet) -> int:
        """Return the options byte of a received packet."""

    @abstractmethod
    def longest(self) -> int:
        """Return NP: bytes in one packet to a 64-bit address."""

    def to_destination(self, data: bytes, kind: str = DATA, body: object = None) -> Request:
        """Return a request to DH and DL; on 802.15.4, DH 0 makes DL a 16-bit address."""
        high, low = self.settings.number("DH"), self.settings.number("DL")
        if self.settings.has_short_addresses and high == 0 and low < BROADCAST16:
            return Request(data, UNKNOWN64, low, kind=kind, body=body)
        return Request(data, high << 32 | low, UNKNOWN16, kind=kind, body=body)

    def next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFF
        return self._sequence


class Mac(Addressing):
    """Plain 802.15.4: every packet is one MAC frame."""

    @property
    def source16(self) -> int:
        return min(self.settings.number("MY"), UNKNOWN16)

    @property
    def _encrypted(self) -> bool:
        return self.settings.number("EE") == 1

    def packet(self, request: Request) -> Packet:
        number = self.settings.number
        every_pan = bool(request.options & EVERY_PAN)
        unacknowledged = request.broadcast or every_pan or request.options & NO_ACK
        acknowledged = not unacknowledged and number("MM") in ACKNOWLEDGED_MODES
        return Packet(
            request=request,
            family=self.settings.hardware.family,
            source64=self.settings.address,
            source16=UNKNOWN16 if self._encrypted else self.source16,
            network=BROADCAST16 if every_pan else number("ID"),
            acknowledged=acknowledged,
            size=len(request.data) + self._overhead(request),
            # The MAC repeats a packet by itself, and RR repeats that.
            repeats=(MAC_RETRIES + 1) * (number("RR") + 1) if acknowledged else 1,
            sequence=self.next_sequence(),
            header=self.settings.has_header,
            key=self.key,
        )

    def _overhead(self, request: Request) -> int:
        addresses = (8 if self._long_source else 2) + (8 if self._is_long(request) else 2)
        extra = (HEADER_BYTES if self.settings.has_header else 0) + (5 if self._encrypted else 0)
        return PHY_BYTES + FRAME_BYTES + addresses + extra

    @property
    def _long_source(self) -> bool:
        return self._encrypted or self.source16 == UNKNOWN16

    @staticmethod
    def _is_long(request: Request) -> bool:
        return not request.broadcast and request.destination64 != UNKNOWN64

    def accepts(self, packet: Packet) -> bool:
        request = packet.request
        if packet.network not in (BROADCAST16, self.settings.number("ID")):
            return False
        if request.broadcast:
            return True
        if request.destination64 != UNKNOWN64:
            return request.destination64 == self.settings.address
        return request.destination16 == self.source16 != UNKNOWN16

    def refusal(self, request: Request) -> int:
        if len(request.data) > self._limit(request):
            return Delivery.TOO_LARGE
        if not self.settings.hardware.modern:
            return Delivery.SUCCESS
        return refused(self.settings.hardware.family, request.options)

    def _limit(self, request: Request) -> int:
        if not self.settings.hardware.modern:
            return 95 if self._encrypted else 100
        room = self.settings.hardware.payload - (6 if self._long_source else 0)
        room -= 6 if self._is_long(request) else 0
        if not self.settings.has_header:
            return room - (5 if self._encrypted else 0)
        return room - (4 + 5 if self._encrypted else HEADER_BYTES)

    def failure(self, request: Request, *, in_reach: bool, exists: bool) -> int:
        return Delivery.NO_ACK

    def receive_options(self, packet: Packet) -> int:
        pan = EVERY_PAN if packet.network == BROADCAST16 else 0
        return (0x02 if packet.request.broadcast else 0) | pan

    def longest(self) -> int:
        return self._limit(Request(b"", 0))


class Mesh(Addressing):
    """DigiMesh (2.4 GHz and 900 MHz) without relays: one hop, by 64-bit addresses."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._routes: set[int] = set()

    def packet(self, request: Request) -> Packet:
        number = self.settings.number
        acknowledged = not request.broadcast and not request.options & NO_ACK
        unicast = (number("RR") + 1) * (number("MR") + 1)
        once = 1 if not request.broadcast else number("MT") + 1
        return Packet(
            request=request,
            family=self.settings.hardware.family,
            source64=self.settings.address,
            source16=UNKNOWN16,
            network=number("ID"),
            acknowledged=acknowledged,
            size=len(request.data) + MESH_OVERHEAD,
            repeats=unicast if acknowledged else once,
            sequence=self.next_sequence(),
            key=self.key,
        )

    def accepts(self, packet: Packet) -> bool:
        if packet.network != self.settings.number("ID"):
            return False
        return packet.request.broadcast or packet.request.destination64 == self.settings.address

    def refusal(self, request: Request) -> int:
        if len(request.data) > self.longest():
            return Delivery.TOO_LARGE
        return refused(self.settings.hardware.family, request.options)

    def failure(self, request: Request, *, in_reach: bool, exists: bool) -> int:
        # Out of reach: no route. Lost again and again: no network acknowledgement.
        return Delivery.NETWORK_ACK if in_reach else Delivery.ROUTE_NOT_FOUND

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        # Adds the route discovery that the first packet to an address needs.
        target = packet.request.destination64
        if not packet.acknowledged or target in self._routes:
            if outcome.status:
                self._routes.discard(target)
            return outcome
        if outcome.status == Delivery.SUCCESS and len(self._routes) < ROUTES:
            self._routes.add(target)
        return replace(outcome, discovery=ROUTE_DISCOVERY)

    def receive_options(self, packet: Packet) -> int:
        mode = packet.request.options & MODE_BITS or self.settings.number("TO") & MODE_BITS
        return (mode or MODE_BITS) | (0x02 if packet.request.broadcast else 0x01)

    def longest(self) -> int:
        return self.settings.hardware.payload - (MESH_ENCRYPTION_BYTES if self.key else 0)
