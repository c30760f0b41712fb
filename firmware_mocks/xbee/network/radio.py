"""The radio of a module: a transmit queue with acknowledgements and retries, a receive filter."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator

from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import MS
from firmware_mocks.xbee.network.addressing import Addressing
from firmware_mocks.xbee.network.packets import Addresses, Delivery, Done, Outcome, Packet, Request
from firmware_mocks.xbee.settings import Settings

US = 1_000
CSMA_NS = 320 * US  # one backoff period: 20 symbols of 16 microseconds
ACK_NS = 864 * US  # the time an acknowledgement may take: 54 symbols
CCA_NS = 5 * CSMA_NS  # five looks at a busy channel
QUEUE = 16  # packets waiting, the firmware's own answers included
SOURCES = 64  # senders whose last sequence number is remembered
HOUR_NS = 3_600_000_000_000


class DutyCycle:
    """The limit at 868 MHz: a module may send for a share of each hour."""

    def __init__(self) -> None:
        self._spent_ns = 0.0
        self._at = 0

    def spend(self, air_ns: int, share: float, now: int) -> bool:
        """Take air time; False when less is left. share: of an hour; 1: no limit."""
        if share >= 1:
            return True
        self._spent_ns = max(0.0, self._spent_ns - (now - self._at) * share)
        self._at = now
        if self._spent_ns + air_ns > share * HOUR_NS:
            return False
        self._spent_ns += air_ns
        return True


class Transceiver:
    """The radio of one module; `Air` sees it as a Radio.

    received: called with a packet for this module, its RSSI in dBm and the time. sent: called
    after each transmission. dropped: packets that found the queue full.
    """

    def __init__(
        self,
        name: str,
        air: Air,
        settings: Settings,
        addressing: Addressing,
        received: Callable[[Packet, float, int], None],
        sent: Callable[[int], None],
    ) -> None:
        self.name = name
        self.settings = settings
        self.addressing = addressing
        self.off = False
        self.dropped = 0
        self._air = air
        self._received = received
        self._sent = sent
        self._duty = DutyCycle()
        self._queue: deque[tuple[Packet, Done]] = deque()
        self._attempt = 0
        self._life = 0
        self._threshold_dbm = 0
        self._seen: OrderedDict[int, int] = OrderedDict()

    @property
    def position(self) -> tuple[float, float, float]:
        return self.settings.position

    @position.setter
    def position(self, position: tuple[float, float, float]) -> None:
        self.settings.position = position

    @property
    def sensitivity_dbm(self) -> float:
        return self.settings.sensitivity_dbm

    @property
    def band(self) -> Hashable:
        return None if self.off else self.settings.band

    @property
    def waiting(self) -> int:
        """Packets in the queue, the one on the air included."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        return self.waiting > 0

    def restart(self) -> None:
        """Forget the packets under way. XBee 3 takes a new CA threshold with a restart."""
        self._queue.clear()
        self._seen.clear()
        self._life += 1
        self._threshold_dbm = self.settings.number("CA")

    # --- the other modules ------------------------------------------------------------------------

    def others(self) -> Iterator[Transceiver]:
        """Yield the other modules of this family in the air, at any distance."""
        family = self.settings.hardware.family
        modules = (radio for radio in self._air.radios if isinstance(radio, Transceiver))
        return (m for m in modules if m is not self and m.settings.hardware.family == family)

    def in_reach(self) -> Iterator[Transceiver]:
        """Yield the other modules of this family that this module's signal reaches."""
        power_dbm = self.settings.power_at_1m_dbm
        for other in self.others():
            if self._air.loudness_dbm(self, power_dbm, other) >= other.sensitivity_dbm:
                yield other

    def neighbours(self) -> Iterator[tuple[Transceiver, float]]:
        """Yield the modules in reach whose signal reaches this one, with the RSSI here, dBm."""
        for other in self.in_reach():
            rssi = self._air.loudness_dbm(other, other.settings.power_at_1m_dbm, self)
            if rssi >= self.sensitivity_dbm and not other.off:
                yield other, rssi

    def _accepts(self, packet: Packet) -> bool:
        same_family = packet.family == self.settings.hardware.family
        return same_family and self.addressing.accepts(packet)

    def _failure(self, packet: Packet) -> int:
        return self.addressing.failure(
            packet.request,
            in_reach=any(
                other.band == self.band and other._accepts(packet) for other in self.in_reach()
            ),
            exists=any(other._accepts(packet) for other in self.others()),
        )

    # --- transmit -------------------------------------------------------------------------------

    def send(self, request: Request, done: Done, now: int) -> int:
        """Transmit after the packets that wait; `done` gets the outcome.

        A queue that is full drops the packet. Returns the delivery status of a request that cannot
        be sent, else 0.
        """
        refusal = self.addressing.refusal(request)
        if refusal:
            return refusal
        packet = self.addressing.packet(request)

        def finished(outcome: Outcome, when: int) -> None:
            done(self.addressing.concluded(packet, outcome), when)
            self._sent(when)

        if self.waiting >= QUEUE:
            self.dropped += 1
            finished(Outcome(Delivery.CCA_FAILURE), now)
            return Delivery.SUCCESS
        self._queue.append((packet, finished))
        if self.waiting == 1:
            self._begin(now)
        return Delivery.SUCCESS

    def _begin(self, now: int) -> None:
        self._attempt = 0
        if self._channel_is_noisy():
            self._hold_back(now)
        else:
            self._transmit(now)

    def _channel_is_noisy(self) -> bool:
        # CA 0 switches the test off.
        threshold = self.settings.number("CA")
        if threshold and self.settings.hardware.modern:
            threshold = self._threshold_dbm or threshold
        return threshold > 0 and self.settings.noise_dbm > -threshold

    def _transmit(self, now: int) -> None:
        packet, _ = self._queue[0]
        life = self._life
        air_ns = CSMA_NS + packet.size * 8 * 1_000_000_000 // self.settings.air_bps
        if not self._duty.spend(air_ns, self.settings.duty_cycle, now):
            self._refuse(now)
            return
        signal = Signal(
            sender=self,
            band=self.band,
            frame=packet,
            power_at_1m_dbm=self.settings.power_at_1m_dbm,
            duration_ns=air_ns,
            answer_ns=ACK_NS if packet.acknowledged else 0,
        )

        def sent(acknowledged: list[Radio], when: int) -> None:
            if life == self._life:
                self._conclude(acknowledged, when)

        self._air.transmit(signal, sent, now)

    def _refuse(self, now: int) -> None:
        life = self._life

        def refused(when: int) -> None:
            if life == self._life:
                self._finish(Outcome(Delivery.DUTY_CYCLE, self._attempt), when)

        self._air.call_at(now + CSMA_NS, refused)

    def _conclude(self, acknowledged: list[Radio], now: int) -> None:
        packet, _ = self._queue[0]
        if acknowledged:
            receiver = acknowledged[0]
            assert isinstance(receiver, Transceiver)
            addresses = Addresses(receiver.settings.address, receiver.addressing.source16)
            self._finish(Outcome(Delivery.SUCCESS, self._attempt, receiver=addresses), now)
        elif self._attempt < packet.repeats - 1:
            self._attempt += 1
            self._transmit(now)
        elif packet.acknowledged:
            self.settings.count("EA")
            self._finish(Outcome(self._failure(packet), self._attempt), now)
        else:
            self._finish(Outcome(Delivery.SUCCESS), now)

    def _hold_back(self, now: int) -> None:
        # The channel is not clear: five looks, five more 1 to 48 ms later, then failure.
        life = self._life
        pause = self._air.random.randint(1, 48) * MS

        def look_again(when: int) -> None:
            if life != self._life:
                return
            if self._channel_is_noisy():
                self.settings.count("EC")
                self._finish(Outcome(Delivery.CCA_FAILURE), when)
            else:
                self._transmit(when)

        self._air.call_at(now + CCA_NS + pause + CCA_NS, look_again)

    def _finish(self, outcome: Outcome, now: int) -> None:
        _, done = self._queue.popleft()
        if self._queue:
            self._begin(now)
        done(outcome, now)

    # --- receive --------------------------------------------------------------------------------

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        """Take a frame; acknowledge it when it is addressed to this module alone."""
        packet = signal.frame
        if not isinstance(packet, Packet) or not self._accepts(packet):
            return False
        if not self._is_repeated(packet):
            self._received(packet, rssi_dbm, now)
        return packet.acknowledged

    def _is_repeated(self, packet: Packet) -> bool:
        # Has this packet come before (its acknowledgement was lost, or it is sent several times)?
        # Only Digi's header shows it.
        if not packet.header:
            return False
        repeated = self._seen.get(packet.source64) == packet.sequence
        self._seen[packet.source64] = packet.sequence
        self._seen.move_to_end(packet.source64)
        if len(self._seen) > SOURCES:
            self._seen.popitem(last=False)
        return repeated
