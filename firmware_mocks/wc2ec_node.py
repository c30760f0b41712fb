"""A microcontroller on a serial line that drives a robot over WC2EC and avoids walls.

Frames are COBS over message and CRC-16. It sends nothing after power-up until the names of its
parameters are registered. It then answers each set of sensor values with setValue for both
wheels, and repeats them when the line is quiet. Its watchdog stops the wheels when no good frame
has come for 300 ms.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import Mock
from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from firmware_mocks.wc2ec.pilot import (
    DEFAULTS as PILOT_DEFAULTS,
    PACKET_PARAMETERS,
    WHEEL_PARAMETERS,
    Messenger,
    Pilot,
    pilot_of,
)

SUMMARY = "a microcontroller that drives two wheels over WC2EC on a serial line"
PARAMETERS: dict[str, str] = {
    **WHEEL_PARAMETERS,
    "watchdog_ms": "time without a good frame after which it stops the wheels (default 300)",
    "repeat_ms": "longest time without a command after the registrations (default 100)",
    "baudRate": "UART rate, bit/s (default 115200)",
    **PACKET_PARAMETERS,
    "position": "not used",
}
DEFAULTS: dict[str, Any] = {
    **PILOT_DEFAULTS,
    "watchdog_ms": 300,
    "repeat_ms": 100,
    "baudRate": 115_200,
}


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Node:
    """A node. ValueError names the parameter with a wrong value."""
    values.check_names(parameters, PARAMETERS)
    return Node(name, {**DEFAULTS, **parameters})


class Node(Mock):
    """wheels: the velocities of the two motors. tripped: trips of its watchdog."""

    network = "serial"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        self.frames = FrameReader()
        self.tripped = 0
        self.commands = 0
        self._settings = settings
        self.pilot, self.messenger = self._configure()

    def _configure(self) -> tuple[Pilot, Messenger]:
        settings = self._settings
        self.uart.baud_rate = round(values.number("baudRate", settings["baudRate"], 300, 4_000_000))
        self._watchdog_ns = values.milliseconds("watchdog_ms", settings["watchdog_ms"], 1, 60_000)
        self._repeat_ns = values.milliseconds("repeat_ms", settings["repeat_ms"], 1, 60_000)
        self.pilot, self.messenger = pilot_of(settings), Messenger(settings)
        return self.pilot, self.messenger

    @property
    def wheels(self) -> tuple[float, float]:
        return self.pilot.wheels

    def reset(self, now: int) -> None:
        """Power cycle: forget the registrations."""
        self.timers.clear()
        self.uart.clear()
        self.frames.clear()
        self._configure()

    def set(self, name: str, value: str) -> None:
        values.check_names([name], PARAMETERS)
        settings = {**self._settings, name: value}
        Node(self.name, settings)  # ValueError leaves this one as it was
        pilot, messenger, self._settings = self.pilot, self.messenger, settings
        self._configure()
        self.pilot.replace(pilot)
        self.messenger.replace(messenger)

    def describe(self) -> str:
        state = "devices registered" if self.pilot.ready else "waits for registrations"
        return f"WC2EC controller at {self.uart.baud_rate} bit/s, COBS and CRC-16, {state}"

    def receive(self, data: bytes, now: int) -> None:
        for message in self.frames.feed(self.uart.distort(data)):
            self.timers.start("watchdog", now + self._watchdog_ns, self._trip)
            if self.messenger.wanted and "packet" not in self.timers:
                self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)
            if self._take(message):
                self._steer(now)

    def _take(self, message: bytes) -> bool:
        """One frame, one message; true when the wheels have new velocities."""
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
        """setValue for both wheels, a frame each."""
        for order in self.pilot.commands():
            self.commands += 1
            self.uart.write(frame(order), now)
        self.timers.start("repeat", now + self._repeat_ns, self._steer)

    def _send_packet(self, now: int) -> None:
        """Packets go out while good frames come."""
        message = self.messenger.packet() if "watchdog" in self.timers else b""
        if message:
            self.uart.write(frame(message), now)
            self.timers.start("packet", now + self.messenger.period_ns, self._send_packet)

    def _trip(self, now: int) -> None:
        """The watchdog: no good frame has come."""
        self.tripped += 1
        self.pilot.stop()
        if self.pilot.ready:
            self._steer(now)
