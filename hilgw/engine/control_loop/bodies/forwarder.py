"""Packets between the radios of a body and the medium: a robot that stands where a module stands.

What a Receiver of the body received is sent on the medium by an Emitter of the configuration, and
what a Receiver of the configuration received is sent by an Emitter of the body. Both of the
configuration belong to the robot, so nothing returns to where it came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hilgw.control.events import PacketIn, PacketOut
from hilgw.control.forwarding import Forwarding
from hilgw.devices.kinds import EMITTER, RECEIVER, Device
from hilgw.engine.robot.ports import EmitterPort
from hilgw.medium.packet import Copy
from hilgw.reasons import RequestRefused


class Forwarder:
    """counts: packets that went each way. is_used: the settings forward something. Packets of the
    medium from before `open` are refused: a world that begins anew gets nothing old."""

    def __init__(self, emitters: Mapping[str, EmitterPort], settings: Forwarding) -> None:
        """emitters: of the robot, by the names that the settings have for them."""
        self.counts: Counter[str] = Counter()
        self.is_used = bool(settings)
        self._settings = settings
        self._emitters = {name: emitters[emitter] for name, emitter in settings.to_medium.items()}
        self._outlets: dict[str, list[str]] = {}  # Receiver -> Emitters of the body
        for outlet, receiver in settings.from_medium.items():
            self._outlets.setdefault(receiver, []).append(outlet)
        self._sources: dict[int, str] = {}  # index of a Receiver of the body -> its name
        self._targets: dict[str, int] = {}  # name of an Emitter of the body -> its index
        self._open_ns: int | None = None

    def open(self, now: int) -> None:
        """The body is up."""
        self._open_ns = now

    def adopt(self, device: Device) -> None:
        """The body has this device. Of equal names, the first counts."""
        if device.kind == RECEIVER and device.name in self._emitters:
            if device.name not in self._sources.values():
                self._sources[device.index] = device.name
        elif device.kind == EMITTER:
            self._targets.setdefault(device.name, device.index)

    def close(self) -> None:
        """The body is gone: what it sent and has not left for the medium is void."""
        self._open_ns = None
        self._sources.clear()
        self._targets.clear()
        for emitter in self._emitters.values():
            emitter.discard()

    def takes(self, index: int) -> bool:
        """Whether packets of this Receiver of the body go to the medium."""
        return index in self._sources

    def is_from_medium(self, receiver: str) -> bool:
        """Whether packets of this Receiver of the configuration go to the body."""
        return receiver in self._outlets

    def to_medium(self, packet: PacketIn) -> str | None:
        """Sends a packet of the body on the medium; None, or the reason when it was rejected."""
        emitter = self._emitters[self._sources[packet.index]]
        reason = emitter.send(packet.data, self._settings.on_medium(packet.channel))
        self.counts["to_medium"] += reason is None
        return reason

    def to_body(self, receiver: str, copy: Copy) -> list[PacketOut | str]:
        """The packet for each Emitter of the body, or the reason why it does not get it."""
        return [self._packet(outlet, copy) for outlet in self._outlets[receiver]]

    def _packet(self, outlet: str, copy: Copy) -> PacketOut | str:
        if self._open_ns is None or copy.arrived_ns < self._open_ns:
            return RequestRefused.DOWN
        index = self._targets.get(outlet)
        if index is None:
            return RequestRefused.UNKNOWN_DEVICE
        packet = copy.packet
        return PacketOut(index, self._settings.in_world(packet.channel), packet.data)
