"""Signal strength and direction of a packet on the wire, which carries no NaN and no infinity.

Unknown is written as 0 strength or the direction (0, 0, 0), neither of which can be measured; the
infinite strength of no distance at all as the largest number there is.
"""

from __future__ import annotations

import math
import sys

Direction = tuple[float, float, float]
UNKNOWN: Direction = (math.nan, math.nan, math.nan)
NOWHERE: Direction = (0.0, 0.0, 0.0)


def written(strength: float, direction: Direction) -> tuple[float, Direction]:
    """What is known, as the wire can carry it."""
    shown = 0.0 if math.isnan(strength) else min(strength, sys.float_info.max)
    return shown, direction if all(map(math.isfinite, direction)) else NOWHERE


def known(strength: float, direction: Direction) -> tuple[float, Direction]:
    """What the wire said: NaN where it said nothing."""
    return strength or math.nan, UNKNOWN if direction == NOWHERE else direction
