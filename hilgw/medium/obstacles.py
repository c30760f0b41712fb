"""Obstacles that block infra-red signals between stations: convex solids, fixed or on a robot.

Dimensions as Webots' Sphere, Box, Cylinder and Capsule; the height of a capsule excludes its caps.
Each obstacle hides a sector as seen from an emitter: a signal is checked only against the
obstacles in its direction, nearest first.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hilgw.errors import ConfigError
from hilgw.medium.obstacle_settings import SHAPES, ObstacleSettings
from hilgw.medium.pose import IDENTITY, Pose, Vector

_NEEDS = {
    "sphere": ("radius",),
    "box": ("size",),
    "cylinder": ("radius", "height"),
    "capsule": ("radius", "height"),
}
_SECTORS = 64
_SECTORS_PER_RAD = _SECTORS / math.tau
_MARGIN_RAD = 1e-9  # for rounding
_MAX_VIEWS = 1024  # cached until an obstacle moves
_EMPTY = (1.0, 0.0)


class Solid(Protocol):
    """A convex solid in its own frame; its surface belongs to it.

    half: half extents of its bounding box along the axes. radius: of its bounding sphere.
    """

    @property
    def half(self) -> Vector: ...
    @property
    def radius(self) -> float: ...

    def meets(self, a: Vector, b: Vector) -> bool:
        """Return whether the segment from a to b, in the solid's frame, touches or enters it."""


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere around the origin."""

    radius: float

    @property
    def half(self) -> Vector:
        return (self.radius, self.radius, self.radius)

    def meets(self, a: Vector, b: Vector) -> bool:
        return distance_to_origin(a, b) <= self.radius


@dataclass(frozen=True, slots=True)
class Box:
    """A box around the origin, `size` along x, y, z."""

    size: Vector

    @property
    def half(self) -> Vector:
        x, y, z = self.size
        return (x / 2, y / 2, z / 2)

    @property
    def radius(self) -> float:
        return math.hypot(*self.half)

    def meets(self, a: Vector, b: Vector) -> bool:
        low, high = 0.0, 1.0
        for start, end, half in zip(a, b, self.half, strict=True):
            enters, leaves = _within(start, end - start, half)
            low, high = max(low, enters), min(high, leaves)
        return low <= high


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder around the origin along one axis (0: x, 1: y, 2: z)."""

    bottom_radius: float
    height: float
    axis: int

    @property
    def half(self) -> Vector:
        return _half(self.axis, self.height / 2, self.bottom_radius)

    @property
    def radius(self) -> float:
        return math.hypot(self.bottom_radius, self.height / 2)

    def meets(self, a: Vector, b: Vector) -> bool:
        along = self.axis
        low, high = _within(a[along], b[along] - a[along], self.height / 2)
        u, v = (along + 1) % 3, (along + 2) % 3
        du, dv = b[u] - a[u], b[v] - a[v]
        enters, leaves = _within_circle(a[u], a[v], du, dv, self.bottom_radius)
        return max(0.0, low, enters) <= min(1.0, high, leaves)


@dataclass(frozen=True, slots=True)
class Capsule:
    """Points within `cap_radius` of a segment of one axis, `height` long."""

    cap_radius: float
    height: float
    axis: int

    @property
    def half(self) -> Vector:
        return _half(self.axis, self.height / 2 + self.cap_radius, self.cap_radius)

    @property
    def radius(self) -> float:
        return self.height / 2 + self.cap_radius

    def meets(self, a: Vector, b: Vector) -> bool:
        if Cylinder(self.cap_radius, self.height, self.axis).meets(a, b):
            return True
        for end in (-self.height / 2, self.height / 2):
            shift = [0.0, 0.0, 0.0]
            shift[self.axis] = end
            x, y, z = shift
            near = (a[0] - x, a[1] - y, a[2] - z)
            far = (b[0] - x, b[1] - y, b[2] - z)
            if distance_to_origin(near, far) <= self.cap_radius:
                return True
        return False


