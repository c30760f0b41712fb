"""Arcs of G2 and G3 as the straight segments that Grbl plans, in millimetres.

Source: Grbl 1.1, gcode.c and motion_control.c.
"""

import math
from collections.abc import Mapping

Point = tuple[float, float, float]

TOLERANCE_MM = 0.002  # $12: of a segment's middle from the arc
SAME = 5e-7  # rad
INVALID_TARGET, NO_RADIUS, NO_CENTRE = 33, 34, 35
# By plane (G17, G18, G19): the axes of the circle, right-handed, and the one along which it climbs.
PLANES = {17: (0, 1, 2), 18: (2, 0, 1), 19: (1, 2, 0)}


class LineError(Exception):
    """The line is answered with error:CODE."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def segments(
    start: Point,
    end: Point,
    plane: int,
    centre: Mapping[int, float],
    radius: float | None,
    *,
    clockwise: bool,
) -> tuple[Point, ...]:
    """Return the ends of the segments.

    `centre` is given from the start, by axis (I, J, K); `radius` is that of R, which is negative
    for the longer of two arcs.
    """
    first, second, along = PLANES[plane]
    dx, dy = end[first] - start[first], end[second] - start[second]
    if radius is not None:
        to_centre = _centre(dx, dy, radius, clockwise=clockwise)
    elif not {first, second} & set(centre):
        raise LineError(NO_CENTRE)
    else:
        to_centre = centre.get(first, 0.0), centre.get(second, 0.0)
        _check_radii(to_centre, (dx, dy))
    radius = math.hypot(*to_centre)
    begin = math.atan2(-to_centre[1], -to_centre[0])
    turn = math.remainder(math.atan2(dy - to_centre[1], dx - to_centre[0]) - begin, math.tau)
    if clockwise and turn >= -SAME:  # the same angle is a whole turn
        turn -= math.tau
    elif not clockwise and turn <= SAME:
        turn += math.tau
    chord = 2 * math.sqrt(TOLERANCE_MM * max(2 * radius - TOLERANCE_MM, TOLERANCE_MM))
    count = max(1, math.floor(abs(turn) * radius / chord))
    ends = []
    for index in range(1, count):
        angle, point = begin + turn * index / count, list(start)
        point[first] += to_centre[0] + radius * math.cos(angle)
        point[second] += to_centre[1] + radius * math.sin(angle)
        point[along] += (end[along] - start[along]) * index / count
        ends.append((point[0], point[1], point[2]))
    return (*ends, end)


def _centre(dx: float, dy: float, radius: float, *, clockwise: bool) -> tuple[float, float]:
    # From the start: of the two circles of this radius, the one that the direction means.
    way = math.hypot(dx, dy)
    if not way:
        raise LineError(INVALID_TARGET)
    rest = 4 * radius * radius - way * way
    if rest < 0:
        raise LineError(NO_RADIUS)
    side = math.sqrt(rest) / way * (1 if (radius > 0) == clockwise else -1)
    return (dx + dy * side) / 2, (dy - dx * side) / 2


def _check_radii(to_centre: tuple[float, float], chord: tuple[float, float]) -> None:
    radius = math.hypot(*to_centre)
    wrong = abs(radius - math.hypot(chord[0] - to_centre[0], chord[1] - to_centre[1]))
    if not radius or wrong > 0.5 or (wrong > 0.005 and wrong > 0.001 * radius):
        raise LineError(INVALID_TARGET)
