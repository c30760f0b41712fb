"""The robot of the WC2EC mock: its devices by index, and the room it drives in.

Metres, radians, seconds.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._room import CartRoom
from firmware_mocks.base import MS
from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.settings import TABLE, Settings

STEP_NS = 20 * MS
LIFT_SPEED = 0.05  # m/s
ANGLES = (("ds_left", 0.7), ("ds_front", 0.0), ("ds_right", -0.7))


class Body:
    """Devices in index order: the distance sensors, left and right wheel, then the others.

    full: it has the starred commands and packets, and sends the values of its motors.
    """

    motors: dict[int, float]

    def __init__(self, settings: Settings) -> None:
        self.types = settings.types
        self.full = settings.dialect == "full"
        width, depth = settings.width, settings.depth
        self.room = CartRoom(width, depth, *_start_pose(settings.position, width, depth))
        self.lift = 0.0
        self._time_ns = 0  # of the simulation
        self.counts: Counter[str] = Counter()
        made = settings.devices
        self._given = {name: kind for name, (kind, _) in made.items()}
        self._angles = _angles(settings.sensors)
        if sensors := self._of("DistanceSensor"):
            self._angles = dict(zip(sensors, _angles(len(sensors)).values(), strict=False))
        self._tables = [made[name][1] if name in made else TABLE for name in self._angles]
        self.devices = self._devices(settings.lift)
        self.restart()

    def _devices(self, with_lift: bool) -> list[tuple[int, str]]:
        types = self.types
        devices = [(types.distance_sensor, name) for name in self._angles]
        wheels = self._of("RotationalMotor")
        wheels += ["left_wheel", "right_wheel"][len(wheels) :]
        devices += [(types.rotational_motor, name) for name in wheels]
        devices += [(types.linear_motor, name) for name in self._of("LinearMotor")]
        if with_lift:
            devices.append((types.linear_motor, "lift"))
        if self.full:
            devices += [(types.emitter, "emitter"), (types.receiver, "receiver")]
        return devices

    def _of(self, kind: str) -> list[str]:
        return [name for name, each in self._given.items() if each == kind]

    def restart(self) -> None:
        """Start with a new controller: motors at their defaults, all sensors on."""
        self.stop()
        self._echoes: list[tuple[int, bytes]] = []
        self._off: set[int] = set()
        self._period: dict[int, int] = {}
        self._due: dict[int, int] = {}

    def replace(self, before: Body, *, placed: bool) -> bool:
        """Continue where another one was; return whether the devices are the same.

        `placed` marks a new pose.
        """
        room, self.room = self.room, before.room
        self.room.width, self.room.depth = room.width, room.depth
        if placed:
            self.room.x, self.room.y, self.room.heading = room.x, room.y, room.heading
        self.lift, self._time_ns, self.counts = before.lift, before._time_ns, before.counts
        if self.registrations() != before.registrations() or self.full != before.full:
            return False
        self.motors, self._echoes = before.motors, before._echoes
        self._off, self._period, self._due = before._off, before._period, before._due
        return True

    def stop(self) -> None:
        motors = (self.types.rotational_motor, self.types.linear_motor)
        self.motors = {index: 0.0 for index, (kind, _) in enumerate(self.devices) if kind in motors}

    @property
    def moving(self) -> bool:
        """A motor is not at its default."""
        return any(self.motors.values())

    @property
    def wheels(self) -> tuple[float, float]:
        """Velocities of the left and the right wheel."""
        first = len(self._angles)
        return self.motors[first], self.motors[first + 1]

    def registrations(self) -> list[bytes]:
        return [
            wire.registration(kind, index, name.encode())
            for index, (kind, name) in enumerate(self.devices)
        ]

    def step(self) -> None:
        """Simulate STEP_NS."""
        self._time_ns += STEP_NS
        self.room.move(*self.wheels, STEP_NS / 1e9)
        linear = self.types.linear_motor
        lifts = [index for index in self.motors if self.devices[index][0] == linear]
        for target in (self.motors[index] for index in lifts[:1]):
            reach = LIFT_SPEED * STEP_NS / 1e9
            self.lift += max(-reach, min(reach, target - self.lift))

    def sensor_data(self) -> list[bytes]:
        """Return the values of the enabled sensors, in index order."""
        messages = []
        for index, angle in enumerate(self._angles.values()):
            if self._is_due(index):
                amount = values.look_up(self._tables[index], self.room.distance(angle))
                kind = self.devices[index][0]
                messages.append(wire.value(wire.SENSOR_DATA, kind, index, amount))
        if not self.full:
            return messages
        for index in self.motors:
            kind = self.devices[index][0]
            amount = self.lift if kind == self.types.linear_motor else self.motors[index]
            messages.append(wire.value(wire.SENSOR_DATA, kind, index, amount))
        return messages + self._repeat_packets()

    def _repeat_packets(self) -> list[bytes]:
        # A beacon in the middle of the room repeats each packet one step later.
        echoes, self._echoes = self._echoes, []
        index = len(self.devices) - 1
        distance, direction = self.room.towards(self.room.width / 2, self.room.depth / 2)
        strength = 1 / max(distance, 0.01) ** 2
        kind = self.types.receiver
        return [
            wire.received_packet(kind, index, channel, strength, direction, data)
            for channel, data in (echoes if index not in self._off else ())
        ]

    def _is_due(self, index: int) -> bool:
        if index in self._off:
            return False
        period = self._period.get(index)
        if period is None:
            return True
        if self._time_ns < self._due[index]:
            return False
        self._due[index] = self._time_ns + period  # WbSensor: the sample begins the next period
        return True

    def execute(self, message: bytes) -> bytes:
        """Execute a whole message. Returns the answer, or b""."""
        self.counts["commands"] += 1
        command, index, body = message[0], message[2], message[3:]
        done = index < len(self.devices)
        if not done:
            pass
        elif command == wire.SET_VALUE and index in self.motors:
            done = self._drive(index, body[:8])
        elif command == wire.SET_VALUE and self.devices[index][0] == self.types.emitter:
            channel: int = struct.unpack_from("<i", body)[0]
            self._echoes.append((channel, body[8:]))
        elif command == wire.SET_SENSOR and index in self.motors:
            linear = self.devices[index][0] == self.types.linear_motor
            done = len(body) == 32 and self._drive(index, body[:8] if linear else body[8:16])
        elif command == wire.SET_SENSOR and index < len(self._angles):
            self._sample(index, struct.unpack_from("<d", body)[0])
        elif command in (wire.ENABLE_SENSOR, wire.DISABLE_SENSOR):
            (self._off.add if command == wire.DISABLE_SENSOR else self._off.discard)(index)
            self._period.pop(index, None)
        else:
            done = command == wire.SET_SENSOR
        if done:
            return b""
        self.counts["errors"] += 1
        return wire.bare(wire.ERROR, message[1], message[2]) if self.full else b""

    def _drive(self, index: int, body: bytes) -> bool:
        amount: float = struct.unpack("<d", body)[0]
        if not math.isfinite(amount):
            return False
        self.motors[index] = amount
        return True

    def _sample(self, index: int, period_ms: float) -> None:
        self._off.discard(index)
        self._period.pop(index, None)
        if period_ms <= 0:
            self._off.add(index)
        else:
            self._period[index] = round(period_ms * MS)
            self._due[index] = self._time_ns + self._period[index]


def _angles(count: int) -> dict[str, float]:
    # Name -> angle to the heading; sensors after the first three face backwards.
    angles = dict(ANGLES)
    for extra in range(3, count):
        angles[f"ds_{extra}"] = math.pi / 2 + math.pi * (extra - 2) / (count - 2)
    return angles


def _start_pose(position: Any, width: float, depth: float) -> tuple[float, float, float]:
    # x, y and heading; (0, 0, 0) is the middle, facing along x.
    parts = position.strip("[]() ").split(",") if isinstance(position, str) else position
    try:
        x, y, heading = (float(part) for part in parts)
    except (TypeError, ValueError):
        raise ValueError(f"position: {position!r} is not x, y, heading") from None
    if not math.isfinite(heading):
        raise ValueError(f"position: heading {heading:g} is not a finite angle")
    if (x, y) == (0.0, 0.0):
        return width / 2, depth / 2, heading
    if not (0.1 <= x <= width - 0.1 and 0.1 <= y <= depth - 0.1):
        raise ValueError(f"position: {x:g}, {y:g} is not inside the room")
    return x, y, heading
