"""The radio of a module: transmissions with acknowledgement and retries, reception with filters."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

from firmware_mocks.air import Radio, Signal
from firmware_mocks.base import MS
from firmware_mocks.xbee import status
from firmware_mocks.xbee.duty import DutyCycle
from firmware_mocks.xbee.packets import Done, Outcome, Packet

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

US = 1_000
CSMA_NS = 320 * US  # one backoff period: 20 symbols of 16 microseconds
ACK_NS = 864 * US  # the time an acknowledgement may take: 54 symbols
CCA_NS = 5 * CSMA_NS  # five looks at a busy channel
QUEUE = 16  # packets waiting, the firmware's own answers included
SOURCES = 64  # senders whose last sequence number is remembered


class Transceiver:
    """One module in the air; `Air` sees it as a Radio."""

    def __init__(self, module: Module, position: tuple[float, float, float]) -> None:
        self.module = module
        self.name = module.name
        self.position = position
        self.sensitivity_dbm = module.hardware.sensitivity_dbm
        self.duty = DutyCycle()
        self.dropped = 0  # packets that found the queue full
        self._queue: deque[tuple[Packet, Done]] = deque()
        self._attempt = 0
        self._life = 0
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
        self._life += 1

    def send(self, packet: Packet, done: Done, now: int) -> None:
        """Transmit after what is already waiting; `done` hears the outcome. Full: dropped."""
        if len(self._queue) >= QUEUE:
            self.dropped += 1
            done(Outcome(status.CCA_FAILURE), now)
            return
        self._queue.append((packet, done))
        if len(self._queue) == 1:
            self._begin(now)

    def _begin(self, now: int) -> None:
        self._attempt = 0
        if self.module.channel_is_noisy():
            self._hold_back(now)
        else:
            self._transmit(now)

    def _transmit(self, now: int) -> None:
        packet, _ = self._queue[0]
        life = self._life
        air_ns = CSMA_NS + packet.size * 8 * 1_000_000_000 // self.module.air_bps
        if not self.duty.spend(air_ns, now):
            self._refuse(now)
            return
        signal = Signal(
            sender=self,
            band=self.band,
            frame=packet,
            power_at_1m_dbm=self.module.power_at_1m_dbm,
            duration_ns=air_ns,
            answer_ns=ACK_NS if packet.acknowledged else 0,
        )

        def sent(acknowledged: list[Radio], when: int) -> None:
            if life == self._life:
                self._sent(acknowledged, when)

        self.module.air.transmit(signal, sent, now)

    def _refuse(self, now: int) -> None:
        life = self._life

        def refused(when: int) -> None:
            if life == self._life:
                self._finish(Outcome(status.DUTY_CYCLE, self._attempt), when)

        self.module.air.call_at(now + CSMA_NS, refused)

    def _sent(self, acknowledged: list[Radio], now: int) -> None:
        packet, _ = self._queue[0]
        if acknowledged:
            receiver = acknowledged[0]
            assert isinstance(receiver, Transceiver)
            self._finish(Outcome(status.SUCCESS, self._attempt, receiver=receiver.module), now)
        elif self._attempt < packet.repeats - 1:
            self._attempt += 1
            self._transmit(now)
        elif packet.acknowledged:
            self.module.count("EA")
            self._finish(Outcome(self.module.addressing.failure(packet), self._attempt), now)
        else:
            self._finish(Outcome(status.SUCCESS), now)

    def _hold_back(self, now: int) -> None:
        """The channel is not clear: five looks, five more 1 to 48 ms later, then failure."""
        life = self._life
        pause = self.module.air.random.randint(1, 48) * MS

        def look_again(when: int) -> None:
            if life != self._life:
                return
            if self.module.channel_is_noisy():
                self.module.count("EC")
                self._finish(Outcome(status.CCA_FAILURE), when)
            else:
                self._transmit(when)

        self.module.air.call_at(now + CCA_NS + pause + CCA_NS, look_again)

    def _finish(self, outcome: Outcome, now: int) -> None:
        _, done = self._queue.popleft()
        if self._queue:
            self._begin(now)
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
        """Has this packet come before (its acknowledgement was lost, or it is sent several
        times)? Without Digi's header that cannot be told."""
        if not packet.header:
            return False
        repeated = self._seen.get(packet.source64) == packet.sequence
        self._seen[packet.source64] = packet.sequence
        self._seen.move_to_end(packet.source64)
        if len(self._seen) > SOURCES:
            self._seen.popitem(last=False)
        return repeated
