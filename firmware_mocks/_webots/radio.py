"""Emitters and Receivers of the Webots simulator mock (sections 2.5 and 3.4).

Without the aperture and the obstacles of infra-red, and without the physics plugin.
"""

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._webots.devices import Body, Device
from firmware_mocks._webots.sensors import Sampled
from firmware_mocks._webots.wire import Reader

MEDIA = ("radio", "serial", "infra-red")
RECEIVE = 1
MOST_PACKETS = 4096  # that wait for the end of a sampling period


class Packet:
    """range_m: as in the request, -1 without a limit."""

    def __init__(self, channel: int, range_m: float, data: bytes) -> None:
        self.channel = channel
        self.range_m = range_m
        self.data = data


def channels(fields: Mapping[str, Any]) -> bytes:
    """Return the end of a configuration: the number of allowed channels, and the channels."""
    given = fields["allowedChannels"]
    parts = given.split() if isinstance(given, str) else given
    if not isinstance(parts, list | tuple):
        raise ValueError(f"allowedChannels: {given!r} is not a list of channels")
    allowed = [values.whole("allowedChannels", part, -1, 2**31 - 1) for part in parts]
    return struct.pack(f"<i{len(allowed)}i", len(allowed), *allowed)


class _Radio:
    """Base of an Emitter and a Receiver."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.medium = values.choice("type", fields["type"], MEDIA)
        self.channel = values.whole("channel", fields["channel"], -1, 2**31 - 1)
        self.buffer = values.whole("bufferSize", fields["bufferSize"], -1, 2**31 - 1)
        self.allowed = channels(fields)


class Emitter(Device):
    """sent: packets of the requests since the last basic step."""

    FIELDS: dict[str, Any] = {
        "type": "radio", "channel": 0, "range": -1, "maxRange": -1, "baudRate": -1, "byteSize": 8,
        "bufferSize": -1, "allowedChannels": (),
    }  # fmt: skip

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.radio = _Radio(self.fields)
        self.sent: list[Packet] = []
        baud = self.number("baudRate", -1)
        bits = self.number("byteSize", 1, 64)
        self.rate = -1.0 if baud < 0 else baud / bits / 1000  # bytes per ms

    def forget(self) -> None:
        super().forget()
        self.sent = []

    def configuration(self) -> bytes:
        radio = self.radio
        numbers = (self.rate, self.number("range", -1), self.number("maxRange", -1))
        return struct.pack("<ii3d", radio.buffer, radio.channel, *numbers) + radio.allowed

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("B")
        if command == 0:
            channel, range_m = commands.whole("i"), commands.real()
            self.sent.append(Packet(channel, range_m, commands.take(commands.whole("i"))))
        elif command == 1:
            self.radio.channel = commands.whole("i")
        elif command == 2:
            commands.real()
        else:
            raise ValueError(f"Emitter command {command}")


class Receiver(Sampled):
    """Keeps what arrives until its sampling period ends, also while it is disabled.

    The library bounds its own queue.
    """

    FIELDS: dict[str, Any] = {
        "type": "radio", "channel": 0, "bufferSize": -1, "allowedChannels": (),
    }  # fmt: skip

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.radio = _Radio(self.fields)
        self._arrived: list[bytes] = []

    def forget(self) -> None:
        super().forget()
        self._arrived = []

    def configuration(self) -> bytes:
        radio = self.radio
        return struct.pack("<ii", radio.buffer, radio.channel) + radio.allowed

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("B")
        if command == 1:
            self.period_ms, self._last_ms = commands.whole("H"), now_ms
        elif command == 2:
            self.radio.channel = commands.whole("i")
        else:
            raise ValueError(f"Receiver command {command}")

    def receives(self, emitter: Emitter, packet: Packet, distance_m: float) -> bool:
        """Return whether it takes this packet now, from a robot at this distance."""
        same = self.radio.channel == packet.channel or -1 in (self.radio.channel, packet.channel)
        in_range = packet.range_m < 0 or distance_m <= packet.range_m
        return (
            self.period_ms > 0 and emitter.radio.medium == self.radio.medium and same and in_range
        )

    def receive(self, packet: Packet, direction: tuple[float, float, float], far_m: float) -> None:
        """Store the packet: readable after the answer of this step, if the period ends in it."""
        strength = 1 / max(far_m, 1e-6) ** 2
        head = struct.pack("<4di", *direction, strength, len(packet.data))
        if len(self._arrived) < MOST_PACKETS:
            self._arrived.append(head + packet.data)

    def sample(self, now_ms: float) -> None:
        if self.is_due(now_ms):
            channel = struct.pack("<i", self.radio.channel)
            for payload in self._arrived:
                self._report(RECEIVE, channel + payload)
            self._arrived = []
