"""The arena that the robot drives in: a rectangle with walls, and what is seen from the robot.

Metres, radians, seconds. The robot's sensors are those of its PROTO in Webots.
"""

import math

from firmware_mocks._room import Room
from firmware_mocks.parameters import look_up

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


class Arena(Room):
    """steps: what the wheels have turned, left and right; they slip at a wall."""

    def __init__(self) -> None:
        super().__init__(BODY_M)
        self.steps = [0.0, 0.0]

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these speeds (steps/s) for this many seconds."""
        self.steps[0] += left * seconds
        self.steps[1] += right * seconds
        way = math.tau * WHEEL_M / STEPS * seconds
        self.advance((left + right) / 2 * way, (right - left) * way / AXLE_M)

    def proximity(self) -> list[int]:
        """Return the values of the eight infra-red sensors."""
        return [int(look_up(NEAR, max(0.0, self.reach(angle) - RIM_M))) for angle in EYES]
