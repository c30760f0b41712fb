"""The Emitters and Receivers of a robot in the gateway, as devices of its control loop.

What a Receiver of the body received is sent on the medium by an Emitter of the configuration, and
what a Receiver of the configuration received is sent by an Emitter of the body. Both of the
configuration belong to the robot, so nothing returns to where it came from.

And the packets between them, the body and the controller.
"""

import math
from collections import Counter
from collections.abc import Mapping

from hilgw.bodies.base import BodySession
from hilgw.control.events import EmitterSettings, PacketIn, PacketOut, ReceiverSettings
from hilgw.control.forwarding import Forwarding
from hilgw.controllers.base import PeerSession
from hilgw.devices.kinds import EMITTER, RECEIVER, Device
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.robot.ports import EmitterPort, Robot
from hilgw.medium.packet import Copy
from hilgw.reasons import RequestRefused


class Forwarder:
    """counts: packets that went each way.

    is_used: the settings forward something. Packets of the medium from before `open` are refused: a
    world that begins anew gets nothing old.
    """

    def __init__(self, emitters: Mapping[str, EmitterPort], settings: Forwarding) -> None:
        self.counts: Counter[str] = Counter()
        self.is_used = bool(settings)
        self._settings = settings
        self._emitters = {name: emitters[emitter] for name, emitter in settings.to_medium.items()}
        self._outlets: dict[str, list[str]] = {}  # Receiver -> Emitters of the body
        for outlet, receiver in settings.from_medium.items():
            self._outlets.setdefault(receiver, []).append(outlet)
        self._body: PeerLink[BodySession] | None = None
        self._open_ns = 0

    def open(self, body: PeerLink[BodySession], now: int) -> None:
        """Begin to forward: the body is up."""
        self._body, self._open_ns = body, now

    def close(self) -> None:
        """Forget what a body that is gone sent, and what has not left for the medium."""
        self._body = None
        for emitter in self._emitters.values():
            emitter.discard()

    def is_from_medium(self, receiver: str) -> bool:
        """Return whether packets of this Receiver of the configuration go to the body."""
        return receiver in self._outlets

    def to_medium(self, packet: PacketIn) -> bool:
        """Send a packet of the body on the medium, if its Receiver is one of the settings.

        Return whether it is. The Emitter counts a packet that it rejects.
        """
        device = None if self._body is None else self._body.session.devices.by_index(packet.index)
        if device is None or device.kind != RECEIVER or device.name not in self._emitters:
            return False
        channel = self._settings.on_medium(packet.channel)
        self.counts["to_medium"] += self._emitters[device.name].send(packet.data, channel) is None
        return True

    def to_body(self, receiver: str, copy: Copy, now: int) -> list[str]:
        """Send a packet of the medium through Emitters of the body.

        Return why some do not get it.
        """
        reasons = (self._send(outlet, copy, now) for outlet in self._outlets[receiver])
        return [reason for reason in reasons if reason]

    def _send(self, outlet: str, copy: Copy, now: int) -> str:
        """Return why the Emitter does not get the packet; empty: it does."""
        body = self._body
        if body is None or copy.arrived_ns < self._open_ns:
            return RequestRefused.DOWN
        device = body.session.devices.by_name(outlet)
        if device is None or device.kind != EMITTER:
            return RequestRefused.UNKNOWN_DEVICE
        channel = self._settings.in_world(copy.packet.channel)
        packet = PacketOut(device.index, channel, copy.packet.data)
        self.counts["to_body"] += 1
        body.call(now, body.session.send, packet, now)
        return ""


PASSING_MS = 1  # in a stepped world each step