def distance_to_origin(a: Vector, b: Vector) -> float:
    """Return distance from the origin to the segment."""
    ax, ay, az = a
    dx, dy, dz = b[0] - ax, b[1] - ay, b[2] - az
    length2 = dx * dx + dy * dy + dz * dz
    if length2 == 0.0:
        return math.hypot(ax, ay, az)
    t = min(1.0, max(0.0, -(ax * dx + ay * dy + az * dz) / length2))
    return math.hypot(ax + t * dx, ay + t * dy, az + t * dz)


def _half(axis: int, along: float, across: float) -> Vector:
    half = [across, across, across]
    half[axis] = along
    x, y, z = half
    return (x, y, z)


def _within(start: float, step: float, half: float) -> tuple[float, float]:
    """Return the interval of t with |start + t * step| <= half; (1, 0) when empty."""
    if step == 0.0:
        return (-math.inf, math.inf) if abs(start) <= half else _EMPTY
    first, last = (-half - start) / step, (half - start) / step
    return (first, last) if first <= last else (last, first)


def _within_circle(u: float, v: float, du: float, dv: float, radius: float) -> tuple[float, float]:
    """Return the interval of t with |(u, v) + t * (du, dv)| <= radius; (1, 0) when empty."""
    a = du * du + dv * dv
    if a == 0.0:
        return (-math.inf, math.inf) if math.hypot(u, v) <= radius else _EMPTY
    b = u * du + v * dv
    root = b * b - a * (u * u + v * v - radius * radius)
    if root < 0.0:
        return _EMPTY
    root = math.sqrt(root)
    return ((-b - root) / a, (-b + root) / a)


@dataclass(slots=True, eq=False)
class Obstacle:
    """A solid in the scene.

    attached_to: the object it moves with, None: fixed. mount: its pose on that object, or in the
    world. radius: of its bounding sphere. pose: None while unknown.
    """

    solid: Solid
    mount: Pose = IDENTITY
    owner: str | None = None
    attached_to: str | None = None
    pose: Pose | None = field(default=None, init=False)
    radius: float = field(init=False)

    def __post_init__(self) -> None:
        self.radius = self.solid.radius
        if self.attached_to is None:
            self.pose = self.mount


def obstacle(settings: ObstacleSettings, upright: int) -> Obstacle:
    """Return the obstacle of these settings.

    Args:
        upright: axis of cylinders and capsules.

    Raises:
        ConfigError: a dimension is missing or superfluous; `where` is the field.
    """
    needed = _NEEDS.get(settings.shape)
    if needed is None:
        raise ConfigError(
            f"shape {settings.shape!r} does not exist",
            where="shape",
            fix=f"use {', '.join(SHAPES)}",
        )
    for name in ("radius", "height", "size"):
        if (getattr(settings, name) is not None) != (name in needed):
            verb = "needs" if name in needed else "has no"
            raise ConfigError(f"a {settings.shape} {verb} {name}", where=name)
    return Obstacle(
        _solid(settings, upright),
        Pose.from_axis_angle(settings.position, settings.rotation),
        settings.attached_to if settings.owner is None else settings.owner,
        settings.attached_to,
    )


def _solid(settings: ObstacleSettings, upright: int) -> Solid:
    radius, height = settings.radius or 0.0, settings.height or 0.0
    if settings.size is not None:
        return Box(settings.size)
    if settings.shape == "sphere":
        return Sphere(radius)
    kind = Cylinder if settings.shape == "cylinder" else Capsule
    return kind(radius, height, upright)


