"""Obstacles between stations, in a grid of cells: a signal meets only those near its way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from hilgw.errors import ConfigError
from hilgw.medium.pose import IDENTITY, Pose, Vector
from hilgw.medium.solids import Box, Capsule, Cylinder, Solid, Sphere, distance_to_origin
from hilgw.settings import setting

SHAPES = ("sphere", "box", "cylinder", "capsule")
_NEEDS = {
    "sphere": ("radius",),
    "box": ("size",),
    "cylinder": ("radius", "height"),
    "capsule": ("radius", "height"),
}
_MOST_CELLS = 512  # an obstacle over more cells is looked at by every signal instead

Cell = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObstacleSettings:
    """One obstacle to infra-red signals. Its owner's signals pass, coming or going."""

    shape: str = setting("its form", choices=SHAPES)
    radius: float | None = setting("sphere, cylinder, capsule", None, gt=0, unit="m")
    height: float | None = setting("cylinder; capsule without its caps", None, gt=0, unit="m")
    size: tuple[float, float, float] | None = setting("box: x, y, z", None, gt=0, unit="m")
    position: tuple[float, float, float] = setting("x, y, z", (0.0, 0.0, 0.0), unit="m")
    rotation: tuple[float, float, float, float] = setting(
        "axis x, y, z and angle", (0.0, 0.0, 1.0, 0.0), unit="rad"
    )
    owner: str | None = setting("robot it is part of; default: the one it is attached to", None)
    attached_to: str | None = setting("robot it moves with; position is on that robot", None)


@dataclass(slots=True, eq=False)
class Obstacle:
    """A solid in the world. body: what it moves with, None when it is fixed."""

    solid: Solid
    mount: Pose = IDENTITY
    owner: str | None = None
    body: str | None = None
    pose: Pose | None = field(default=None, init=False)  # None: its body's place is unknown
    cells: tuple[Cell, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.body is None:
            self.pose = self.mount


def obstacle(settings: ObstacleSettings, upright: int) -> Obstacle:
    """The obstacle these settings describe; `upright`: axis of cylinders and capsules.

    Raises ConfigError, `where` naming the field, for a dimension missing or in excess.
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
            what = "needs" if name in needed else "has no"
            raise ConfigError(f"a {settings.shape} {what} {name}", where=name)
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
    """All obstacles of one medium."""

    def __init__(self) -> None:
        self._all: list[Obstacle] = []
        self._by_body: dict[str, list[Obstacle]] = {}
        self._cells: dict[Cell, list[Obstacle]] = {}
        self._large: list[Obstacle] = []
        self._edge = 0.0  # of a cell; 0: the grid must be built

    def add(self, obstacle: Obstacle, pose: Pose | None = None) -> None:
        """Puts one up; `pose`: where its body is."""
        self._all.append(obstacle)
        if obstacle.body is not None:
            self._by_body.setdefault(obstacle.body, []).append(obstacle)
            obstacle.pose = pose.compose(obstacle.mount) if pose else None
        self._edge = 0.0

    def place(self, body: str, pose: Pose | None) -> None:
        """The body moved; what is attached to it moves along, or blocks nothing (None)."""
        for obstacle in self._by_body.get(body, ()):
            if self._edge:
                self._take_out(obstacle)
            obstacle.pose = pose.compose(obstacle.mount) if pose else None
            if self._edge:
                self._put_in(obstacle)

    def block(self, a: Vector, b: Vector, owners: Collection[str | None]) -> bool:
        """Whether anything but the owners' own structures is on the straight line from a to b."""
        if not self._all:
            return False
        if not self._edge:
            self._build()
        seen: set[int] = set()
        for obstacle in self._near(a, b):
            if id(obstacle) in seen:
                continue
            seen.add(id(obstacle))
            if obstacle.owner is not None and obstacle.owner in owners:
                continue
            if _hit(obstacle, a, b):
                return True
        return False

    def _near(self, a: Vector, b: Vector) -> Iterable[Obstacle]:
        steps = sum(abs(end - start) for start, end in zip(a, b, strict=True)) / self._edge
        if steps > 16 + 4 * len(self._all):
            return self._all
        cells, edge = self._cells, self._edge
        inside = (cells[cell] for cell in _cells_between(a, b, edge) if cell in cells)
        return itertools.chain(self._large, itertools.chain.from_iterable(inside))

    def _build(self) -> None:
        self._cells.clear()
        self._large.clear()
        self._edge = max(0.01, 2 * median(max(each.solid.half) for each in self._all))
        for obstacle in self._all:
            self._put_in(obstacle)

    def _put_in(self, obstacle: Obstacle) -> None:
        obstacle.cells = ()
        if obstacle.pose is None:
            return
        spans = [
            (math.floor(low / self._edge), math.floor(high / self._edge))
            for low, high in _bounds(obstacle.pose, obstacle.solid)
        ]
        if math.prod(last - first + 1 for first, last in spans) > _MOST_CELLS:
            self._large.append(obstacle)
            return
        xs, ys, zs = (range(first, last + 1) for first, last in spans)
        obstacle.cells = tuple(itertools.product(xs, ys, zs))
        for cell in obstacle.cells:
            self._cells.setdefault(cell, []).append(obstacle)

    def _take_out(self, obstacle: Obstacle) -> None:
        if obstacle in self._large:
            self._large.remove(obstacle)
        for cell in obstacle.cells:
            there = self._cells[cell]
            there.remove(obstacle)
            if not there:
                del self._cells[cell]
        obstacle.cells = ()


def _hit(obstacle: Obstacle, a: Vector, b: Vector) -> bool:
    pose = obstacle.pose
    if pose is None:
        return False
    x, y, z = pose.position
    near = (a[0] - x, a[1] - y, a[2] - z)
    far = (b[0] - x, b[1] - y, b[2] - z)
    if distance_to_origin(near, far) > obstacle.solid.radius:
        return False
    return obstacle.solid.meets(pose.to_local(a), pose.to_local(b))


def _bounds(pose: Pose, solid: Solid) -> Iterator[tuple[float, float]]:
    """From where to where the solid's box reaches, on each axis of the world."""
    p, q, r = solid.half
    for centre, (x, y, z) in zip(pose.position, pose.rows, strict=True):
        reach = abs(x) * p + abs(y) * q + abs(z) * r
        yield centre - reach, centre + reach


def _cells_between(a: Vector, b: Vector, edge: float) -> Iterator[Cell]:
    """The cells a segment passes, from a to b: always on to the nearest cell wall."""
    cell = [math.floor(start / edge) for start in a]
    last = [math.floor(end / edge) for end in b]
    turn: list[int] = []
    wall: list[float] = []  # the part of the segment done when the next wall is reached
    pace: list[float] = []  # and the part from wall to wall
    for start, end, here in zip(a, b, cell, strict=True):
        way = end - start
        turn.append(1 if way > 0 else -1)
        pace.append(abs(edge / way) if way else math.inf)
        ahead = (here + (way > 0)) * edge - start
        wall.append(ahead / way if math.floor(end / edge) != here else math.inf)
    yield (cell[0], cell[1], cell[2])
    while cell != last:
        axis = wall.index(min(wall))
        cell[axis] += turn[axis]
        wall[axis] = wall[axis] + pace[axis] if cell[axis] != last[axis] else math.inf
        yield (cell[0], cell[1], cell[2])
