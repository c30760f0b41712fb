"""A microcontroller on a serial line that drives a robot over WC2EC and avoids walls.

Frames are COBS over message and CRC-16. It sends nothing after power-up until the names of its
parameters are registered. It then answers each set of sensor values with setValue for both
wheels, and repeats them when the line is quiet. Its watchdog stops the wheels when no good frame
has come for 300 ms.
"""

import struct
from dataclasses import dataclass

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import Adjustable, creator
from firmware_mocks.parameters import Parameters, parameter
from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from firmware_mocks.wc2ec.pilot import (
    Messenger,
    PacketParameters,
    Pilot,
    WheelParameters,
    rounded,
)

SUMMARY = "a microcontroller that drives two wheels over WC2EC on a serial line"


@dataclass(frozen=True)
class LineParameters(Parameters):
    """Parameters of the line, and of the watch over it."""

    watchdog_ns: int = parameter(
        "time without a good frame after which it stops the wheels",
        300,
        values.milliseconds,
        1,
        60_000,
        name="watchdog_ms",
    )
    repeat_ns: int = parameter(
        "longest time without a command after the registrations",
        100,
        values.milliseconds,
        1,
        60_000,
        name="repeat_ms",
    )
    baud_rate: int = parameter(
        "UART rate, bit/s", 115_200, rounded, 300, 4_000_000, name="baudRate"
    )


@dataclass(frozen=True)
class Settings(PacketParameters, LineParameters, WheelParameters):
    """The parameters of a node."""

    position: object = values.unused()


class Node(Adjustable[Settings]):
    """wheels: the velocities of the two motors. tripped: trips of its watchdog."""

    network = "serial"

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.frames = FrameReader()
        self.tripped = 0
        self.commands = 0
        self._configure()

    def _configure(self) -> None:
        self.uart.baud_rate = self.settings.baud_rate
        self.pilot, self.messenger = Pilot(self.settings), Messenger(self.settings)

    @property
    def wheels(self) -> tuple[float, float]:
        return self.pilot.wheels

    def reset(self, now: int) -> None:
        # Power cycle: forget the registrations.
        self._cancel()
        self.frames.clear()
        self._configure()

    def _adopt(self, name: str) -> None:
        pilot, messenger = self.pilot, self.messenger
        self._configure()
        self.pilot.replace(pilot)
        self.messenger.replace(messenger)

    def describe(self) -> str:
        state = "devices registered" if self.pilot.ready else "waits for registrations"
        return f"WC2EC controller at {self.uart.baud_rate} bit/s, COBS and CRC-16, {state}"

    def receive(self, data: bytes, now: int) -> None:
        for message in self.frames.feed(self.uart.distort(data)):
            self.timers.start("watchdog", now + self.settings.watchdog_ns, self._trip)
            if self.messenger.wanted and "packet" not in self.timers:
                self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)
            if self._take(message):
                self._steer(now)

    def _take(self, message: bytes) -> bool:
        # One frame, one message; true when the wheels have new velocities.
        if len(message) < 3:
            return False
        command, index = message[0], message[2]
        if command == wire.REGISTER_SENSOR and len(message) > 3:
            was_ready = self.pilot.ready
            self.pilot.register(index, message[4:])
            self.messenger.register(message[1], index, message[4:].decode(errors="replace"))
            return self.pilot.ready and not was_ready
        if command == wire.SENSOR_DATA and self.messenger.receive(message):
            return False
        if command == wire.SENSOR_DATA and len(message) == 11:
            return self.pilot.see(index, struct.unpack_from("<d", message, 3)[0])
        return False

    def _steer(self, now: int) -> None:
        for order in self.pilot.commands():
            self.commands += 1
            self.uart.write(frame(order), now)
        self.timers.start("repeat", now + self.settings.repeat_ns, self._steer)

    def _send_packet(self, now: int) -> None:
        # Packets go out while good frames come.
        message = self.messenger.packet() if "watchdog" in self.timers else b""
        if message:
            self.uart.write(frame(message), now)
            self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)

    def _trip(self, now: int) -> None:
        # The watchdog: no good frame has come.
        self.tripped += 1
        self.pilot.stop()
        if self.pilot.ready:
            self._steer(now)


PARAMETERS = Settings.texts()

create = creator(Node, Settings)
