"""A simulated robot: its controller, and its Emitters and Receivers on the medium."""

import math
from collections import Counter
from collections.abc import Callable
from functools import partial

from hilgw.controllers.base import Action, ControllerSession, Notice, Send
from hilgw.devices.fields import CHANNEL_MAX
from hilgw.devices.radios import Emitter, Receiver
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.latency import Latency
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.robot.schedule import DEPARTURE, SAMPLE, Schedule
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import BROADCAST, Copy, Packet
from hilgw.medium.pose import Mount
from hilgw.reasons import ExpiredReason, RejectedReason
from hilgw.transports.base import Scheduler, Wakeup


class EmitterPort:
    """An Emitter of a robot: packets depart at their time, or at the end of the step it is in."""

    def __init__(
        self,
        name: str,
        emitter: Emitter,
        mount: Mount,
        schedule: Schedule,
        ledger: Ledger,
        transmit: Callable[[Packet, Mount], object],
    ) -> None:
        self.name = f"{mount.object}.{name}"
        self.emitter = emitter
        self.latency = Latency()
        self.mount = mount
        self._schedule = schedule
        self._transmit = transmit
        self._count = ledger.emitter(self.name, lambda: emitter.queued)
        self._departure = schedule.add(DEPARTURE, self._depart)

    def send(self, data: bytes, channel: int | None = None) -> RejectedReason | None:
        """Queue a packet; return None when it was accepted, else the reason.

        channel: for this packet only, as a setChannel before and after it would.
        """
        self._schedule.catch_up()
        now = self._schedule.now()
        emitter = self.emitter
        usual = emitter.getChannel()
        if channel is not None and not emitter.setChannel(channel):
            self._count.offer(RejectedReason.CHANNEL)
            return RejectedReason.CHANNEL
        emitter.settle(now)  # whether or not a step has ended, or a timer is late
        reason = emitter.send(data, now)
        emitter.setChannel(usual)
        self._count.offer(reason)
        if reason is not None:
            return reason
        self._schedule.set_and_catch_up(self._departure, emitter.next_departure())
        return None

    def setChannel(self, channel: int) -> bool:
        """Set the channel of packets sent from now on; False when it is not allowed."""
        return self.emitter.setChannel(channel)

    def setRange(self, range: float) -> bool:
        """Set the range of packets sent from now on, at most maxRange.

        False when it is not allowed.
        """
        return self.emitter.setRange(range)

    def restore(self) -> None:
        """Set channel and range as in the configuration."""
        self.emitter.restore()

    def _depart(self, due: int) -> None:
        """Put the packets that have left at `due` on the medium.

        A late timer changes neither the time nor the poses of their departure.
        """
        emitter, now = self.emitter, self._schedule.now()
        stepped = self._schedule.steps.step_ns > 0
        range = emitter.reach(due)
        try:
            while emitter.next_departure() == due and (leaving := emitter.depart(due)) is not None:
                self._count.depart()
                self.latency.add(now - leaving.offered_ns)
                self._transmit(self._packet(leaving.data, leaving.channel, range, due), self.mount)
                if not stepped:
                    range = emitter.reach(due)
        finally:
            self._departure.set(emitter.next_departure())

    def discard(self, reason: ExpiredReason = ExpiredReason.BODY_GONE) -> None:
        """Expire the packets that were to leave: they are void."""
        self._departure.set(None)
        self._count.expire(self.emitter.expire_all(), reason)

    def pass_on(self, data: bytes, channel: int, range: float) -> RejectedReason | None:
        """Put a packet that left the Emitter's queue in Webots' library on the medium at once.

        Returns None, or the reason why not.
        """
        reason = None
        if not data:
            reason = RejectedReason.INVALID
        elif not BROADCAST <= channel <= CHANNEL_MAX:
            reason = RejectedReason.CHANNEL
        self._count.offer(reason)
        if reason is not None:
            return reason
        self._count.depart()
        range = 0.0 if math.isnan(range) else range  # the library lets NaN pass: reaches nothing
        self._transmit(self._packet(data, channel, range, self._schedule.now()), self.mount)
        return None

    def _packet(self, data: bytes, channel: int, range: float, sent_ns: int) -> Packet:
        fields = self.emitter.fields
        return Packet(
            data=data,
            channel=channel,
            type=fields.type,
            source=self.name,
            owner=self.mount.object,
            range=range,
            aperture=fields.aperture,
            sent_ns=sent_ns,
        )

    def close(self) -> None:
        """Expire the queued packets: the gateway ends."""
        self.discard(ExpiredReason.STOPPED)


