"""How each family of modules addresses packets, limits them, and hears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.radio import (
    BROADCAST16,
    BROADCAST64,
    DATA,
    MAC_RETRIES,
    UNKNOWN16,
    UNKNOWN64,
    Endpoints,
    Packet,
)

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

NO_ACK_OPTION = 0x01
PAN_BROADCAST_OPTION = 0x04
PHY_BYTES = 6  # preamble, start of frame, length
FRAME_BYTES = 7  # frame control, sequence, PAN, checksum
HEADER_BYTES = 2  # Digi's own, MM 0 and 3


class Mac:
    """Plain 802.15.4: every packet is one MAC frame."""

    family = "802.15.4"

    def __init__(self, module: Module) -> None:
        self.module = module

    @property
    def source16(self) -> int:
        """MY, or FFFE where the module goes by its 64-bit address."""
        return min(self.module.registers.number("MY"), UNKNOWN16)

    def packet(
        self,
        data: bytes,
        destination64: int | None,
        destination16: int = UNKNOWN16,
        options: int = 0,
        kind: str = DATA,
        body: object = None,
        endpoints: Endpoints = Endpoints(),  # noqa: B008 - frozen
    ) -> Packet:
        """A packet from this module. Destination 64 FFFF is broadcast, FF..FF means use 16."""
        if destination64 == BROADCAST64:
            destination64, destination16 = None, BROADCAST16
        elif destination64 == UNKNOWN64:
            destination64 = None
        registers = self.module.registers
        mode = registers.number("MM")
        encrypted = registers.number("EE") == 1
        source16 = UNKNOWN16 if encrypted else self.source16
        broadcast = destination64 is None and destination16 == BROADCAST16
        everywhere = bool(options & PAN_BROADCAST_OPTION)
        overhead = PHY_BYTES + FRAME_BYTES + (8 if source16 == UNKNOWN16 else 2)
        overhead += 8 if destination64 is not None else 2
        overhead += HEADER_BYTES if mode in (0, 3) else 0
        return Packet(
            family=self.family,
            kind=kind,
            source64=self.module.address,
            source16=source16,
            destination64=destination64,
            destination16=destination16,
            network=BROADCAST16 if everywhere else registers.number("ID"),
            data=data,
            acknowledged=not (broadcast or everywhere or options & NO_ACK_OPTION or mode in (1, 3)),
            overhead=overhead + (5 if encrypted else 0),
            key=registers.text("KY") if encrypted else b"",
            sequence=self.module.next_sequence(),
            options=options,
            endpoints=endpoints,
            body=body,
        )

    def accepts(self, packet: Packet) -> bool:
        """Is the packet addressed to this module?"""
        registers = self.module.registers
        if packet.network not in (BROADCAST16, registers.number("ID")):
            return False
        if packet.broadcast:
            return True
        if packet.destination64 is not None:
            return packet.destination64 == self.module.address
        return packet.destination16 == self.source16 != UNKNOWN16

    def receive_options(self, packet: Packet) -> int:
        """The options byte of frames 80 and 81."""
        everywhere = PAN_BROADCAST_OPTION if packet.network == BROADCAST16 else 0
        return (0x02 if packet.broadcast else 0) | everywhere

    def attempts(self, packet: Packet) -> int:
        """Transmissions of a packet nobody acknowledges; RR repeats the MAC's own retries."""
        return (MAC_RETRIES + 1) * (self.module.registers.number("RR") + 1)

    def failure(self, packet: Packet) -> int:
        return status.NO_ACK

    def refusal(self, packet: Packet) -> int:
        """The delivery status of a packet that cannot be sent at all; 0: it can."""
        return status.TOO_LARGE if len(packet.data) > self.limit(packet) else status.SUCCESS

    def limit(self, packet: Packet) -> int:
        """The most this packet may carry."""
        encrypted = bool(packet.key)
        if not self.module.hardware.modern:
            return 95 if encrypted else 100
        header = 4 if encrypted else 2 if self.module.registers.number("MM") in (0, 3) else 0
        room = self.module.hardware.payload - header - (5 if encrypted else 0)
        room -= 6 if packet.source16 == UNKNOWN16 else 0
        return room - (6 if packet.destination64 is not None else 0)

    def longest(self) -> int:
        """NP: what a packet to a 64-bit address may carry."""
        return self.limit(self.packet(b"", 0))
