"""A walled room for the robots of mocks. Metres, radians, seconds."""

from __future__ import annotations

import math

RADIUS_M = 0.08
WHEEL_M = 0.025  # wheel radius
AXLE_M = 0.12
FASTEST = 10.0  # rad/s of a wheel: Webots' default maxVelocity


class Room:
    """A room with four walls and a round robot on two wheels in it.

    x from 0 to `width`, y from 0 to `depth`. bumps: how often the robot has hit a wall;
    touching: it is at one now.
    """

    def __init__(self, width: float, depth: float, x: float, y: float, heading: float) -> None:
        self.width = width
        self.depth = depth
        self.x = x
        self.y = y
        self.heading = heading
        self.travelled = 0.0
        self.bumps = 0
        self.touching = False

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these velocities for so many seconds."""
        left, right = (max(-FASTEST, min(FASTEST, each)) for each in (left, right))
        speed = (left + right) / 2 * WHEEL_M
        turn = (right - left) / AXLE_M * WHEEL_M * seconds
        middle = self.heading + turn / 2
        self.heading = math.remainder(self.heading + turn, math.tau)
        x = self.x + speed * seconds * math.cos(middle)
        y = self.y + speed * seconds * math.sin(middle)
        inside_x = min(max(x, RADIUS_M), self.width - RADIUS_M)
        inside_y = min(max(y, RADIUS_M), self.depth - RADIUS_M)
        self.travelled += math.hypot(inside_x - self.x, inside_y - self.y)
        self.x, self.y = inside_x, inside_y
        touches = (inside_x, inside_y) != (x, y)
        self.bumps += touches and not self.touching
        self.touching = touches

    def distance(self, angle: float) -> float:
        """The distance from the robot's rim to the wall, at `angle` to its heading."""
        dx, dy = math.cos(self.heading + angle), math.sin(self.heading + angle)
        reach_x = (self.width - self.x if dx > 0 else self.x) / max(abs(dx), 1e-12)
        reach_y = (self.depth - self.y if dy > 0 else self.y) / max(abs(dy), 1e-12)
        return max(0.0, min(reach_x, reach_y) - RADIUS_M)

    def towards(self, x: float, y: float) -> tuple[float, tuple[float, float, float]]:
        """Distance of a point and its direction in the robot's frame (x ahead, y left)."""
        dx, dy = x - self.x, y - self.y
        distance = math.hypot(dx, dy)
        angle = math.atan2(dy, dx) - self.heading
        return distance, (math.cos(angle), math.sin(angle), 0.0)
