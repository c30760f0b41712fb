"""A walled room for the robots of mocks. Angles in radians, all lengths in one unit."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable
from firmware_mocks.parameters import Parameters, parameter

STEP_NS = 5 * MS
RADIUS_M = 0.08
WHEEL_M = 0.025  # wheel radius
AXLE_M = 0.12
FASTEST = 10.0  # rad/s of a wheel: Webots' default maxVelocity


class Room:
    """A room with four walls and a round robot in it: x from 0 to `width`, y from 0 to `depth`.

    radius: of the robot. travelled: its way. bumps: how often it has hit a wall. beyond: by how
    much the wall shortened its last motion; (0, 0): it does not touch one.
    """

    def __init__(
        self, radius: float, width: float = 0.0, depth: float = 0.0, x: float = 0.0, y: float = 0.0
    ) -> None:
        self.radius = radius
        self.width = width
        self.depth = depth
        self.x = x
        self.y = y
        self.heading = 0.0
        self.travelled = 0.0
        self.bumps = 0
        self.beyond = (0.0, 0.0)

    @property
    def touching(self) -> bool:
        """True if it is at a wall now."""
        return self.beyond != (0.0, 0.0)

    def advance(self, way: float, turn: float) -> None:
        """Move the robot along an arc, as far as the walls let it."""
        middle = self.heading + turn / 2
        self.heading = math.remainder(self.heading + turn, math.tau)
        x = self.x + way * math.cos(middle)
        y = self.y + way * math.sin(middle)
        inside_x = min(max(x, self.radius), self.width - self.radius)
        inside_y = min(max(y, self.radius), self.depth - self.radius)
        self.travelled += math.hypot(inside_x - self.x, inside_y - self.y)
        self.x, self.y = inside_x, inside_y
        touched, self.beyond = self.touching, (x - inside_x, y - inside_y)
        self.bumps += self.touching and not touched

    def reach(self, angle: float) -> float:
        """Return the distance from the robot's middle to the wall, at `angle` to its heading."""
        dx, dy = math.cos(self.heading + angle), math.sin(self.heading + angle)
        reach_x = (self.width - self.x if dx > 0 else self.x) / max(abs(dx), 1e-12)
        reach_y = (self.depth - self.y if dy > 0 else self.y) / max(abs(dy), 1e-12)
        return min(reach_x, reach_y)

    def distance(self, angle: float) -> float:
        """Return the distance from the robot's rim to the wall, at `angle` to its heading."""
        return max(0.0, self.reach(angle) - self.radius)

    def towards(self, x: float, y: float) -> tuple[float, tuple[float, float, float]]:
        """Return distance and direction of a point in the robot's frame (x ahead, y left)."""
        dx, dy = x - self.x, y - self.y
        distance = math.hypot(dx, dy)
        angle = math.atan2(dy, dx) - self.heading
        return distance, (math.cos(angle), math.sin(angle), 0.0)


class CartRoom(Room):
    """A room in metres, with the robot of the mocks that simulate one."""

    def __init__(self, width: float, depth: float, x: float, y: float, heading: float) -> None:
        super().__init__(RADIUS_M, width, depth, x, y)
        self.heading = heading

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these velocities (rad/s) for this many seconds."""
        left, right = (max(-FASTEST, min(FASTEST, each)) for each in (left, right))
        speed = (left + right) / 2 * WHEEL_M
        self.advance(speed * seconds, (right - left) / AXLE_M * WHEEL_M * seconds)


@dataclass(frozen=True)
class RoomParameters(Parameters):
    """Parameters of a robot in a room. A subclass has the size of its own."""

    position: tuple[float, float, float] = parameter(
        "x, y in metres from a corner of the room, and the heading in radians (default: the "
        "middle)",
        (0.0, 0.0, 0.0),
        values.position,
    )
    width: float = parameter("width of the room in metres", 2.0, values.number, 0.5, 100.0)
    depth: float = parameter("depth of the room in metres", 1.5, values.number, 0.5, 100.0)


P = TypeVar("P", bound=RoomParameters)


class Rover(Adjustable[P]):
    """A real robot on two wheels, in a room with this many units of length to a metre."""

    def __init__(self, name: str, air: Air, settings: P, room: Room, per_metre: float = 1) -> None:
        super().__init__(name, air, settings)
        self.room = room
        self._per_metre = per_metre
        self._moved_ns: int | None = None
        self._configure()
        self._place()

    @property
    @abstractmethod
    def _drives(self) -> bool:
        """A wheel turns."""

    @abstractmethod
    def _roll(self, time_ns: int) -> None:
        """Turn the wheels for this time."""

    def _configure(self) -> None:
        self.room.width = self.settings.width * self._per_metre
        self.room.depth = self.settings.depth * self._per_metre

    def _place(self) -> None:
        # Put the robot at the position of its parameter; 0, 0 is the middle.
        room = self.room
        x, y, room.heading = self.settings.position
        room.x, room.y = x * self._per_metre, y * self._per_metre
        if (x, y) == (0.0, 0.0):
            room.x, room.y = room.width / 2, room.depth / 2

    def _adopt(self, name: str) -> None:
        self._place() if name == "position" else self._configure()

    def _step(self, now: int) -> None:
        self._move(now)
        self._keep_moving(now)

    def _keep_moving(self, now: int) -> None:
        if self._drives and "step" not in self.timers:
            self.timers.start("step", now + STEP_NS, self._step)

    def _move(self, now: int) -> None:
        before, self._moved_ns = self._moved_ns, now
        if before is not None and now > before:
            self._roll(now - before)
