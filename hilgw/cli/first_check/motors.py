"""The motions of the first check: small, slow, and within the limits of the motor. Pure."""

import math
from dataclasses import dataclass
from typing import NamedTuple

SHARE = 0.1  # of the velocity limit
TURN_S = 0.5
WAY = {"rad": math.radians(5), "m": 0.005}
SMALLEST = 0.2  # of this way: less is not seen
SLOW_S = 4.0  # for this way, where a motor has to be seen moving


class Leg(NamedTuple):
    """A part of a motion. position: where to; infinite: on and on."""

    velocity: float
    position: float
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckedMotor:
    """A motor with its limits.

    slowest, fastest: its limits of velocity. unit: rad or m; positions: its limits where it is
    moved by positions, else None. sensor: the name of its position sensor, or "".
    """

    name: str
    unit: str
    slowest: float
    fastest: float
    positions: tuple[float, float] | None = None
    sensor: str = ""

    def velocity(self, sign: int) -> float:
        """Return a tenth of its limit; 0 where it does not turn in this direction."""
        wanted = SHARE * max(abs(self.slowest), abs(self.fastest))
        return sign * min(wanted, max(0.0, self.fastest if sign > 0 else -self.slowest))

    def legs(self, sign: int, start: float | None, *, slowly: bool) -> list[Leg]:
        """Return its motion from here, empty without one; if `slowly`, it continues at the end."""
        velocity = self.velocity(sign)
        if self.positions is None:
            return [Leg(velocity, math.inf, TURN_S)] if velocity else []
        low, high = self.positions
        velocity = self.velocity(1) or -self.velocity(-1)
        target = min(max((start or 0.0) + sign * WAY[self.unit], low), high)
        way = (target - (start or 0.0)) * sign
        if start is None or not velocity or way < SMALLEST * WAY[self.unit]:
            return []
        if slowly:
            return [Leg(min(velocity, way / SLOW_S), target, TURN_S)]
        seconds = TURN_S + 2 * way / velocity
        return [Leg(velocity, target, seconds), Leg(velocity, start, seconds)]
