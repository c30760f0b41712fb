"""The radio of a module: transmissions with acknowledgement and retries, reception with filters."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_mocks.air import Radio, Signal
from firmware_mocks.base import MS
from firmware_mocks.xbee import status

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

US = 1_000
CSMA_NS = 320 * US  # one backoff period: 20 symbols of 16 microseconds
ACK_NS = 864 * US  # the time an acknowledgement may take: 54 symbols
CCA_NS = 5 * CSMA_NS  # five looks at a busy channel
MAC_RETRIES = 3
QUEUE = 16  # frames the firmware itself may have waiting (answers to remote requests)
SOURCES = 64  # senders whose last sequence number is remembered

DATA = "data"
BROADCAST16 = 0xFFFF
UNKNOWN16 = 0xFFFE
BROADCAST64 = 0xFFFF
UNKNOWN64 = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Application layer addressing; the defaults are Digi's data service."""

    source: int = 0xE8
    destination: int = 0xE8
    cluster: int = 0x0011
    profile: int = 0xC105


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet on the air. source16: FFFE when the sender goes by its 64-bit address.
    destination64 None: the packet goes to destination16. `body` is what a packet of the
    firmware's own (kind other than data) asks or answers."""

    family: str
    kind: str
    source64: int
    source16: int
    destination64: int | None
    destination16: int
    network: int
    data: bytes
    acknowledged: bool
    overhead: int
    key: bytes = b""
    sequence: int = 0
    options: int = 0
    endpoints: Endpoints = Endpoints()
    body: object = None

    @property
    def broadcast(self) -> bool:
        return self.destination64 is None and self.destination16 == BROADCAST16


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a transmission ended: delivery status, retries, who acknowledged."""

    status: int
    retries: int = 0


Done = Callable[[Outcome, int], None]


class Transceiver:
    """One module in the air; `Air` sees it as a Radio."""

    def __init__(self, module: Module, position: tuple[float, float, float]) -> None:
        self.module = module
        self.name = module.name
        self.position = position
        self.sensitivity_dbm = module.hardware.sensitivity_dbm
        self.dropped = 0
        self._queue: deque[tuple[Packet, Done]] = deque()
        self._attempt = 0
        self._generation = 0
        self._seen: OrderedDict[int, int] = OrderedDict()

    @property
    def band(self) -> Hashable:
        return self.module.band

    @property
    def busy(self) -> bool:
        return bool(self._queue)

    def restart(self) -> None:
        """Forget all that was under way."""
        self._queue.clear()
        self._seen.clear()
        self._generation += 1

    def send(self, packet: Packet, done: Done, now: int) -> None:
        """Transmit after what is already waiting; `done` hears the outcome. Full: dropped."""
        if len(self._queue) >= QUEUE:
            self.dropped += 1
            done(Outcome(status.CCA_FAILURE), now)
            return
        self._queue.append((packet, done))
        if len(self._queue) == 1:
            self._attempt = 0
            self._try(now)

    def _try(self, now: int) -> None:
        if self.module.channel_is_noisy():
            self._hold_back(now)
            return
        packet, _ = self._queue[0]
        generation = self._generation
        size = packet.overhead + len(packet.data)
        signal = Signal(
            sender=self,
            band=self.band,
            frame=packet,
            power_at_1m_dbm=self.module.power_at_1m_dbm,
            duration_ns=CSMA_NS + size * 8 * 1_000_000_000 // self.module.air_bps,
            answer_ns=ACK_NS if packet.acknowledged else 0,
        )

        def sent(acknowledged: list[Radio], when: int) -> None:
            if generation == self._generation:
                self._sent(bool(acknowledged), when)

        self.module.air.transmit(signal, sent, now)

    def _sent(self, acknowledged: bool, now: int) -> None:
        packet, _ = self._queue[0]
        if acknowledged or not packet.acknowledged:
            self._finish(Outcome(status.SUCCESS, self._attempt), now)
        elif self._attempt < self.module.attempts(packet) - 1:
            self._attempt += 1
            self._try(now)
        else:
            self.module.count("EA")
            self._finish(Outcome(self.module.failure(packet), self._attempt), now)

    def _hold_back(self, now: int) -> None:
        """The channel is never clear: five looks, one more try later, then failure."""
        generation = self._generation
        pause = CCA_NS + self.module.air.random.randint(1, 48) * MS

        def give_up(when: int) -> None:
            if generation != self._generation:
                return
            if self.module.channel_is_noisy():
                self.module.count("EC")
                self._finish(Outcome(status.CCA_FAILURE, self._attempt), when)
            else:
                self._try(when)

        self.module.air.call_at(now + pause + CCA_NS, give_up)

    def _finish(self, outcome: Outcome, now: int) -> None:
        _, done = self._queue.popleft()
        self._attempt = 0
        if self._queue:
            self._try(now)
        done(outcome, now)

    def hear(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        """A frame arrived. Acknowledged when it is addressed to this module alone."""
        packet = signal.frame
        if not isinstance(packet, Packet) or not self.module.accepts(packet):
            return False
        if not self._repeated(packet):
            self.module.heard(packet, rssi_dbm, now)
        return packet.acknowledged

    def _repeated(self, packet: Packet) -> bool:
        """Has this packet come before (its acknowledgement was lost)?"""
        repeated = self._seen.get(packet.source64) == packet.sequence
        self._seen[packet.source64] = packet.sequence
        self._seen.move_to_end(packet.source64)
        if len(self._seen) > SOURCES:
            self._seen.popitem(last=False)
        return repeated