class ReceiverPort:
    """A Receiver of a robot, as a `hilgw.controllers.base.PacketQueue`.

    Copies wait for its sampling grid, then in its queue until they are read with `next_packet`.

    device: its name on the robot. on_readable: called with this port after each sample that made
    packets readable. Settings changed at run time are passed on to the medium.
    """

    def __init__(
        self,
        name: str,
        receiver: Receiver[Copy],
        mount: Mount,
        schedule: Schedule,
        medium: Medium,
        on_readable: "Callable[[ReceiverPort], None]",
        observer: Observer,
    ) -> None:
        self.device = name
        self.name = f"{mount.object}.{name}"
        self.receiver = receiver
        self._schedule = schedule
        self._count = count = medium.ledger.station(self.name, self.queued)
        self._owner = mount.object
        self._statistics = StationStatistics(self.name, count, observer)
        self.latency = self._statistics.latency
        self._readable = partial(on_readable, self)
        self._sampling = schedule.add(SAMPLE, self._sample)
        self._medium = medium
        fields = receiver.fields
        self._listener = Listener(
            name=self.name,
            type=fields.type,
            deliver=self.deliver,
            owner=mount.object,
            channels=_channels(fields.channel),
            aperture=fields.aperture,
            mount=mount.pose,
            enabled=receiver.enabled,
            signal_strength_noise=fields.signalStrengthNoise,
            direction_noise=fields.directionNoise,
        )
        medium.attach(self._listener)

    def queued(self) -> int:
        """Return how many copies were taken and not read yet."""
        return self.receiver.queued

    def queue_length(self) -> int:
        self._schedule.catch_up()
        return self.receiver.getQueueLength()

    def head(self) -> Copy | None:
        self._schedule.catch_up()
        return self.receiver.head

    def next_packet(self) -> Copy | None:
        """Take the head packet out of the queue, which frees its part of bufferSize."""
        self._schedule.catch_up()
        copy = self.receiver.nextPacket()
        if copy is not None:
            self._statistics.deliver(copy, self._schedule.now())
        return copy

    def setChannel(self, channel: int) -> bool:
        """Listen to another channel, -1 to all, from now on; False when it is not allowed."""
        self._schedule.catch_up()
        accepted = self.receiver.setChannel(channel)
        requested = self.receiver.take_channel()
        if requested is not None:
            self.tune(requested)
        return accepted

    def tune(self, channel: int) -> None:
        """Listen to this channel, -1 to all, from now on, whether or not it is allowed."""
        self.receiver.adopt_channel(channel)
        self._medium.retune(self.name, _channels(channel))

    def takes(self, type: str, channels: frozenset[int] | None) -> bool:
        """Return whether the Receiver listens to signals of this type on one of these channels.

        None: any.
        """
        own, listener = self._listener.channels, self._listener
        meets = own is None or channels is None or not own.isdisjoint(channels)
        return listener.enabled and listener.type == type and meets

    def enable(self, period_ms: int) -> bool:
        """Sample at this period from now on; 0 stops listening and keeps the queue."""
        self._schedule.catch_up()
        steps, now = self._schedule.steps, self._schedule.now()
        accepted = self.receiver.enable(period_ms, steps.last(now))
        self._listener.enabled = self.receiver.enabled
        self._sampling.set(self.receiver.next_sample())
        return accepted

    def restore(self) -> None:
        """Set channel and period as in the configuration."""
        self.setChannel(self.receiver.fields.channel)
        if self.receiver.getSamplingPeriod() != self.receiver.initial_period_ms:
            self.enable(self.receiver.initial_period_ms)

    def deliver(self, copy: Copy) -> None:
        """Take one copy of the medium."""
        reason = self.receiver.receive(copy, copy.arrived_ns)
        if reason is not None:
            self._statistics.refuse(reason, "not taken by the receiver")
        elif self._sampling.due is None:  # else it samples for the copies that it holds already
            self._sampling.set(self.receiver.next_sample())

    def carry(
        self,
        data: bytes,
        channel: int,
        signal_strength: float,
        direction: tuple[float, float, float],
    ) -> None:
        """Take a packet that the robot's body reports for the device of this name.

        The body has matched it; buffer and sampling are those of this Receiver, as for a copy of
        the medium.
        """
        now = self._schedule.now()
        packet = Packet(
            data=data,
            channel=channel,
            type=self.receiver.fields.type,
            source=self.name,
            owner=self._owner,
            sent_ns=now,
        )
        self._count.carry()
        self.deliver(Copy(packet, now, signal_strength, direction))

    def _sample(self, due: int) -> None:
        sampled = self.receiver.sample(due)
        self._sampling.set(self.receiver.next_sample())
        if sampled.readable:
            self._schedule.deliver(self._readable, due)
        for reason, copies in Counter(sampled.reasons).items():
            self._statistics.refuse(reason, "the receiver's buffer is full", copies)

    def close(self) -> None:
        """Expire the copies that were not read: the gateway ends."""
        self._sampling.set(None)
        self._statistics.expire(self.receiver.expire_all())


