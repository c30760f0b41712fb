"""How 802.15.4 modules address packets, limit them, and know their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from firmware_mocks.xbee import status
from firmware_mocks.xbee.packets import (
    BROADCAST16,
    UNKNOWN16,
    UNKNOWN64,
    Outcome,
    Packet,
    Request,
)

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

NO_ACK = 0x01
EVERY_PAN = 0x04
SECURE = 0x10
MAC_RETRIES = 3
PHY_BYTES = 6  # preamble, start of frame, length
FRAME_BYTES = 7  # frame control, sequence, PAN, checksum
HEADER_BYTES = 2  # Digi's own
DIGI_MODES = (0, 3)  # MM with Digi's header
ACKNOWLEDGED_MODES = (0, 2)


class Addressing(Protocol):
    """What the families of modules do differently."""

    @property
    def source16(self) -> int:
        """The module's 16-bit address, FFFE when it has none."""

    def refusal(self, request: Request) -> int:
        """The delivery status of what cannot be sent at all; 0: it can."""

    def packet(self, request: Request) -> Packet:
        """The request as a packet on the air."""

    def accepts(self, packet: Packet) -> bool:
        """Is the packet for this module?"""

    def failure(self, packet: Packet) -> int:
        """The delivery status of a packet nobody acknowledged."""

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        """The outcome with what the network layer adds to it."""

    def receive_options(self, packet: Packet) -> int:
        """The options byte of a received packet."""

    def longest(self) -> int:
        """NP: bytes in one packet to an address of 64 bits."""


class Mac:
    """Plain 802.15.4: every packet is one MAC frame. EE without its key is heard by nobody."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @property
    def source16(self) -> int:
        return min(self.module.registers.number("MY"), UNKNOWN16)

    @property
    def _encrypted(self) -> bool:
        return self.module.registers.number("EE") == 1

    @property
    def _digi(self) -> bool:
        return self.module.registers.number("MM") in DIGI_MODES

    def packet(self, request: Request) -> Packet:
        registers = self.module.registers
        every_pan = bool(request.options & EVERY_PAN)
        unacknowledged = request.broadcast or every_pan or request.options & NO_ACK
        acknowledged = not unacknowledged and registers.number("MM") in ACKNOWLEDGED_MODES
        return Packet(
            request=request,
            family=self.module.hardware.family,
            source64=self.module.address,
            source16=UNKNOWN16 if self._encrypted else self.source16,
            network=BROADCAST16 if every_pan else registers.number("ID"),
            acknowledged=acknowledged,
            size=len(request.data) + self._overhead(request),
            # RR comes on top of what the MAC repeats by itself.
            repeats=(MAC_RETRIES + 1) * (registers.number("RR") + 1) if acknowledged else 1,
            sequence=self.module.next_sequence(),
            header=self._digi,
            key=self.module.key,
        )

    def _overhead(self, request: Request) -> int:
        addresses = (8 if self._long_source else 2) + (8 if self._is_long(request) else 2)
        extra = (HEADER_BYTES if self._digi else 0) + (5 if self._encrypted else 0)
        return PHY_BYTES + FRAME_BYTES + addresses + extra

    @property
    def _long_source(self) -> bool:
        return self._encrypted or self.source16 == UNKNOWN16

    @staticmethod
    def _is_long(request: Request) -> bool:
        return not request.broadcast and request.destination64 != UNKNOWN64

    def accepts(self, packet: Packet) -> bool:
        request = packet.request
        if packet.network not in (BROADCAST16, self.module.registers.number("ID")):
            return False
        if request.broadcast:
            return True
        if request.destination64 != UNKNOWN64:
            return request.destination64 == self.module.address
        return request.destination16 == self.source16 != UNKNOWN16

    def refusal(self, request: Request) -> int:
        if len(request.data) > self._limit(request):
            return status.TOO_LARGE
        if request.options & SECURE and self.module.hardware.modern:
            return status.NO_SECURE_SESSION
        return status.SUCCESS

    def _limit(self, request: Request) -> int:
        if not self.module.hardware.modern:
            return 95 if self._encrypted else 100
        room = self.module.hardware.payload - (6 if self._long_source else 0)
        room -= 6 if self._is_long(request) else 0
        if not self._digi:
            return room - (5 if self._encrypted else 0)
        return room - (4 + 5 if self._encrypted else HEADER_BYTES)

    def failure(self, packet: Packet) -> int:
        return status.NO_ACK

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        return outcome

    def receive_options(self, packet: Packet) -> int:
        pan = EVERY_PAN if packet.network == BROADCAST16 else 0
        return (0x02 if packet.request.broadcast else 0) | pan

    def longest(self) -> int:
        return self._limit(Request(b"", 0))