class Radios:
    """The radios that the configuration lists.

    One that has the name and kind of a device of the body replaces it. robot: None when an
    in-process controller uses them. passing: the controller's session samples by itself, so a
    Receiver passes on what arrives.
    """

    def __init__(self, robot: Robot | None, *, passing: bool = False) -> None:
        self._passing = passing
        self._emitters = {} if robot is None else robot.emitters
        self._receivers = {} if robot is None else robot.receivers
        self._kinds = dict.fromkeys(self._emitters, EMITTER) | dict.fromkeys(
            self._receivers, RECEIVER
        )
        self._name: dict[int, str] = {}  # by the index of the device

    def adopt(self, device: Device) -> None:
        """Give a radio with the name and kind of this device the device's index."""
        if self._kinds.get(device.name) == device.kind:
            self._name[device.index] = device.name

    def forget(self) -> None:
        """Forget the indices of the body, which is gone."""
        self._name.clear()

    def __contains__(self, index: int) -> bool:
        return index in self._name

    def packet_in(self, receiver: str, copy: Copy) -> PacketIn | None:
        """Return a packet that a Receiver has read as an event; None while it has no index."""
        index = next((index for index, name in self._name.items() if name == receiver), None)
        if index is None:
            return None
        packet = copy.packet
        return PacketIn(index, packet.channel, copy.signal_strength, copy.direction, packet.data)

    def carry(self, packet: PacketIn) -> str | None:
        """Pass a packet on that the body reports for its device of this index.

        The Receiver takes it. None, or the reason when the device is not a Receiver.
        """
        receiver = self._receivers.get(self._name[packet.index])
        if receiver is None:
            return RequestRefused.NO_SUCH_FIELD
        receiver.carry(packet.data, packet.channel, packet.signal_strength, packet.direction)
        return None

    def send(self, packet: PacketOut) -> str | None:
        """Send a packet through an Emitter; return None when it was queued, else the reason."""
        emitter = self._emitters.get(self._name[packet.index])
        if emitter is None:
            return RequestRefused.NO_SUCH_FIELD
        return emitter.send(packet.data, packet.channel)

    def tune(self, settings: EmitterSettings | ReceiverSettings) -> str | None:
        """Set channel, range or period; return None when they were set, else the reason."""
        name = self._name[settings.index]
        if isinstance(settings, EmitterSettings):
            emitter = self._emitters.get(name)
            done = emitter is not None and (
                emitter.setChannel(settings.channel) and emitter.setRange(settings.range)
            )
        else:
            receiver = self._receivers.get(name)
            done = (
                receiver is not None
                and receiver.setChannel(settings.channel)
                and (self._passing or receiver.enable(settings.period_ms))
            )
        return None if done else RequestRefused.NOT_ALLOWED

    def switch(self, index: int, period_ms: float | None) -> str | None:
        """Set the period of a Receiver (0: off, None: its default).

        None when it was set, else the reason.
        """
        receiver = self._receivers.get(self._name[index])
        if receiver is None:
            return RequestRefused.NO_SUCH_FIELD
        period = receiver.receiver.default_period_ms if period_ms is None else period_ms
        if self._passing:
            period = min(period, PASSING_MS)
        return None if receiver.enable(math.ceil(period)) else RequestRefused.NOT_ALLOWED

    def begin_connection(self) -> None:
        """Begin the latencies anew: a controller has connected."""
        for emitter in self._emitters.values():
            emitter.latency.clear()
        for receiver in self._receivers.values():
            receiver.latency.clear()

    def restore(self) -> None:
        """Restore the settings of the configuration, for a new controller."""
        for emitter in self._emitters.values():
            emitter.restore()
        for receiver in self._receivers.values():
            receiver.restore()


class Packets:
    """The packets that arrive. A packet that nothing takes is refused and counted."""

    def __init__(
        self,
        context: LoopContext,
        controller: PeerLink[PeerSession],
        radios: Radios,
        forwarder: Forwarder,
    ) -> None:
        self._controller = controller
        self._radios = radios
        self._forwarder = forwarder
        self._refused = context.statistics.refused
        self._scheduler = context.scheduler

    def from_body(self, packet: PacketIn, now: int) -> None:
        """Pass a packet on that a Receiver of the body received."""
        if self._forwarder.to_medium(packet):
            return
        if packet.index not in self._radios:
            self._deliver(packet, now)
        elif (reason := self._radios.carry(packet)) is not None:
            self._refused[reason] += 1

    def from_medium(self, receiver: str, copy: Copy) -> None:
        """Pass a packet on that a Receiver of the gateway's own has read."""
        now = self._scheduler.now()
        if self._forwarder.is_from_medium(receiver):
            self._refused.update(self._forwarder.to_body(receiver, copy, now))
            return
        event = self._radios.packet_in(receiver, copy)
        if event is not None:
            self._deliver(event, now)

    def _deliver(self, packet: PacketIn, now: int) -> None:
        self._controller.call(now, self._controller.session.deliver, packet)