def _channels(channel: int) -> frozenset[int] | None:
    return None if channel == BROADCAST else frozenset({channel})


class Robot:
    """The devices of one robot and the controller that uses them.

    A session reads its Receivers itself. For a peer, on_packet (the control loop) gets all packets
    at each sample. Where nothing controls the robot, the gateway reads them.
    """

    def __init__(
        self, name: str, session: ControllerSession | None, scheduler: Scheduler, observer: Observer
    ) -> None:
        self.name = name
        self.session = session
        self.emitters: dict[str, EmitterPort] = {}
        self.receivers: dict[str, ReceiverPort] = {}
        self.on_packet: Callable[[str, Copy], None] | None = None
        self._scheduler = scheduler
        self._observer = observer
        self._wakeup = Wakeup(scheduler, self._wake)

    def devices(self) -> list[str]:
        """Return the names of the robot's Emitters and Receivers."""
        return [*self.emitters, *self.receivers]

    def device(self, name: str) -> EmitterPort | ReceiverPort | None:
        """Return the Emitter or Receiver of this name."""
        return self.emitters.get(name) or self.receivers.get(name)

    def start(self) -> None:
        if self.session is not None:
            self._act(self.session, self.session.start(self._scheduler.now(), self.receivers))

    def readable(self, receiver: ReceiverPort) -> None:
        """Pass the packets of this Receiver on, which have become readable."""
        if self.session is not None:
            self._act(self.session, self.session.readable(receiver.device, self._scheduler.now()))
            return
        while (copy := receiver.next_packet()) is not None:
            if self.on_packet is not None:
                self.on_packet(receiver.device, copy)

    def summary(self) -> str:
        return self.session.summary() if self.session is not None else ""

    def close(self) -> None:
        self._wakeup.set(None)
        for emitter in self.emitters.values():
            emitter.close()
        for receiver in self.receivers.values():
            receiver.close()

    def _act(self, session: ControllerSession, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Send(device, data):
                    reason = self.emitters[device].send(data)
                    session.sent(reason is None)
                    if reason is not None:
                        self._observer.refused(f"{self.name}.{device}", reason, "not queued")
                case Notice(text):
                    self._observer.notice(self.name, text)
        self._wakeup.set(session.next_deadline())

    def _wake(self, due: int) -> None:
        assert self.session is not None
        self._act(self.session, self.session.expire(self._scheduler.now()))
