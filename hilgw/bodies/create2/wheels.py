"""The wheels of a Create 2: the command for their velocities, and the angles of its encoders."""

from __future__ import annotations

import math

from hilgw.bodies.create2.oi import FASTEST_MM_S, drive_direct

# Specification, packets 43 and 44: counts per turn, wheel diameter in mm.
MM_PER_COUNT = math.pi * 72.0 / 508.8


def drive(left: float, right: float, radius_m: float) -> bytes:
    """The command for two velocities in rad/s. One beyond the robot's 500 mm/s is cut to it."""
    return drive_direct(_mm_s(left, radius_m), _mm_s(right, radius_m))


def _mm_s(velocity: float, radius_m: float) -> int:
    return round(max(-FASTEST_MM_S, min(FASTEST_MM_S, velocity * radius_m * 1000)))
