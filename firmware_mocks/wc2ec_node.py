"""A microcontroller on a serial line that drives a robot over WC2EC and avoids walls.

Frames are COBS over message and CRC-16. It knows nothing at power-up and says nothing until the
names it looks for are registered. It then answers each look around with setValue for both
wheels, and repeats them when the line is quiet. Its watchdog: when no good frame comes for
300 ms, the wheels are told to stand still.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks._wc2ec import radio, wire
from firmware_mocks._wc2ec.cobs import FrameReader, frame
from firmware_mocks._wc2ec.parameters import number, settings_of
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock
from firmware_mocks.wc2ec_controller import DEFAULTS as PILOT_DEFAULTS
from firmware_mocks.wc2ec_controller import PARAMETERS as PILOT_PARAMETERS
from firmware_mocks.wc2ec_controller import Pilot, pilot_of

SUMMARY = "a microcontroller that drives two wheels over WC2EC on a serial line"
PARAMETERS: dict[str, str] = {
    "sensors": PILOT_PARAMETERS["sensors"],
    "motors": PILOT_PARAMETERS["motors"],
    "motor_type": PILOT_PARAMETERS["motor_type"],
    "watchdog_ms": "without a good frame for so long the wheels stop (default 300)",
    "repeat_ms": "how long it is quiet at most, once it knows its devices (default 100)",
    "baudRate": "UART rate, bit/s (default 115200)",
    **radio.PARAMETERS,
    "position": "not used: it has no place of its own",
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
    """A node. ValueError says what is wrong with a parameter."""
    return Node(name, {**DEFAULTS, **settings_of(parameters, PARAMETERS)})


class Node(Mock):
    """`wheels` is what it wants of the two motors now; `tripped` counts its watchdog."""

    network = "serial"

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        super().__init__(name)
        self.frames = FrameReader()
        self.tripped = 0
        self.commands = 0
        self._values = values
        self.pilot, self.radio = self._configure()

    def _configure(self) -> tuple[Pilot, radio.Radio]:
        self.uart.baud_rate = round(number(self._values, "baudRate", 300, 4_000_000))
        self._watchdog_ns = round(number(self._values, "watchdog_ms", 1, 60_000) * MS)
        self._repeat_ns = round(number(self._values, "repeat_ms", 1, 60_000) * MS)
        self.pilot, self.radio = pilot_of(self._values), radio.Radio(self._values)
        return self.pilot, self.radio

    @property
    def wheels(self) -> tuple[float, float]:
        return self.pilot.wheels

    def reset(self, now: int) -> None:
        """Power cycle: nothing is known."""
        self.timers.clear()
        self.uart.clear()
        self.frames.clear()
        self._configure()

    def set(self, name: str, value: str) -> None:
        values = {**self._values, **settings_of({name: value}, PARAMETERS)}
        Node(self.name, values)  # ValueError leaves this one as it was
        self._values = values
        self._configure()

    def describe(self) -> str:
        knows = "knows its devices" if self.pilot.ready else "waits for its devices"
        return f"WC2EC controller at {self.uart.baud_rate} bit/s, COBS and CRC-16, {knows}"

    def receive(self, data: bytes, now: int) -> None:
        for message in self.frames.feed(self.uart.distort(data)):
            self.timers.start("watchdog", now + self._watchdog_ns, self._trip)
            if self.radio.wanted and "packet" not in self.timers:
                self.timers.start("packet", now + self.radio.period_ns, self._send_packet)
            if self._take(message):
                self._tell(now)

    def _take(self, message: bytes) -> bool:
        """One frame, one message; true when it is time to steer. Others are passed over."""
        if len(message) < 3:
            return False
        command, index = message[0], message[2]
        if command == wire.REGISTER_SENSOR and len(message) > 3:
            was_ready = self.pilot.ready
            self.pilot.register(index, message[4:])
            self.radio.register(message[1], index, message[4:].decode(errors="replace"))
            return self.pilot.ready and not was_ready
        if command == wire.SENSOR_DATA and self.radio.hear(message):
            return False
        if command == wire.SENSOR_DATA and len(message) == 11:
            return self.pilot.see(index, struct.unpack_from("<d", message, 3)[0])
        return False

    def _tell(self, now: int) -> None:
        """setValue for both wheels, a frame each."""
        for order in self.pilot.commands():
            self.commands += 1
            self.uart.write(frame(order), now)
        self.timers.start("repeat", now + self._repeat_ns, self._tell)

    def _send_packet(self, now: int) -> None:
        """While somebody is there to hear it."""
        message = self.radio.packet() if "watchdog" in self.timers else b""
        if message:
            self.uart.write(frame(message), now)
            self.timers.start("packet", now + self.radio.period_ns, self._send_packet)

    def _trip(self, now: int) -> None:
        """The watchdog: nobody tells what there is to see."""
        self.tripped += 1
        self.pilot.stop()
        if self.pilot.ready:
            self._tell(now)
