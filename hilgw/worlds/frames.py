"""Frames of nested nodes: translation, rotation and scale, as Webots composes them."""

import math
from dataclasses import dataclass

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float]
Rows = tuple[Vector, Vector, Vector]

_SAME: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
NO_ROTATION: Rotation = (0.0, 0.0, 1.0, 0.0)
_SMALLEST_ANGLE = 1e-9


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame in the world.

    linear: its rotation and scale. turn: its rotation alone. scale: the product of the scales
    above, as Webots applies it to sizes.
    """

    position: Vector = (0.0, 0.0, 0.0)
    linear: Rows = _SAME
    turn: Rows = _SAME
    scale: Vector = (1.0, 1.0, 1.0)

    def child(self, translation: Vector, rotation: Rotation, scale: Vector) -> "Frame":
        """Return the frame of a node in this one."""
        turn = _turn(rotation)
        x, y, z = _apply(self.linear, translation)
        px, py, pz = self.position
        sx, sy, sz = scale
        a, b, c = ((row[0] * sx, row[1] * sy, row[2] * sz) for row in turn)
        return Frame(
            (px + x, py + y, pz + z),
            _product(self.linear, (a, b, c)),
            _product(self.turn, turn),
            (self.scale[0] * sx, self.scale[1] * sy, self.scale[2] * sz),
        )

    def seen_from(self, other: "Frame") -> tuple[Vector, Rotation]:
        """Return position and rotation of this frame in the rotated, unscaled frame of `other`."""
        x, y, z = (mine - its for mine, its in zip(self.position, other.position, strict=True))
        back = _transposed(other.turn)
        return _apply(back, (x, y, z)), _axis_angle(_product(back, self.turn))

    def pose(self) -> tuple[Vector, Rotation]:
        """Return position and rotation in the world."""
        return self.position, _axis_angle(self.turn)

    @property
    def is_finite(self) -> bool:
        rows = (self.position, *self.linear, *self.turn, self.scale)
        return all(math.isfinite(each) for row in rows for each in row)


WORLD = Frame()


def _turn(rotation: Rotation) -> Rows:
    x, y, z, angle = rotation
    length = math.hypot(x, y, z)
    if length == 0.0 or angle == 0.0:
        return _SAME
    x, y, z = x / length, y / length, z / length
    c, s = (math.cos(angle), math.sin(angle)) if math.isfinite(angle) else (math.nan, math.nan)
    d = 1.0 - c
    return (
        (c + x * x * d, x * y * d - z * s, x * z * d + y * s),
        (x * y * d + z * s, c + y * y * d, y * z * d - x * s),
        (x * z * d - y * s, y * z * d + x * s, c + z * z * d),
    )


def _axis_angle(turn: Rows) -> Rotation:
    (a, b, c), (d, e, f), (g, h, i) = turn
    x, y, z = h - f, c - g, d - b
    twice_sin = math.hypot(x, y, z)
    angle = math.atan2(twice_sin, a + e + i - 1.0)
    if angle < _SMALLEST_ANGLE:
        return NO_ROTATION
    if math.pi - angle > 1e-4:
        return (x / twice_sin, y / twice_sin, z / twice_sin, angle)
    # Near half a turn the axis comes from the symmetric part, which is (1 - cos) axis axis^T + cos.
    cos = math.cos(angle)
    p, q, r = (b + d) / 2, (c + g) / 2, (f + h) / 2
    columns = [(a - cos, p, q), (p, e - cos, r), (q, r, i - cos)]
    x, y, z = max(columns, key=lambda column: math.hypot(*column))
    length = math.hypot(x, y, z)
    if x * (h - f) + y * (c - g) + z * (d - b) < 0.0:
        length = -length
    return (x / length, y / length, z / length, angle)


def _apply(rows: Rows, vector: Vector) -> Vector:
    x, y, z = vector
    a, b, c = (row[0] * x + row[1] * y + row[2] * z for row in rows)
    return (a, b, c)


def _product(left: Rows, right: Rows) -> Rows:
    columns = _transposed(right)
    a, b, c = (_apply(columns, row) for row in left)
    return (a, b, c)


def _transposed(rows: Rows) -> Rows:
    a, b, c = zip(*rows, strict=True)
    return a, b, c
