"""The floor that the robot drives on: a room with four walls. Millimetres, radians, seconds."""

import math

from firmware_mocks._room import Room

BODY_MM = 170.0  # radius of the robot
BASE_MM = 235.0  # between its wheels
COUNTS_PER_MM = 508.8 / (math.pi * 72.0)  # of an encoder: 508.8 a turn of a 72 mm wheel
LIGHT_REACH_MM = 100.0  # a light bumper's signal falls to 1/e within this distance
# Directions of the six light bumpers, left to right (packets 46 to 51).
LIGHT_BUMPERS = (1.13, 0.66, 0.2, -0.2, -0.66, -1.13)


class Floor(Room):
    """left_mm, right_mm: the ways of the wheels; they slip at a wall."""

    def __init__(self) -> None:
        super().__init__(BODY_MM)
        self.left_mm = self.right_mm = 0.0

    def move(self, left: float, right: float, seconds: float) -> None:
        """Turn the wheels at these speeds (mm/s) for this many seconds."""
        self.left_mm += left * seconds
        self.right_mm += right * seconds
        self.advance((left + right) / 2 * seconds, (right - left) / BASE_MM * seconds)

    @property
    def bumpers(self) -> tuple[bool, bool]:
        """Left and right; they cover the front half."""
        x, y = self.beyond
        angle = math.remainder(math.atan2(y, x) - self.heading, math.tau)
        if not self.touching or abs(angle) >= math.pi / 2:
            return False, False
        return angle > -0.3, angle < 0.3

    def light(self, angle: float) -> int:
        """Return the signal of a light bumper, 0 to 4095."""
        return round(4095 * math.exp(-self.distance(angle) / LIGHT_REACH_MM))

    def counts(self) -> tuple[int, int]:
        """Return the encoders, left and right: 16 bits that wrap around."""
        return (
            math.floor(self.left_mm * COUNTS_PER_MM) & 0xFFFF,
            math.floor(self.right_mm * COUNTS_PER_MM) & 0xFFFF,
        )

    def way(self) -> tuple[float, float]:
        """Return the way of the middle in mm and the turn in degrees, both from the wheels."""
        turn = math.degrees((self.right_mm - self.left_mm) / BASE_MM)
        return (self.left_mm + self.right_mm) / 2, turn
