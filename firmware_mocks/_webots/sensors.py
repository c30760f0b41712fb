"""Sensors of the robot in the Webots simulator mock (sections 2.5 and 2.7)."""

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._webots.devices import Body, Device, doubles
from firmware_mocks._webots.wire import Reader, message, text

Vector = Sequence[float]
GRAVITY = 9.81


def table(*rows: Vector) -> bytes:
    return struct.pack("<i", len(rows)) + b"".join(doubles(*row) for row in rows)


class Sampled(Device):
    """Has a sampling period.

    The first value comes one whole period after the command that set it.
    """

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.period_ms = 0
        self._last_ms = 0.0

    def forget(self) -> None:
        super().forget()
        self.period_ms = 0

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("B")
        if command != 1:
            raise ValueError(f"command {command} for {self.kind} {self.name}")
        self.period_ms, self._last_ms = commands.whole("H"), now_ms

    def is_due(self, now_ms: float) -> bool:
        due = bool(self.period_ms) and now_ms - self._last_ms >= self.period_ms
        if due:
            self._last_ms = now_ms
        return due


class Sensor(Sampled, ABC):
    """Reads `measure` each sampling period. Of several values in one answer the last is sent."""

    COMMAND = 0

    def configuration(self) -> bytes:
        return table()

    @abstractmethod
    def measure(self) -> Vector:
        """Return the value, as its message carries it."""

    def sample(self, now_ms: float) -> None:
        if self.is_due(now_ms):
            self._pending = message(self.tag, self.command, doubles(*self.value()))

    def value(self) -> Vector:
        return self.measure()

    @property
    def command(self) -> int:
        return self.COMMAND


class Tabled(Sensor, ABC):
    """Returns what its lookup table has for each number that it measures."""

    FIELDS = {"lookupTable": ()}

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.rows = values.lookup_table("lookupTable", self.fields["lookupTable"])

    def configuration(self) -> bytes:
        return table(*self.rows)

    def value(self) -> Vector:
        return [values.look_up(self.rows, each) for each in self.measure()]


class DistanceSensor(Tabled):
    """A value of 0 to 1000 over one metre. angle: to the robot's heading, in radians."""

    FIELDS = {"angle": 0.0, "lookupTable": ((0, 0, 0), (1, 1000, 0))}
    COMMAND = 50

    def configuration(self) -> bytes:
        returned = [row[1] for row in self.rows] or [0.0, math.inf]
        limits = struct.pack("<i3d", 0, min(returned), max(returned), 0.0)
        return limits + super().configuration()

    def measure(self) -> Vector:
        return (self.body.room.distance(self.number("angle")),)


class PositionSensor(Sensor):
    COMMAND = 1

    def configuration(self) -> bytes:
        return struct.pack("<i", self.is_linear)

    def measure(self) -> Vector:
        return (self.joint.position if self.joint is not None else 0.0,)

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("B")
        if command == 1:
            self.period_ms, self._last_ms = commands.whole("H"), now_ms
        elif command == 2:
            self._report_associated(commands, 2)
        else:
            raise ValueError(f"position sensor command {command}")


class LightSensor(Tabled):
    """A lamp of 1000 units over the middle of the room, 1 m high."""

    COMMAND = 55

    def measure(self) -> Vector:
        room = self.body.room
        distance, _ = room.towards(room.width / 2, room.depth / 2)
        return (1000 / (1 + distance**2),)


class Accelerometer(Tabled):
    COMMAND = 51

    def measure(self) -> Vector:
        return self.body.acceleration, 0.0, GRAVITY


class Gyro(Tabled):
    COMMAND = 53

    def measure(self) -> Vector:
        return 0.0, 0.0, self.body.turning


class Compass(Tabled):
    """North is along x."""

    COMMAND = 52

    def measure(self) -> Vector:
        heading = self.body.room.heading
        return math.cos(heading), -math.sin(heading), 0.0


class Gps(Sensor):
    COMMAND = 2

    def configuration(self) -> bytes:
        return struct.pack("<i", 0)

    def measure(self) -> Vector:
        room, speed = self.body.room, self.body.speed
        along = speed * math.cos(room.heading), speed * math.sin(room.heading), 0.0
        return room.x, room.y, 0.0, speed, *along


class InertialUnit(Sensor):
    COMMAND = 54

    def configuration(self) -> bytes:
        return doubles(0.0) + text("ENU")

    def measure(self) -> Vector:
        half = self.body.room.heading / 2
        return 0.0, 0.0, math.sin(half), math.cos(half)


class TouchSensor(Tabled):
    """Touches the walls, with 1 or a force of 1."""

    FIELDS = {"type": "bumper", "lookupTable": ()}
    KINDS = ("bumper", "force", "force-3d")

    def configuration(self) -> bytes:
        return struct.pack("<i", self._type) + super().configuration()

    def value(self) -> Vector:
        return super().value() if self._type else self.measure()

    def measure(self) -> Vector:
        touching = float(self.body.room.touching)
        return (touching, 0.0, 0.0) if self._type == 2 else (touching,)

    @property
    def command(self) -> int:
        return 41 if self._type == 2 else 40

    @property
    def _type(self) -> int:
        return self.KINDS.index(values.choice("type", self.fields["type"], self.KINDS))


class Camera(Sampled):
    """BGRA images whose blue is the frame's number, green and red the column and row.

    Layout of its configuration: camera.c of libController R2025a, function read_answer.
    """

    FIELDS = {"width": 8, "height": 4}

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.width = values.whole("width", self.fields["width"], 1, 1024)
        self.height = values.whole("height", self.fields["height"], 1, 1024)
        self.frames = 0
        self._image = b""

    def forget(self) -> None:
        super().forget()
        self._image = b""

    def configuration(self) -> bytes:
        return struct.pack(
            "<IHH2dB2dBB5d", self.tag, self.width, self.height, 0.7854, 0.01, 0, 0.0, math.pi,
            0, 0, 1.0, 0.0, 0.0, 0.0, 0.0,
        )  # fmt: skip

    def sample(self, now_ms: float) -> None:
        if self.is_due(now_ms):
            self.frames += 1
            self._image = bytes(
                byte
                for row in range(self.height)
                for column in range(self.width)
                for byte in (self.frames & 255, column & 255, row & 255, 255)
            )

    def image(self) -> bytes:
        image, self._image = self._image, b""
        return image
