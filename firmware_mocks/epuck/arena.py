"""The arena that the robot drives in: a rectangle with walls, and what is seen from the robot.

Metres, radians, seconds. The robot's sensors are those of its PROTO in Webots.
"""

from __future__ import annotations

import math
from bisect import bisect_right

BODY_M = 0.037  # radius of the robot
RIM_M = 0.032  # of the circle with its eight infra-red sensors
WHEEL_M = 0.02
AXLE_M = 0.052
STEPS = 1000  # of a wheel in one turn
# Directions of the sensors ps0 to ps7: clockwise from the front, as seen from above.
EYES = (-0.32, -0.85, -1.57, -2.68, 2.68, 1.57, 0.85, 0.32)
# Distance in metres, and the value that is measured there.
NEAR = (
    (0.0, 4095.0),
    (0.005, 2133.33),
    (0.01, 1465.73),
    (0.015, 601.46),
    (0.02, 383.84),
    (0.03, 234.93),
    (0.04, 158.03),
    (0.05, 120.0),
    (0.06, 104.09),
    (0.07, 67.19),
)


class Arena:
    """Pose of the robot: x from 0 to `width`, y from 0 to `depth`, and a heading. steps: what the
    wheels have turned, left and right; they slip at a wall."""

    def __init__(self, width: float, depth: float, x: float, y: float, heading: float) -> None:
        self.width = width
        self.depth = depth
        self.x = x
        self.y = y
        self.heading = heading
        self.steps = [0.0, 0.0]

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these speeds (steps/s) for so many seconds."""
        self.steps[0] += left * seconds
        self.steps[1] += right * seconds
        way = math.tau * WHEEL_M / STEPS * seconds
        turn = (right - left) * way / AXLE_M
        middle, ahead = self.heading + turn / 2, (left + right) / 2 * way
        self.heading = math.remainder(self.heading + turn, math.tau)
        x = self.x + ahead * math.cos(middle)
        y = self.y + ahead * math.sin(middle)
        self.x = min(max(x, BODY_M), self.width - BODY_M)
        self.y = min(max(y, BODY_M), self.depth - BODY_M)

    def proximity(self) -> list[int]:
        """The eight infra-red sensors."""
        return [_nearness(self._distance(angle)) for angle in EYES]

    def _distance(self, angle: float) -> float:
        """The distance from the sensor to the wall, at `angle` to the heading."""
        dx, dy = math.cos(self.heading + angle), math.sin(self.heading + angle)
        reach_x = (self.width - self.x if dx > 0 else self.x) / max(abs(dx), 1e-12)
        reach_y = (self.depth - self.y if dy > 0 else self.y) / max(abs(dy), 1e-12)
        return max(0.0, min(reach_x, reach_y) - RIM_M)


def _nearness(distance: float) -> int:
    place = bisect_right(NEAR, distance, key=lambda row: row[0])
    if place == len(NEAR):
        return int(NEAR[-1][1])
    (x0, y0), (x1, y1) = NEAR[place - 1], NEAR[place]
    return int(y0 + (y1 - y0) * (distance - x0) / (x1 - x0))
