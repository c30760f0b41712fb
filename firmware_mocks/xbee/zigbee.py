"""How Zigbee modules join a network and address packets in it, one hop."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.addressing import NO_ACK, SECURE
from firmware_mocks.xbee.mesh import MESH_OVERHEAD
from firmware_mocks.xbee.packets import (
    BROADCAST64,
    COORDINATOR64,
    UNKNOWN16,
    UNKNOWN64,
    Outcome,
    Packet,
    Request,
)

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

APS_ENCRYPTION = 0x20
APS_RETRIES = 3
MAC_TRANSMISSIONS = 4
UNICAST_BYTES, BROADCAST_BYTES = 84, 92
ENCRYPTION_BYTES = 18
FRAGMENTED_BYTES = 255
BROADCASTS16 = range(0xFFFC, 0x10000)
LOWEST_CHANNEL = 11
LARGEST_ADDRESS = 0xFFF7
NO_NETWORK = 0x21
NO_MATCHING_NETWORK = 0x22
JOINING_CLOSED = 0x23
SCANNING = 0xFF


class Zigbee:
    """A coordinator (CE=1) forms a network; routers join one they hear, when there is one."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: set[int] = set()

    # --- the network ----------------------------------------------------------------------------

    @property
    def source16(self) -> int:
        return self.module.registers.number("MY")

    @property
    def joined(self) -> bool:
        return self.source16 != UNKNOWN16

    @property
    def coordinator(self) -> bool:
        return self.module.registers.number("CE") == 1

    def associate(self, now: int) -> None:
        """Form or join a network, or say in AI why not."""
        if self.joined:
            return
        if self.coordinator:
            self._form(now)
            return
        hosts, reason = self._hosts()
        if not hosts:
            self.module.registers.put("AI", reason)
            return
        self._enter(hosts[0], self._new_address())
        self.module.modem_status(status.JOINED, now)
        self._invite(now)

    def leave(self) -> None:
        put = self.module.registers.put
        for name, value in (("CH", 0), ("OP", 0), ("OI", 0xFFFF), ("MY", UNKNOWN16)):
            put(name, value)
        put("AI", SCANNING)
        self._known.clear()

    def _form(self, now: int) -> None:
        registers = self.module.registers
        mask = registers.number("SC")
        registers.put("CH", LOWEST_CHANNEL + (mask & -mask).bit_length() - 1)
        registers.put("OP", registers.number("ID") or self.module.address ^ 0xDEADBEEF)
        registers.put("OI", zlib.crc32(self.module.address.to_bytes(8, "big")) & 0x3FFF)
        registers.put("MY", 0)
        registers.put("AI", 0)
        self.module.modem_status(status.COORDINATOR_STARTED, now)
        self._invite(now)

    def _invite(self, now: int) -> None:
        """Those who look for a network find this one."""
        for other in self.module.in_reach():
            if isinstance(other.addressing, Zigbee) and other.powered:
                other.addressing.associate(now)

    def _enter(self, host: Module, address: int) -> None:
        registers = self.module.registers
        for name in ("CH", "OP", "OI"):
            registers.put(name, host.registers.number(name))
        registers.put("MY", address)
        registers.put("AI", 0)

    def _hosts(self) -> tuple[list[Module], int]:
        """Modules whose network can be joined; without one, why."""
        registers = self.module.registers
        hosts = [
            other
            for other in self.module.in_reach()
            if isinstance(other.addressing, Zigbee) and other.addressing.joined
        ]
        if not hosts:
            return [], NO_NETWORK
        wanted, mask = registers.number("ID"), registers.number("SC")
        hosts = [
            host
            for host in hosts
            if wanted in (0, host.registers.number("OP"))
            and mask >> host.registers.number("CH") - LOWEST_CHANNEL & 1
            and host.key == self.module.key
        ]
        if not hosts:
            return [], NO_MATCHING_NETWORK
        return [host for host in hosts if host.registers.number("NJ")], JOINING_CLOSED

    def _new_address(self) -> int:
        taken = {member.addressing.source16 for member in self.module.family_members()}
        address = zlib.crc32(self.module.address.to_bytes(8, "big")) % LARGEST_ADDRESS + 1
        while address in taken:
            address = address % LARGEST_ADDRESS + 1
        return address

    # --- packets --------------------------------------------------------------------------------

    def packet(self, request: Request) -> Packet:
        if request.destination64 == UNKNOWN64 and request.destination16 in BROADCASTS16:
            request = replace(request, destination64=BROADCAST64)
        acknowledged = not request.broadcast
        once = bool(request.options & NO_ACK)
        return Packet(
            request=request,
            family=self.module.hardware.family,
            source64=self.module.address,
            source16=self.source16,
            network=self.module.registers.number("OP"),
            acknowledged=acknowledged,
            size=len(request.data) + MESH_OVERHEAD * max(1, -(-len(request.data) // UNICAST_BYTES)),
            repeats=MAC_TRANSMISSIONS * (1 if once else APS_RETRIES) if acknowledged else 1,
            sequence=self.module.next_sequence(),
            key=self.module.key,
        )

    def accepts(self, packet: Packet) -> bool:
        if not self.joined or packet.network != self.module.registers.number("OP"):
            return False
        return packet.request.broadcast or self._named_by(packet.request)

    def _named_by(self, request: Request) -> bool:
        if request.destination64 == COORDINATOR64:
            return self.coordinator
        if request.destination64 != UNKNOWN64:
            return request.destination64 == self.module.address
        return request.destination16 == self.source16

    def refusal(self, request: Request) -> int:
        if not self.joined:
            return status.NOT_JOINED
        if not request.broadcast and self._named_by(request):
            return status.SELF_ADDRESSED
        if request.options & APS_ENCRYPTION and not self.module.key:
            return status.APS_BROADCAST if request.broadcast else status.APS_UNENCRYPTED
        if len(request.data) > self._limit(request):
            return status.TOO_LARGE
        return status.NO_SECURE_SESSION if request.options & SECURE else status.SUCCESS

    def _limit(self, request: Request) -> int:
        if request.broadcast:
            return BROADCAST_BYTES - (ENCRYPTION_BYTES if self.module.key else 0)
        return FRAGMENTED_BYTES if self.module.serial.api_mode else self._one_packet()

    def _one_packet(self) -> int:
        return UNICAST_BYTES - (ENCRYPTION_BYTES if self.module.key else 0)

    def failure(self, packet: Packet) -> int:
        """Nobody has this address; or out of reach; or lost again and again."""
        if self.module.reaches(packet):
            return status.NETWORK_ACK
        known = any(other.accepts(packet) for other in self.module.family_members())
        return status.ROUTE_NOT_FOUND if known else status.ADDRESS_NOT_FOUND

    def concluded(self, packet: Packet, outcome: Outcome) -> Outcome:
        """Adds the address and route discovery that the first packet to a module needs."""
        receiver = outcome.receiver
        if receiver is None or receiver.address in self._known:
            return outcome
        self._known.add(receiver.address)
        named = packet.request.destination16 != UNKNOWN16
        discovery = status.ROUTE_DISCOVERY | (0 if named else status.ADDRESS_DISCOVERY)
        return replace(outcome, discovery=discovery)

    def receive_options(self, packet: Packet) -> int:
        aps = packet.request.options & APS_ENCRYPTION
        return (0x02 if packet.request.broadcast else 0x01) | aps

    def longest(self) -> int:
        return FRAGMENTED_BYTES if self.module.serial.api_mode else self._one_packet()
