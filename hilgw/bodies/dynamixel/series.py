"""The series of servos: where each has its registers, and their units.

e-manual, XL430-W250 and PH54-200-S500-R, Control Table. Registers up to 63 are the same. Those of
the RAM of series P are 448 higher than those of series X, and have the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

_RPM = math.tau / 60
_RPM2 = math.tau / 3600


@dataclass(frozen=True, slots=True)
class Series:
    """offset: what is added to an address in the RAM of series X. zero: the pulse in the middle.
    reach: the largest pulse beyond one turn. rad_s, rad_s2: units of velocity and acceleration.
    turns: model -> pulses of one turn; other models have `pulses`."""

    name: str
    offset: int
    zero: int
    reach: int
    rad_s: float
    rad_s2: float
    pulses: int
    turns: Mapping[int, int] = field(default_factory=dict)


X = Series("X", 0, 2048, 1_048_575, 0.229 * _RPM, 214.577 * _RPM2, 4096)
P = Series(
    "P",
    448,
    0,
    2_147_483_647,
    0.01 * _RPM,
    _RPM2,
    1_003_846,
    {
        2000: 607_500,  # PH42-020
        2010: 1_003_846,  # PH54-100
        2020: 1_003_846,  # PH54-200
        2100: 526_374,  # PM42-010
        2110: 502_834,  # PM54-040
        2120: 502_834,  # PM54-060
    },
)
SERIES = {each.name: each for each in (X, P)}


def series_of(model: int) -> Series:
    return P if model in P.turns else X
