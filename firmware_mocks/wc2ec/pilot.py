"""The program of the WC2EC controllers: it avoids walls, and sends packets on request."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.parameters import Parameters, parameter
from firmware_mocks.wc2ec import wire


def _names(name: str, value: Any, count: int) -> list[str]:
    parts = value.strip("[] ").split(",") if isinstance(value, str) else value
    names = [str(part).strip() for part in parts] if isinstance(parts, list | tuple) else []
    if len(names) != count or not all(names):
        raise ValueError(f"{name}: {value!r} is not {count} names")
    return names


def rounded(name: str, value: Any, low: float, high: float) -> int:
    return round(values.number(name, value, low, high))


@dataclass(frozen=True)
class WheelParameters(Parameters):
    """Parameters of the wheels."""

    sensors: list[str] = parameter(
        "names of the left, front and right distance sensor",
        "ds_left, ds_front, ds_right",
        _names,
        3,
    )
    motors: list[str] = parameter(
        "names of the left and right wheel", "left_wheel, right_wheel", _names, 2
    )
    motor_type: int = parameter(
        "type byte in its commands (default {default}, the rotational motor of R2020a)",
        53,
        rounded,
        0,
        255,
    )


@dataclass(frozen=True)
class PacketParameters(Parameters):
    """The packets that it sends and counts."""

    emitter: str = parameter(
        "name of an Emitter that sends its packets (default none, as in the original)",
        "",
        values.string,
    )
    receiver: str = parameter(
        "name of a Receiver whose packets it counts (default none)", "", values.string
    )
    channel: int = parameter("channel of its packets", 0, rounded, -1, 2**31 - 1)
    message: str = parameter(
        "data of its packets; {n} is the number of the packet (default 'ping {n}')",
        "ping {n}",
        values.string,
    )
    message_ns: int = parameter(
        "time between two packets", 1000, values.milliseconds, 1, 3_600_000, name="message_ms"
    )


CRUISE = 5.0  # rad/s
TURN = 2.5
TURN_AHEAD_MM, CLEAR_AHEAD_MM = 300.0, 450.0
TURN_SIDE_MM, CLEAR_SIDE_MM = 150.0, 250.0


class WallAvoider:
    """Three distances -> two wheel velocities: ahead, and a turn on the spot near a wall.

    It keeps turning the same way until the way is clear, so corners do not trap it.
    """

    def __init__(self) -> None:
        self._turning = 0.0

    def steer(self, left: float, front: float, right: float) -> tuple[float, float]:
        """Return the velocities of the left and the right wheel, for distances in mm."""
        near = front < TURN_AHEAD_MM or min(left, right) < TURN_SIDE_MM
        clear = front > CLEAR_AHEAD_MM and min(left, right) > CLEAR_SIDE_MM
        if near and not self._turning:
            self._turning = -TURN if left < right else TURN
        elif clear:
            self._turning = 0.0
        if self._turning:
            return -self._turning, self._turning
        return CRUISE, CRUISE


class Pilot:
    """Ids by name, the last values, and the velocities of the wheels.

    It steers when all five names are registered.
    """

    def __init__(self, settings: WheelParameters) -> None:
        self.ids: dict[str, int] = {}
        self.wheels = (0.0, 0.0)
        self._sensors = settings.sensors
        self._motors = settings.motors
        self._motor_type = settings.motor_type
        self._values: dict[int, float] = {}
        self._avoider = WallAvoider()

    @property
    def ready(self) -> bool:
        return all(name in self.ids for name in (*self._sensors, *self._motors))

    def waits_for(self) -> str:
        """Return why it does not drive, for people; "" when it does."""
        wanted = dict.fromkeys((*self._sensors, *self._motors))
        if missing := [name for name in wanted if name not in self.ids]:
            known = ", ".join(self.ids) or "nothing"
            return (
                f"drives no motor: the robot has no {', '.join(missing)} (it registered {known}); "
                "name its devices: --set sensors=LEFT,FRONT,RIGHT --set motors=LEFT,RIGHT"
            )
        if silent := [name for name in self._sensors if self.ids[name] not in self._values]:
            return (
                f"drives no motor: no value of {', '.join(silent)} has come, and it enables no "
                "sensor; let the robot send them (hilgw: always_on of its body)"
            )
        return ""

    def register(self, index: int, name: bytes) -> None:
        self.ids[name.decode(errors="replace")] = index

    def see(self, index: int, value: float) -> bool:
        """Take a value; return whether all sensors have new ones and the wheels new velocities."""
        self._values[index] = value
        if not self.ready or index != self.ids[self._sensors[-1]]:
            return False
        seen = [self._values.get(self.ids[name]) for name in self._sensors]
        left, front, right = (0.0 if each is None else each for each in seen)
        self.wheels = self._avoider.steer(left, front, right)
        return True

    def replace(self, before: Pilot) -> None:
        self.ids, self.wheels = before.ids, before.wheels
        self._values, self._avoider = before._values, before._avoider

    def stop(self) -> None:
        self.wheels = (0.0, 0.0)

    def commands(self) -> list[bytes]:
        """Return setValue for both wheels."""
        return [
            wire.value(wire.SET_VALUE, self._motor_type, self.ids[name], velocity)
            for name, velocity in zip(self._motors, self.wheels, strict=True)
            if name in self.ids
        ]


class Messenger:
    """Sends a packet at intervals through an Emitter; counts the packets of a Receiver.

    `sent` and `received` count packets, `last` is the data of the last one received.
    """

    def __init__(self, settings: PacketParameters) -> None:
        self.period_ns = settings.message_ns
        self.sent = self.received = 0
        self.last = b""
        self._channel = settings.channel
        self._message = settings.message
        self._names = (settings.emitter, settings.receiver)
        self._registered: dict[str, tuple[int, int]] = {}

    @property
    def wanted(self) -> bool:
        """The parameters name an Emitter or a Receiver."""
        return any(self._names)

    def register(self, kind: int, index: int, name: str) -> None:
        self._registered[name] = kind, index

    def replace(self, before: Messenger) -> None:
        self.sent, self.received, self.last = before.sent, before.received, before.last
        self._registered = before._registered

    @property
    def _emitter(self) -> tuple[int, int] | None:
        return self._registered.get(self._names[0])

    @property
    def _receiver(self) -> tuple[int, int] | None:
        return self._registered.get(self._names[1])

    def size(self, buffer: bytes | bytearray) -> int | None:
        """Return the bytes of a message with a packet; 0: unknown yet; None: it has no packet."""
        if self._receiver is None or tuple(buffer[1:3]) != self._receiver:
            return None
        if len(buffer) < 43:
            return 0
        return 43 + int.from_bytes(buffer[39:43], "little")

    def receive(self, message: bytes) -> bool:
        """Count a packet of the Receiver; return false for other sensorData."""
        if self._receiver is None or tuple(message[1:3]) != self._receiver or len(message) < 43:
            return False
        self.received += 1
        self.last = message[43:]
        return True

    def packet(self) -> bytes:
        """Return the next packet as setValue of the Emitter; b"" while it is not registered."""
        if self._emitter is None:
            return b""
        self.sent += 1
        data = self._message.replace("{n}", str(self.sent)).encode()
        head = bytes((wire.SET_VALUE, *self._emitter))
        return head + struct.pack("<iI", self._channel, len(data)) + data
