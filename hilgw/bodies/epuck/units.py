"""The numbers of an e-puck as those of Webots: the scales of Webots' own remote control."""

from __future__ import annotations

RAD_PER_STEP = 0.00628  # 1000 steps a turn
STEPS_PER_RAD = 159.23
MAX_STEPS_S = {"e-puck": 1000, "e-puck2": 1200}
_G_RAW, _ZERO_RAW, _G = 800, 2000, 9.81


def steps_s(velocity: float, limit: int) -> int:
    """Steps per second for rad/s, cut towards zero, and to the limit of the robot."""
    return int(max(-limit, min(limit, velocity / RAD_PER_STEP)))


def acceleration(raw: tuple[int, ...]) -> tuple[float, ...]:
    """m/s^2 of the three axes; the robot's x axis points the other way."""
    x, y, z = ((number - _ZERO_RAW) * _G / _G_RAW for number in raw)
    return 0.0 - x, y, z
