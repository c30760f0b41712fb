"""The Emitters and Receivers of a robot, on the medium."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hilgw.engine.latency import Latency
from hilgw.engine.statistics import StationStatistics
from hilgw.engine.timing import Wakeup
from hilgw.medium.packet import BROADCAST, Copy, Packet
from hilgw.reasons import ExpiredReason, RejectedReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.devices.emitter import Emitter
    from hilgw.devices.receiver import Receiver
    from hilgw.engine.observer import Observer
    from hilgw.engine.timing import StepClock
    from hilgw.medium.ledger import Ledger
    from hilgw.medium.listeners import Listener
    from hilgw.medium.medium import Medium
    from hilgw.transports.base import Handle, Scheduler


class EmitterPort:
    """An Emitter of a robot: packets depart at their time, or at the end of the step it is in."""

    def __init__(
        self,
        robot: str,
        name: str,
        emitter: Emitter,
        scheduler: Scheduler,
        ledger: Ledger,
        transmit: Callable[[Packet], None],
        steps: StepClock,
    ) -> None:
        self.name = f"{robot}.{name}"
        self.emitter = emitter
        self.latency = Latency()
        self._robot = robot
        self._scheduler = scheduler
        self._count = ledger.emitter(self.name, lambda: emitter.queued)
        self._transmit = transmit
        self._steps = steps
        self._wakeup = Wakeup(scheduler, self._wake)

    def send(self, data: bytes, channel: int | None = None) -> str | None:
        """Queues a packet; returns None when it was accepted, else the reason.

        channel: for this packet only, as a setChannel before and after it would.
        """
        now = self._scheduler.now()
        emitter = self.emitter
        usual = emitter.getChannel()
        if channel is not None and not emitter.setChannel(channel):
            self._count.offer(RejectedReason.CHANNEL)
            return RejectedReason.CHANNEL
        emitter.settle(now)  # whether or not a step has ended, or a timer is late
        result = emitter.send(data, now)
        emitter.setChannel(usual)
        self._count.offer(result.reason)
        if not result:
            return result.reason
        self._depart(now)
        return None

    def setChannel(self, channel: int) -> bool:
        """Sets the channel of packets sent from now on; False when it is not allowed."""
        return self.emitter.setChannel(channel)

    def setRange(self, range: float) -> bool:
        """Sets the range of packets sent from now on, at most maxRange; False when it is not
        allowed."""
        return self.emitter.setRange(range)

    def _depart(self, now: int) -> None:
        """Puts the packets that have left on the medium. Each was sent when the line had finished
        it, or at the end of that step: a late timer changes neither that time nor the poses."""
        emitter, fields, steps = self.emitter, self.emitter.fields, self._steps
        until = steps.last(now)
        # Checked first: a packet that left after the last step end waits for the next one.
        while (
            (due := emitter.next_departure()) is not None
            and due <= until
            and (leaving := emitter.depart(until)) is not None
        ):
            self._count.depart()
            self.latency.add(now - leaving.offered_ns)
            self._transmit(
                Packet(
                    data=leaving.data,
                    channel=leaving.channel,
                    type=fields.type,
                    source=self.name,
                    owner=self._robot,
                    range=leaving.range,
                    aperture=fields.aperture,
                    sent_ns=steps.end(leaving.departed_ns),
                )
            )
        self._wakeup.set(None if due is None else steps.end(due))

    def _wake(self, due: int) -> None:
        self._depart(self._scheduler.now())

    def close(self) -> None:
        """The gateway ends: queued packets expire."""
        self._wakeup.set(None)
        self._count.expire(self.emitter.expire_all(), ExpiredReason.STOPPED)


class ReceiverPort:
    """A Receiver of a robot: copies wait for its sampling grid, then the controller reads them all.

    `attach` puts it on the medium; settings changed at run time are passed on to the medium.
    """

    def __init__(
        self,
        robot: str,
        name: str,
        receiver: Receiver[Copy],
        scheduler: Scheduler,
        ledger: Ledger,
        on_packet: Callable[[str, Copy], None],
        observer: Observer,
        steps: StepClock,
    ) -> None:
        self.name = f"{robot}.{name}"
        self.receiver = receiver
        self._steps = steps
        self._device = name
        self._scheduler = scheduler
        count = ledger.station(self.name, lambda: receiver.queued)
        self._statistics = StationStatistics(self.name, count, observer)
        self.latency = self._statistics.latency
        self._on_packet = on_packet
        self._timer: Handle | None = None
        self._medium: Medium | None = None
        self._listener: Listener | None = None

    def attach(self, medium: Medium, listener: Listener) -> None:
        """Receives from now on; `listener` belongs to this Receiver."""
        self._medium, self._listener = medium, listener
        listener.enabled = self.receiver.enabled
        medium.attach(listener)

    def setChannel(self, channel: int) -> bool:
        """Listens to another channel, -1 to all, from now on; False when it is not allowed."""
        accepted = self.receiver.setChannel(channel)
        requested = self.receiver.take_channel()
        if requested is not None:
            self.receiver.adopt_channel(requested)
            if self._medium is not None:
                channels = None if requested == BROADCAST else frozenset({requested})
                self._medium.retune(self.name, channels)
        return accepted

    def enable(self, period_ms: int) -> bool:
        """Samples at this period from now on; 0 stops listening and keeps the queue."""
        accepted = self.receiver.enable(period_ms, self._steps.last(self._scheduler.now()))
        if self._listener is not None:
            self._listener.enabled = self.receiver.enabled
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._arm()
        return accepted

    def deliver(self, copy: Copy) -> None:
        """The medium hands over one copy."""
        reason = self.receiver.receive(copy, copy.arrived_ns)
        if reason:
            self._statistics.refuse(reason, "not taken by the receiver")
        self._arm()

    def _arm(self) -> None:
        if self._timer is None:
            due = self.receiver.next_sample()
            if due is not None:
                # A nanosecond later: a packet that departs at that instant is read with the rest.
                self._timer = self._scheduler.call_at(due + 1, self._sample)

    def _sample(self) -> None:
        self._timer = None
        now = self._scheduler.now()
        for reason, copies in Counter(self.receiver.sample(now).reasons).items():
            self._statistics.refuse(reason, "the receiver's buffer is full", copies)
        while (copy := self.receiver.nextPacket()) is not None:
            self._statistics.deliver(copy, now)
            self._on_packet(self._device, copy)
        self._arm()

    def close(self) -> None:
        """The gateway ends: copies that were not read expire."""
        if self._timer is not None:
            self._timer.cancel()
        self._statistics.expire(self.receiver.expire_all())
