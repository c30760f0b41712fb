"""A simulated robot: its Emitters and Receivers on the medium, its controller in charge."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hilgw.controllers.base import Action, ControllerSession, Say, Send
from hilgw.engine.latency import Latency
from hilgw.engine.statistics import StationStatistics
from hilgw.medium.packet import BROADCAST, Copy, Packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.devices.emitter import Emitter
    from hilgw.devices.receiver import Receiver
    from hilgw.engine.observer import Observer
    from hilgw.engine.steps import Steps
    from hilgw.medium.ledger import Ledger
    from hilgw.medium.listeners import Listener
    from hilgw.medium.medium import Medium
    from hilgw.transports.base import Handle, Scheduler


class EmitterPort:
    """An Emitter of a robot: packets depart when their time has come, or at the end of the step
    in which it has come."""

    def __init__(
        self,
        robot: str,
        name: str,
        emitter: Emitter,
        scheduler: Scheduler,
        ledger: Ledger,
        transmit: Callable[[Packet], None],
        steps: Steps,
    ) -> None:
        self.name = f"{robot}.{name}"
        self.emitter = emitter
        self.latency = Latency()
        self._robot = robot
        self._scheduler = scheduler
        self._count = ledger.emitter(self.name, lambda: emitter.queued)
        self._transmit = transmit
        self._steps = steps
        self._timer: Handle | None = None
        self._due: int | None = None

    def send(self, data: bytes, channel: int | None = None) -> str | None:
        """Queue a packet; None when it was accepted, else the reason.

        channel: for this packet only, as a setChannel before and after it would.
        """
        now = self._scheduler.now()
        emitter = self.emitter
        usual = emitter.getChannel()
        if channel is not None and not emitter.setChannel(channel):
            self._count.offer("channel")
            return "channel"
        emitter.settle(now)  # whether or not a step has ended, or a timer is late
        result = emitter.send(data, now)
        emitter.setChannel(usual)
        self._count.offer(result.reason)
        if not result:
            return result.reason
        self._depart(now)
        return None

    def setChannel(self, channel: int) -> bool:
        """Of packets sent from now on; False when it is not allowed."""
        return self.emitter.setChannel(channel)

    def setRange(self, range: float) -> bool:
        """Of packets sent from now on, at most maxRange; False when it is not allowed."""
        return self.emitter.setRange(range)

    def _depart(self, now: int) -> None:
        """Hands over what has left. It was sent when the line was done with it, or at the end of
        that step; a timer that is late changes neither that nor who is where at that instant."""
        emitter, fields, steps = self.emitter, self.emitter.fields, self._steps
        looks_at = steps.last(now)
        # Asked first: what has left since the last step end waits for the next.
        while (
            (due := emitter.next_departure()) is not None
            and due <= looks_at
            and (leaving := emitter.depart(looks_at)) is not None
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
        if due is not None:
            due = steps.end(due)
        if due != self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = due
            self._timer = None if due is None else self._scheduler.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = self._due = None
        self._depart(self._scheduler.now())

    def close(self) -> None:
        """The gateway ends: what is still queued expires."""
        if self._timer is not None:
            self._timer.cancel()
        self._count.expire(self.emitter.expire_all(), "stopped")


class ReceiverPort:
    """A Receiver of a robot: copies wait for its sampling grid, then the controller reads all.

    `attach` puts it on the medium; what it is told at run time, the medium learns.
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
        steps: Steps,
    ) -> None:
        self.name = f"{robot}.{name}"
        self.receiver = receiver
        self._steps = steps
        self._device = name
        self._scheduler = scheduler
        count = ledger.station(self.name, lambda: receiver.queued)
        self._tally = StationStatistics(self.name, count, observer)
        self.latency = self._tally.latency
        self._on_packet = on_packet
        self._timer: Handle | None = None
        self._medium: Medium | None = None
        self._listener: Listener | None = None

    def attach(self, medium: Medium, listener: Listener) -> None:
        """From now on it hears; `listener` is made for it."""
        self._medium, self._listener = medium, listener
        listener.enabled = self.receiver.enabled
        medium.attach(listener)

    def setChannel(self, channel: int) -> bool:
        """Listens to another channel, -1 to all, from now on; False when it is not allowed."""
        accepted = self.receiver.setChannel(channel)
        asked = self.receiver.take_channel()
        if asked is not None:
            self.receiver.adopt_channel(asked)
            if self._medium is not None:
                channels = None if asked == BROADCAST else frozenset({asked})
                self._medium.retune(self.name, channels)
        return accepted

    def enable(self, period_ms: int) -> bool:
        """Samples at this period from now on; 0 stops listening, and what is queued stays."""
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
            self._tally.refuse(reason, "not taken by the receiver")
        self._arm()

    def _arm(self) -> None:
        if self._timer is None:
            due = self.receiver.next_sample()
            if due is not None:
                # A nanosecond later: what departs at that very instant is read with the rest.
                self._timer = self._scheduler.call_at(due + 1, self._sample)

    def _sample(self) -> None:
        self._timer = None
        now = self._scheduler.now()
        for reason, copies in Counter(self.receiver.sample(now).reasons).items():
            self._tally.refuse(reason, "the receiver's buffer is full", copies)
        while (copy := self.receiver.nextPacket()) is not None:
            self._tally.deliver(copy, now)
            self._on_packet(self._device, copy)
        self._arm()

    def close(self) -> None:
        """The gateway ends: what nobody read expires."""
        if self._timer is not None:
            self._timer.cancel()
        self._tally.expire(self.receiver.expire_all())


class Robot:
    """The devices of one robot and the controller that uses them; on_packet: the loop that does,
    where a peer is the controller."""

    def __init__(
        self, name: str, session: ControllerSession | None, scheduler: Scheduler, observer: Observer
    ) -> None:
        self.name = name
        self.emitters: dict[str, EmitterPort] = {}
        self.receivers: dict[str, ReceiverPort] = {}
        self.on_packet: Callable[[str, Copy], None] | None = None
        self._session = session
        self._scheduler = scheduler
        self._observer = observer
        self._timer: Handle | None = None

    def devices(self) -> list[str]:
        """The names of its Emitters and Receivers."""
        return [*self.emitters, *self.receivers]

    def device(self, name: str) -> EmitterPort | ReceiverPort | None:
        """The one of this name."""
        return self.emitters.get(name) or self.receivers.get(name)

    def start(self) -> None:
        if self._session is not None:
            self._act(self._session.start(self._scheduler.now()))

    def packet(self, receiver: str, copy: Copy) -> None:
        """A packet was read by the receiver of this name."""
        if self._session is not None:
            self._act(self._session.packet(receiver, copy, self._scheduler.now()))
        elif self.on_packet is not None:
            self.on_packet(receiver, copy)

    def summary(self) -> str:
        return self._session.summary() if self._session is not None else ""

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for emitter in self.emitters.values():
            emitter.close()
        for receiver in self.receivers.values():
            receiver.close()

    def _act(self, actions: list[Action]) -> None:
        session = self._session
        assert session is not None
        for action in actions:
            match action:
                case Send(device, data):
                    reason = self.emitters[device].send(data)
                    session.sent(reason is None)
                    if reason is not None:
                        self._observer.refused(f"{self.name}.{device}", reason, "not queued")
                case Say(text):
                    self._observer.notice(self.name, text)
        if self._timer is not None:
            self._timer.cancel()
        due = session.next_deadline()
        self._timer = None if due is None else self._scheduler.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        assert self._session is not None
        self._act(self._session.expire(self._scheduler.now()))
