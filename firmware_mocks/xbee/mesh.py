"""How DigiMesh modules (2.4 GHz and 900 MHz) address packets: one hop, by 64-bit addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.addressing import NO_ACK, SECURE
from firmware_mocks.xbee.packets import UNKNOWN16, Outcome, Packet, Request

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

MODE_BITS = 0xC0
MESH_OVERHEAD = 43  # bytes of all layers around a payload [M]
ENCRYPTION_BYTES = 8
ROUTES = 64


class Mesh:
    """DigiMesh without relays: modules reach each other directly or not at all."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._routes: set[int] = set()

    @property
    def source16(self) -> int:
        return UNKNOWN16

    def packet(self, request: Request) -> Packet:
        registers = self.module.registers
        acknowledged = not request.broadcast and not request.options & NO_ACK
        unicast = (registers.number("RR") + 1) * (registers.number("MR") + 1)
        once = 1 if not request.broadcast else registers.number("MT") + 1
        return Packet(
            request=request,
            family=self.module.hardware.family,
            source64=self.module.address,
            source16=UNKNOWN16,
            network=registers.number("ID"),
            acknowledged=acknowledged,
            size=len(request.data) + MESH_OVERHEAD,
            repeats=unicast if acknowledged else once,
            sequence=self.module.next_sequence(),
            key=self.module.key,
        )

    def accepts(self, packet: Packet) -> bool:
        if packet.network != self.module.registers.number("ID"):
            return False
        return packet.request.broadcast or packet.request.destination64 == self.module.address

    def refusal(self, request: Request) -> int:
        if len(request.data) > self.longest():
            return status.TOO_LARGE
        if request.options & SECURE:
            return status.NO_SECURE_SESSION
        return status.SUCCESS

    def failure(self, packet: Packet) -> int:
        """No such module in reach: no route. Lost again and again: no network acknowledgement."""
        return status.NETWORK_ACK if self.module.reaches(packet) else status.ROUTE_NOT_FOUND

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        """Adds the route discovery that the first packet to an address needs."""
        target = packet.request.destination64
        if not packet.acknowledged or target in self._routes:
            if outcome.status:
                self._routes.discard(target)
            return outcome
        if outcome.status == status.SUCCESS and len(self._routes) < ROUTES:
            self._routes.add(target)
        return replace(outcome, discovery=status.ROUTE_DISCOVERY)

    def receive_options(self, packet: Packet) -> int:
        mode = packet.request.options & MODE_BITS or self.module.registers.number("TO") & MODE_BITS
        return (mode or MODE_BITS) | (0x02 if packet.request.broadcast else 0x01)

    def longest(self) -> int:
        return self.module.hardware.payload - (ENCRYPTION_BYTES if self.module.key else 0)
