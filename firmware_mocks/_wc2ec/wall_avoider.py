"""Drives ahead and turns away from walls: three distances in, two wheel velocities out."""

from __future__ import annotations

CRUISE = 5.0  # rad/s
TURN = 2.5
TURN_AHEAD_MM, CLEAR_AHEAD_MM = 300.0, 450.0
TURN_SIDE_MM, CLEAR_SIDE_MM = 150.0, 250.0


class WallAvoider:
    """Turns on the spot, always the same way until there is room again: corners do not trap it."""

    def __init__(self) -> None:
        self._turning = 0.0

    def steer(self, left: float, front: float, right: float) -> tuple[float, float]:
        """Velocities of the left and the right wheel, for distances in mm."""
        near = front < TURN_AHEAD_MM or min(left, right) < TURN_SIDE_MM
        clear = front > CLEAR_AHEAD_MM and min(left, right) > CLEAR_SIDE_MM
        if near and not self._turning:
            self._turning = -TURN if left < right else TURN
        elif clear:
            self._turning = 0.0
        if self._turning:
            return -self._turning, self._turning
        return CRUISE, CRUISE
