"""A WC2EC external controller as the original Ada one talks, avoiding walls.

It connects and tries again each second until it gets through; learns ids by name from the
registrations; reads a message's length from the command alone, every sensorData being 8 bytes;
writes type 53 whatever the motor. It drives two wheels by three distance sensors. With the
parameter `emitter` it knows the packets of the extension as well, which the original does not.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks._wc2ec import radio, wire
from firmware_mocks._wc2ec.parameters import number, settings_of
from firmware_mocks._wc2ec.wall_avoider import WallAvoider
from firmware_mocks.air import Air
from firmware_mocks.base import Mock

SUMMARY = "a WC2EC external controller that drives two wheels and avoids walls"
PARAMETERS: dict[str, str] = {
    "sensors": "names of the left, front and right distance sensor "
    "(default ds_left, ds_front, ds_right)",
    "motors": "names of the left and right wheel (default left_wheel, right_wheel)",
    "motor_type": "type byte it writes (default 53, the rotational motor of R2020a)",
    **radio.PARAMETERS,
    "position": "not used: it is a program",
}
DEFAULTS: dict[str, Any] = {
    "sensors": "ds_left, ds_front, ds_right",
    "motors": "left_wheel, right_wheel",
    "motor_type": 53,
    **radio.DEFAULTS,
}


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Controller:
    """A controller. ValueError says what is wrong with a parameter."""
    return Controller(name, {**DEFAULTS, **settings_of(parameters, PARAMETERS)})


class Pilot:
    """Ids by name, the last values, and what to tell the wheels: `tell` after each message.

    Complete when all five names are registered; until then it tells nothing.
    """

    def __init__(self, sensors: list[str], motors: list[str], motor_type: int) -> None:
        self.ids: dict[str, int] = {}
        self.wheels = (0.0, 0.0)
        self._sensors = sensors
        self._motors = motors
        self._motor_type = motor_type
        self._values: dict[int, float] = {}
        self._avoider = WallAvoider()

    @property
    def ready(self) -> bool:
        return all(name in self.ids for name in (*self._sensors, *self._motors))

    def register(self, index: int, name: bytes) -> None:
        self.ids[name.decode(errors="replace")] = index

    def see(self, index: int, value: float) -> bool:
        """A value came; true when it completes a look around: time to steer."""
        self._values[index] = value
        if not self.ready or index != self.ids[self._sensors[-1]]:
            return False
        seen = [self._values.get(self.ids[name]) for name in self._sensors]
        left, front, right = (0.0 if each is None else each for each in seen)
        self.wheels = self._avoider.steer(left, front, right)
        return True

    def stop(self) -> None:
        self.wheels = (0.0, 0.0)

    def commands(self) -> list[bytes]:
        """setValue for both wheels."""
        return [
            wire.value(wire.SET_VALUE, self._motor_type, self.ids[name], velocity)
            for name, velocity in zip(self._motors, self.wheels, strict=True)
            if name in self.ids
        ]


class Controller(Mock):
    """`connect` and `disconnect` are the TCP client's; `retry_s`: how often it tries."""

    network = "tcp-client"
    retry_s = 1.0

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        super().__init__(name)
        self.closing = False
        self.connected = False
        self.commands = 0
        self.values = 0
        self._values = values
        self.uart.baud_rate = 1_000_000_000  # TCP is not paced
        self._input = bytearray()
        self.pilot = pilot_of(values)
        self.radio = radio.Radio(values)

    def connect(self, now: int) -> None:
        self.connected, self.closing = True, False
        self._input.clear()
        self.uart.clear()
        self.pilot = pilot_of(self._values)
        self.radio = radio.Radio(self._values)
        if self.radio.wanted:
            self.timers.start("packet", now + self.radio.period_ns, self._send_packet)

    def disconnect(self, now: int) -> None:
        self.connected = self.closing = False
        self.uart.clear()
        self.timers.clear()

    def reset(self, now: int) -> None:
        self.disconnect(now)
        self.pilot = pilot_of(self._values)

    def set(self, name: str, value: str) -> None:
        values = {**self._values, **settings_of({name: value}, PARAMETERS)}
        self.pilot, self.radio = pilot_of(values), radio.Radio(values)
        self._values = values
        self.closing = self.connected

    def describe(self) -> str:
        return f"external controller on TCP, {'connected' if self.connected else 'not connected'}"

    def receive(self, data: bytes, now: int) -> None:
        if not self.connected or self.closing:
            return
        self._input += data
        while (size := self._size()) and len(self._input) >= size:
            message = bytes(self._input[:size])
            del self._input[:size]
            self._take(message, now)

    def _size(self) -> int:
        """Bytes of the next message; 0 when that is not known yet, or never will be."""
        if len(self._input) < 4:
            return 3 if self._input[:1] == bytes((wire.ERROR,)) else 0
        command = self._input[0]
        if command == wire.REGISTER_SENSOR:
            return 4 + self._input[3]
        if command == wire.SENSOR_DATA:
            packet = self.radio.size(self._input)
            return 11 if packet is None else packet
        if command == wire.ERROR:
            return 3
        self.closing = True
        return 0

    def _take(self, message: bytes, now: int) -> None:
        command, index = message[0], message[2]
        if command == wire.REGISTER_SENSOR:
            self.pilot.register(index, message[4:])
            self.radio.register(message[1], index, message[4:].decode(errors="replace"))
        elif command == wire.SENSOR_DATA and not self.radio.hear(message):
            self.values += 1
            if self.pilot.see(index, struct.unpack_from("<d", message, 3)[0]):
                for order in self.pilot.commands():
                    self.commands += 1
                    self.uart.write(order, now)

    def _send_packet(self, now: int) -> None:
        self.uart.write(self.radio.packet(), now)
        self.timers.start("packet", now + self.radio.period_ns, self._send_packet)


def pilot_of(values: Mapping[str, Any]) -> Pilot:
    """A pilot for the parameters `sensors`, `motors` and `motor_type`; ValueError."""
    sensors = _names(values, "sensors", 3)
    motors = _names(values, "motors", 2)
    return Pilot(sensors, motors, round(number(values, "motor_type", 0, 255)))


def _names(values: Mapping[str, Any], name: str, count: int) -> list[str]:
    given = values[name]
    parts = given.strip("[] ").split(",") if isinstance(given, str) else given
    names = [str(part).strip() for part in parts] if isinstance(parts, list | tuple) else []
    if len(names) != count or not all(names):
        raise ValueError(f"{name}: {given!r} is not {count} names")
    return names
