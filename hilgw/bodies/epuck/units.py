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


class Odometer:
    """The angle of one wheel from an encoder of 16 bits that wraps around.

    Between two readings the wheel turns less than half the range: 32 turns, 32 s at full speed.
    """

    def __init__(self) -> None:
        self._raw: int | None = None
        self._steps = 0
        self._is_new = True

    def rebase(self) -> None:
        """The robot was gone: the angle goes on from where it was, whatever the encoder shows."""
        self._raw = None

    def read(self, raw: int) -> float:
        """The angle in rad, after this reading of the encoder. The first is the encoder's own."""
        if self._is_new:
            self._steps, self._is_new = raw, False
        elif self._raw is not None:
            self._steps += (raw - self._raw + 0x8000 & 0xFFFF) - 0x8000
        self._raw = raw
        return self._steps / STEPS_PER_RAD
