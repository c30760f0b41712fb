"""Packets between the radios of a body and the medium: a robot that stands where a module stands.

What a Receiver of the body received is sent on the medium by an Emitter of the configuration, and
what a Receiver of the configuration received is sent by an Emitter of the body. Both of the
configuration belong to the robot, so nothing returns to where it came from.
"""

from collections import Counter
from collections.abc import Mapping

from hilgw.bodies.base import BodySession
from hilgw.control.events import PacketIn, PacketOut
from hilgw.control.forwarding import Forwarding
from hilgw.devices.kinds import EMITTER, RECEIVER
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.robot.ports import EmitterPort
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