class Obstacles:
    """Obstacles of one medium.

    upright: the world axis that points up; the sectors divide the plane perpendicular to it.
    """

    def __init__(self, upright: int) -> None:
        self._axes = ((upright + 1) % 3, (upright + 2) % 3)
        self._all: list[Obstacle] = []
        self._by_object: dict[str, list[Obstacle]] = {}
        self._views: dict[tuple[Vector, float], _View] = {}

    def add(self, obstacle: Obstacle, pose: Pose | None = None) -> None:
        """Add an obstacle; `pose` is that of the object it is attached to."""
        self._all.append(obstacle)
        if obstacle.attached_to is not None:
            self._by_object.setdefault(obstacle.attached_to, []).append(obstacle)
            obstacle.pose = pose.compose(obstacle.mount) if pose else None
        self._views.clear()

    def place(self, name: str, pose: Pose | None) -> None:
        """Move the obstacles attached to this object; with None they block nothing."""
        for obstacle in self._by_object.get(name, ()):
            obstacle.pose = pose.compose(obstacle.mount) if pose else None
            self._views.clear()

    def block(
        self, a: Vector, b: Vector, owners: Collection[str | None], reach: float = math.inf
    ) -> bool:
        """Return whether an obstacle is on the straight line from a to b; the owners' never block.

        Args:
            reach: the range of the signals from a; b is not farther away.
        """
        if not self._all:
            return False
        view = self._views.get((a, reach))
        if view is None:
            if len(self._views) >= _MAX_VIEWS:
                self._views.clear()
            view = self._views[a, reach] = _View(a, reach, self._axes, self._all)
        distance = math.dist(a, b)
        for nearest, obstacle, pose in view.towards(b):
            if nearest > distance:
                return False
            own = obstacle.owner is not None and obstacle.owner in owners
            if not own and _hit(obstacle, pose, a, b):
                return True
        return False


class _View:
    """The obstacles as seen from one position: per sector, nearest first."""

    def __init__(
        self, origin: Vector, reach: float, axes: tuple[int, int], obstacles: list[Obstacle]
    ) -> None:
        self._axes = axes
        self._origin = origin
        self._sectors: dict[int, list[tuple[float, Obstacle, Pose]]] = {}
        in_reach = []
        for obstacle in obstacles:
            if obstacle.pose is not None:
                nearest = math.dist(origin, obstacle.pose.position) - obstacle.radius
                if nearest <= reach:
                    in_reach.append((nearest, obstacle, obstacle.pose))
        in_reach.sort(key=lambda each: each[0])
        for entry in in_reach:
            for sector in self._hidden_by(entry[2].position, entry[1].radius):
                self._sectors.setdefault(sector, []).append(entry)

    def towards(self, point: Vector) -> Sequence[tuple[float, Obstacle, Pose]]:
        u, v = self._axes
        angle = math.atan2(point[v] - self._origin[v], point[u] - self._origin[u])
        return self._sectors.get(math.floor(angle * _SECTORS_PER_RAD) % _SECTORS, ())

    def _hidden_by(self, centre: Vector, radius: float) -> Iterable[int]:
        """Return the sectors that the bounding sphere of an obstacle covers.

        All, above and below it.
        """
        u, v = self._axes
        along, across = centre[u] - self._origin[u], centre[v] - self._origin[v]
        level = math.hypot(along, across)
        if level <= radius:
            return range(_SECTORS)
        middle = math.atan2(across, along)
        half = math.asin(radius / level) + _MARGIN_RAD
        first = math.floor((middle - half) * _SECTORS_PER_RAD)
        last = math.floor((middle + half) * _SECTORS_PER_RAD)
        return (sector % _SECTORS for sector in range(first, last + 1))


def _hit(obstacle: Obstacle, pose: Pose, a: Vector, b: Vector) -> bool:
    x, y, z = pose.position
    near = (a[0] - x, a[1] - y, a[2] - z)
    far = (b[0] - x, b[1] - y, b[2] - z)
    if distance_to_origin(near, far) > obstacle.radius:
        return False
    return obstacle.solid.meets(pose.to_local(a), pose.to_local(b))
