"""A robot's own Emitters and Receivers, which sit on the medium, as devices of its loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hilgw.control.events import EmitterSettings, PacketIn, PacketOut, ReceiverSettings
from hilgw.devices.kinds import EMITTER, RECEIVER, Device

if TYPE_CHECKING:
    from hilgw.engine.robot.robot import Robot
    from hilgw.medium.packet import Copy

NOT_ALLOWED = "not_allowed"
NO_SUCH_FIELD = "no_such_field"


class Radios:
    """Those the configuration lists. A device of the body with the same name and kind gives them
    its index; the others follow after the body's devices, in the order of the file."""

    def __init__(self, robot: Robot | None) -> None:
        """robot: None when somebody else uses them."""
        self._emitters = {} if robot is None else robot.emitters
        self._receivers = {} if robot is None else robot.receivers
        self._kinds = dict.fromkeys(self._emitters, EMITTER) | dict.fromkeys(
            self._receivers, RECEIVER
        )
        self._index: dict[str, int] = {}
        self._name: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def claims(self, device: Device) -> bool:
        """Whether this device of the body is one of ours, which takes its place."""
        if self._kinds.get(device.name) != device.kind:
            return False
        self._place(device.name, device.index)
        return True

    def place_rest(self, first: int) -> list[Device]:
        """Those that have no index yet get the next ones, from `first` on."""
        devices: list[Device] = []
        for name, kind in self._kinds.items():
            if name not in self._index:
                self._place(name, first + len(devices))
                devices.append(Device(name=name, kind=kind, index=self._index[name]))
        return devices

    def forget(self) -> None:
        """The body is gone: no index means anything."""
        self._index.clear()
        self._name.clear()

    def __contains__(self, index: int) -> bool:
        return index in self._name

    def packet_in(self, receiver: str, copy: Copy) -> PacketIn | None:
        """What a Receiver has read, as an event; None while it has no index."""
        index = self._index.get(receiver)
        if index is None:
            return None
        packet = copy.packet
        return PacketIn(index, packet.channel, copy.signal_strength, copy.direction, packet.data)

    def send(self, packet: PacketOut) -> str | None:
        """Through an Emitter; None when it was queued, else the reason."""
        emitter = self._emitters.get(self._name[packet.index])
        if emitter is None:
            return NO_SUCH_FIELD
        return emitter.send(packet.data, packet.channel)

    def tune(self, settings: EmitterSettings | ReceiverSettings) -> str | None:
        """None when it was done, else the reason."""
        name = self._name[settings.index]
        if isinstance(settings, EmitterSettings):
            emitter = self._emitters.get(name)
            done = emitter is not None and (
                emitter.setChannel(settings.channel) and emitter.setRange(settings.range)
            )
        else:
            receiver = self._receivers.get(name)
            done = receiver is not None and (
                receiver.setChannel(settings.channel) and receiver.enable(settings.period_ms)
            )
        return None if done else NOT_ALLOWED

    def switch(self, index: int, period_ms: float | None) -> str | None:
        """A Receiver at this period, 0: off, None: at its own; None when it was done."""
        receiver = self._receivers.get(self._name[index])
        if receiver is None:
            return NO_SUCH_FIELD
        period = receiver.receiver.default_period_ms if period_ms is None else period_ms
        return None if receiver.enable(math.ceil(period)) else NOT_ALLOWED

    def restore(self) -> None:
        """A new controller finds them as the file has them."""
        for emitter in self._emitters.values():
            emitter.setChannel(emitter.emitter.fields.channel)
            emitter.setRange(emitter.emitter.fields.range)
        for receiver in self._receivers.values():
            own = receiver.receiver
            receiver.setChannel(own.fields.channel)
            if own.getSamplingPeriod() != own.default_period_ms:
                receiver.enable(own.default_period_ms)

    def _place(self, name: str, index: int) -> None:
        self._index[name] = index
        self._name[index] = name
