"""A WC2EC external controller with the protocol of the original one in Ada; it avoids walls.

It tries to connect each second; takes ids by name from the registrations; derives the length of
a message from the command only (a sensorData has 8 bytes); writes type 53 for every motor. It
drives two wheels by three distance sensors. With the parameter `emitter` it has the packets of
the extension too; the original has not.
"""

import struct
from dataclasses import dataclass

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable, creator
from firmware_mocks.parameters import unused
from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.pilot import Messenger, PacketParameters, Pilot, WheelParameters

SUMMARY = "a WC2EC external controller that drives two wheels and avoids walls"
LOOK_NS = 2_000 * MS  # after this time a robot has registered its devices, and has sent values


@dataclass(frozen=True)
class Settings(PacketParameters, WheelParameters):
    """The parameters of a controller."""

    position: object = unused()


class Controller(Adjustable[Settings]):
    """`connect` and `disconnect` are those of a TCP client; `retry_s`: between two attempts."""

    network = "tcp-client"
    retry_s = 1.0

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.closing = False
        self.connected = False
        self.commands = 0
        self.values = 0
        self.uart.baud_rate = 1_000_000_000  # TCP is not paced
        self._input = bytearray()
        self._notice = ""
        self.pilot = Pilot(settings)
        self.messenger = Messenger(settings)

    def connect(self, now: int) -> None:
        self.connected, self.closing = True, False
        self._input.clear()
        self.uart.clear()
        self.pilot = Pilot(self.settings)
        self.messenger = Messenger(self.settings)
        self._begin_packets(now)
        self.timers.start("look", now + LOOK_NS, self._look)

    def _look(self, now: int) -> None:
        self._notice = self.pilot.waits_for()

    def take_notice(self) -> str:
        """Return why it drives no motor, once for each connection."""
        notice, self._notice = self._notice, ""
        return notice

    def _begin_packets(self, now: int) -> None:
        if self.messenger.wanted and "packet" not in self.timers:
            self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)

    def disconnect(self, now: int) -> None:
        self.connected = self.closing = False
        self._cancel()

    def reset(self, now: int) -> None:
        self.disconnect(now)
        self.pilot = Pilot(self.settings)

    def _adopt(self, name: str) -> None:
        pilot, messenger = self.pilot, self.messenger
        self.pilot, self.messenger = Pilot(self.settings), Messenger(self.settings)
        self.pilot.replace(pilot)
        self.messenger.replace(messenger)

    def describe(self) -> str:
        return f"external controller on TCP, {'connected' if self.connected else 'not connected'}"

    def receive(self, data: bytes, now: int) -> None:
        if not self.connected or self.closing:
            return
        self._begin_packets(now)
        self._input += data
        while (size := self._size()) and len(self._input) >= size:
            message = bytes(self._input[:size])
            del self._input[:size]
            self._take(message, now)

    def _size(self) -> int:
        # Bytes of the next message; 0 when they are unknown yet, or the command is unknown.
        if len(self._input) < 4:
            return 3 if self._input[:1] == bytes((wire.ERROR,)) else 0
        command = self._input[0]
        if command == wire.REGISTER_SENSOR:
            return 4 + self._input[3]
        if command == wire.SENSOR_DATA:
            packet = self.messenger.size(self._input)
            return 11 if packet is None else packet
        if command == wire.ERROR:
            return 3
        self.closing = True
        return 0

    def _take(self, message: bytes, now: int) -> None:
        command, index = message[0], message[2]
        if command == wire.REGISTER_SENSOR:
            self.pilot.register(index, message[4:])
            self.messenger.register(message[1], index, message[4:].decode(errors="replace"))
        elif command == wire.SENSOR_DATA and not self.messenger.receive(message):
            self.values += 1
            if self.pilot.see(index, struct.unpack_from("<d", message, 3)[0]):
                for order in self.pilot.commands():
                    self.commands += 1
                    self.uart.write(order, now)

    def _send_packet(self, now: int) -> None:
        self.uart.write(self.messenger.packet(), now)
        self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)


PARAMETERS = Settings.texts()

create = creator(Controller, Settings)
