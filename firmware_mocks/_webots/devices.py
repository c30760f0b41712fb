"""Motors, brakes and LEDs of the robot in the Webots simulator mock (section 2.5).

Each device has its configuration, executes its commands and writes its messages.
"""

import math
import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._room import FASTEST, CartRoom
from firmware_mocks._webots.wire import Reader, message


def doubles(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)


class Body:
    """Body that the devices of a robot move and measure: its place in the room, and its motion."""

    def __init__(self, room: CartRoom) -> None:
        self.room = room
        self.speed = 0.0
        self.acceleration = 0.0
        self.turning = 0.0  # rad/s
        self.motors: list[Motor] = []

    def move(self, seconds: float) -> None:
        """Simulate one basic step: the first two rotational motors are the wheels."""
        for motor in self.motors:
            motor.move(seconds)
        wheels = [motor.velocity for motor in self.motors if motor.kind == "RotationalMotor"]
        room, speed = self.room, self.speed
        x, y, heading = room.x, room.y, room.heading
        if len(wheels) > 1:
            room.move(wheels[0], wheels[1], seconds)
        self.speed = math.hypot(room.x - x, room.y - y) / seconds
        self.acceleration = (self.speed - speed) / seconds
        self.turning = math.remainder(room.heading - heading, math.tau) / seconds


class Device:
    """`fields` are those fields of the Webots node that the device supports."""

    FIELDS: dict[str, Any] = {}

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        values.check_names(fields, self.FIELDS)
        self.kind = kind
        self.tag = tag
        self.name = name
        self.fields = {**self.FIELDS, **fields}
        self.body = body
        self.joint: Motor | None = None
        self._pending = b""

    def configuration(self) -> bytes:
        return b""

    def forget(self) -> None:
        """Forget the controller: no period, nothing to report; what moves keeps moving."""
        self._pending = b""

    def execute(self, commands: Reader, now_ms: float) -> None:
        while commands:
            self._execute(commands, now_ms)

    def _execute(self, commands: Reader, now_ms: float) -> None:
        raise ValueError(f"a command for {self.kind} {self.name}")

    def sample(self, now_ms: float) -> None:
        """Measure at the end of a basic step."""

    def messages(self) -> bytes:
        """Return the messages for the next answer, each once."""
        pending, self._pending = self._pending, b""
        return pending

    def image(self) -> bytes:
        """Return the pixels that the next answer carries, once."""
        return b""

    def _report(self, command: int, payload: bytes) -> None:
        self._pending += message(self.tag, command, payload)

    def _report_associated(self, commands: Reader, answer: int) -> None:
        wanted = commands.whole("H")
        tag = self.joint.associated.get(wanted, 0) if self.joint is not None else 0
        self._report(answer, struct.pack("<H", tag))

    @property
    def is_linear(self) -> bool:
        return self.joint is not None and self.joint.kind == "LinearMotor"

    def number(self, field: str, low: float = -1e9, high: float = 1e9) -> float:
        return values.number(field, self.fields[field], low, high)


class Motor(Device):
    """A joint that turns or slides: position and velocity integrated, with its limits.

    A force accelerates a mass of 1. associated: node number -> tag, of the same joint.
    """

    FIELDS = {
        "minPosition": 0.0, "maxPosition": 0.0, "maxVelocity": FASTEST, "acceleration": -1.0,
        "maxForce": 10.0, "multiplier": 1.0,
    }  # fmt: skip
    POSITION, VELOCITY, AVAILABLE, FORCE, FEEDBACK, ACCELERATION, PID, ASSOCIATED = range(1, 9)

    def __init__(
        self, kind: str, tag: int, name: str, fields: Mapping[str, Any], body: Body
    ) -> None:
        super().__init__(kind, tag, name, fields, body)
        self.joint = self
        body.motors.append(self)
        self.associated: dict[int, int] = {}
        self.low, self.high = self.number("minPosition"), self.number("maxPosition")
        self.fastest = self.number("maxVelocity", 0)
        self.acceleration = self.number("acceleration", -1)
        self.available = self.number("maxForce", 0)
        self.pid = (10.0, 0.0, 0.0)
        self.position = self.velocity = self.target = self.force = 0.0
        self.wanted = self.fastest
        self.damping = 0.0
        self._forced = False
        self._feedback_ms = 0
        self._last_ms = 0.0

    def forget(self) -> None:
        super().forget()
        self._feedback_ms = 0

    def configuration(self) -> bytes:
        return struct.pack("<i", self.kind == "LinearMotor") + doubles(
            self.low, self.high, self.fastest, self.acceleration, self.number("maxForce", 0),
            *self.pid, self.target, self.wanted, self.number("multiplier"),
        ) + struct.pack("<i", 0)  # fmt: skip

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("H")
        if command == self.POSITION:
            self.target, self._forced = commands.real(), False
        elif command == self.VELOCITY:
            self.wanted = commands.real()
        elif command == self.AVAILABLE:
            self.available = commands.real()
        elif command == self.FORCE:
            self.force, self._forced = commands.real(), True
        elif command == self.FEEDBACK:
            self._feedback_ms, self._last_ms = commands.whole("H"), now_ms
        elif command == self.ACCELERATION:
            self.acceleration = commands.real()
        elif command == self.PID:
            p, i, d = commands.read("3d")
            self.pid = (p, i, d)
        elif command == self.ASSOCIATED:
            self._report_associated(commands, self.ASSOCIATED)
        else:
            raise ValueError(f"motor command {command}")

    def move(self, seconds: float) -> None:
        if self._forced:
            force = max(-self.available, min(self.available, self.force))
            wanted = self.velocity + (force - self.damping * self.velocity) * seconds
        elif math.isinf(self.target):
            wanted = self.wanted
        else:
            reach = (self.target - self.position) / seconds
            wanted = math.copysign(min(abs(reach), abs(self.wanted)), reach)
        wanted = max(-self.fastest, min(self.fastest, wanted))
        if self.acceleration >= 0 and not self._forced:
            most = self.acceleration * seconds
            wanted = self.velocity + max(-most, min(most, wanted - self.velocity))
        self.velocity = wanted if math.isfinite(wanted) else 0.0
        self.position += self.velocity * seconds
        if self.low != self.high:
            self.position = max(self.low, min(self.high, self.position))

    def sample(self, now_ms: float) -> None:
        if self._feedback_ms and now_ms - self._last_ms >= self._feedback_ms:
            self._last_ms = now_ms
            self._pending = message(
                self.tag, self.FEEDBACK, doubles(self.force if self._forced else 0.0)
            )


class Brake(Device):
    """Damps the joint of its motor."""

    def configuration(self) -> bytes:
        return struct.pack("<i", self.is_linear)

    def _execute(self, commands: Reader, now_ms: float) -> None:
        bits = commands.whole("B")
        if not bits or bits & ~6:
            raise ValueError(f"brake command {bits}")
        damping = commands.real() if bits & 2 else None
        if damping is not None and self.joint is not None:
            self.joint.damping = damping
        if bits & 4:
            self._report_associated(commands, 4)


class Led(Device):
    """value: as set last. Nothing is ever sent to an LED: the library has no reader for it."""

    value = 0

    def _execute(self, commands: Reader, now_ms: float) -> None:
        command = commands.whole("B")
        if command != 1:
            raise ValueError(f"LED command {command}")
        self.value = commands.whole("i")
