"""The floor that the robot drives on: a room with four walls. Millimetres, radians, seconds."""

from __future__ import annotations

import math

BODY_MM = 170.0  # radius of the robot
BASE_MM = 235.0  # between its wheels
COUNTS_PER_MM = 508.8 / (math.pi * 72.0)  # of an encoder: 508.8 a turn of a 72 mm wheel
LIGHT_REACH_MM = 100.0  # a light bumper's signal falls to 1/e within this distance
# Directions of the six light bumpers, left to right (packets 46 to 51).
LIGHT_BUMPERS = (1.13, 0.66, 0.2, -0.2, -0.66, -1.13)


class Floor:
    """Pose of the robot: x from 0 to `width`, y from 0 to `depth`, and a heading."""

    def __init__(self, width: float, depth: float, x: float, y: float, heading: float) -> None:
        self.width = width
        self.depth = depth
        self.x = x
        self.y = y
        self.heading = heading
        self.left_mm = self.right_mm = 0.0  # ways of the wheels; they slip at a wall
        self.bumps = (False, False)  # left, right

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these speeds (mm/s) for so many seconds."""
        self.left_mm += left * seconds
        self.right_mm += right * seconds
        turn = (right - left) / BASE_MM * seconds
        middle, way = self.heading + turn / 2, (left + right) / 2 * seconds
        self.heading = math.remainder(self.heading + turn, math.tau)
        x = self.x + way * math.cos(middle)
        y = self.y + way * math.sin(middle)
        self.x = min(max(x, BODY_MM), self.width - BODY_MM)
        self.y = min(max(y, BODY_MM), self.depth - BODY_MM)
        self.bumps = (False, False)
        if (self.x, self.y) != (x, y):
            at = math.atan2(y - self.y, x - self.x) - self.heading
            at = math.remainder(at, math.tau)
            if abs(at) < math.pi / 2:  # the bumper covers the front half
                self.bumps = (at > -0.3, at < 0.3)

    def distance(self, angle: float) -> float:
        """The distance from the robot's rim to the wall, at `angle` to its heading."""
        dx, dy = math.cos(self.heading + angle), math.sin(self.heading + angle)
        reach_x = (self.width - self.x if dx > 0 else self.x) / max(abs(dx), 1e-12)
        reach_y = (self.depth - self.y if dy > 0 else self.y) / max(abs(dy), 1e-12)
        return max(0.0, min(reach_x, reach_y) - BODY_MM)

    def light(self, angle: float) -> int:
        """The signal of a light bumper, 0 to 4095."""
        return round(4095 * math.exp(-self.distance(angle) / LIGHT_REACH_MM))

    def counts(self) -> tuple[int, int]:
        """The encoders, left and right: 16 bits that wrap around."""
        return (
            math.floor(self.left_mm * COUNTS_PER_MM) & 0xFFFF,
            math.floor(self.right_mm * COUNTS_PER_MM) & 0xFFFF,
        )

    def way(self) -> tuple[float, float]:
        """From the wheels: the way of the middle in mm, and the turn in degrees."""
        turn = math.degrees((self.right_mm - self.left_mm) / BASE_MM)
        return (self.left_mm + self.right_mm) / 2, turn
