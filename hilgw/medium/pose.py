"""The pose of an object, like Webots' `translation` and `rotation`.

Position in metres, and orientation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from hilgw.errors import ConfigError

Vector = tuple[float, float, float]
Rows = tuple[Vector, Vector, Vector]

NO_ROTATION: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_SHORTEST = 1e-150  # of a quaternion: below, its components have too few digits left
LARGEST_M = 1e9
"""Largest coordinate that is accepted as input, along any axis."""


def check_position(position: Vector, where: str = "position") -> None:
    """Raise ConfigError for an invalid position: NaN, or a coordinate beyond LARGEST_M."""
    if not all(abs(each) <= LARGEST_M for each in position):
        raise ConfigError(
            f"{where} {list(position)} is not a valid position",
            where=where,
            fix="use metres, below 1e9",
        )


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame in world coordinates. rows: its rotation matrix, whose columns are the frame's axes.

    Raises ConfigError for a position that is NaN or infinite.
    """

    position: Vector = (0.0, 0.0, 0.0)
    rows: Rows = NO_ROTATION

    def __post_init__(self) -> None:
        x, y, z = self.position
        if not math.isfinite(x + y + z):
            raise ConfigError(f"position {self.position} is not valid", where="position")

    @classmethod
    def from_axis_angle(cls, position: Vector, rotation: tuple[float, float, float, float]) -> Pose:
        """Return the pose of Webots' rotation: axis x, y, z (any length but 0) and angle in rad."""
        check_position(position)
        x, y, z, angle = rotation
        length = math.hypot(x, y, z)
        if not (math.isfinite(angle) and math.isfinite(length)) or length == 0.0:
            raise ConfigError(
                f"rotation {list(rotation)} has no axis", where="rotation", fix="e.g. [0, 0, 1, 0]"
            )
        if angle == 0.0:
            return cls((float(position[0]), float(position[1]), float(position[2])))
        s = math.sin(angle / 2) / length
        return cls.from_quaternion(position, (x * s, y * s, z * s, math.cos(angle / 2)))

    @classmethod
    def from_quaternion(
        cls, position: Vector, quaternion: tuple[float, float, float, float]
    ) -> Pose:
        """Return the pose of a quaternion x, y, z, w of any length but 0."""
        check_position(position)
        length = math.hypot(*quaternion)
        if not _SHORTEST <= length < math.inf:
            raise ConfigError(
                f"quaternion {quaternion} is not a valid rotation", where="quaternion"
            )
        x, y, z, w = (component / length for component in quaternion)
        rows = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
        x, y, z = position
        return cls((float(x), float(y), float(z)), rows)

    def quaternion(self) -> tuple[float, float, float, float]:
        """Return the rotation as x, y, z, w with w >= 0."""
        (a, b, c), (d, e, f), (g, h, i) = self.rows
        # Start with the largest of the four: the others are divided by it.
        squares = (1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i)
        largest = squares.index(max(squares))
        r = math.sqrt(squares[largest])
        s = 0.5 / r
        x, y, z, w = (
            (r / 2, (b + d) * s, (c + g) * s, (h - f) * s),
            ((b + d) * s, r / 2, (f + h) * s, (c - g) * s),
            ((c + g) * s, (f + h) * s, r / 2, (d - b) * s),
            ((h - f) * s, (c - g) * s, (d - b) * s, r / 2),
        )[largest]
        return (x, y, z, w) if w >= 0 else (-x, -y, -z, -w)

    def axis(self, index: int) -> Vector:
        """Return one of the frame's axes (0: x, 1: y, 2: z) in world coordinates."""
        a, b, c = self.rows
        return (a[index], b[index], c[index])

    def to_local(self, point: Vector) -> Vector:
        """Convert a point in world coordinates to this frame."""
        px, py, pz = self.position
        x, y, z = point[0] - px, point[1] - py, point[2] - pz
        a, b, c = self.rows
        return (
            a[0] * x + b[0] * y + c[0] * z,
            a[1] * x + b[1] * y + c[1] * z,
            a[2] * x + b[2] * y + c[2] * z,
        )

    def to_world(self, point: Vector) -> Vector:
        """Convert a point in this frame to world coordinates."""
        x, y, z = point
        px, py, pz = self.position
        a, b, c = self.rows
        return (
            px + a[0] * x + a[1] * y + a[2] * z,
            py + b[0] * x + b[1] * y + b[2] * z,
            pz + c[0] * x + c[1] * y + c[2] * z,
        )

    def compose(self, mount: Pose) -> Pose:
        """Return the pose in world coordinates of a device mounted on this frame at `mount`."""
        if mount.rows is NO_ROTATION:
            if mount.position == (0.0, 0.0, 0.0):
                return self
            return Pose(self.to_world(mount.position), self.rows)
        (d, e, f), (g, h, i), (j, k, m) = mount.rows
        a, b, c = (
            (x * d + y * g + z * j, x * e + y * h + z * k, x * f + y * i + z * m)
            for x, y, z in self.rows
        )
        return Pose(self.to_world(mount.position), (a, b, c))


IDENTITY = Pose()


class Mount(NamedTuple):
    """Place of a device: the object that carries it, and its pose on that object."""

    object: str
    pose: Pose = IDENTITY
