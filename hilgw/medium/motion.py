"""Scripted motions of objects: pure functions from time to pose.

A moving object faces its direction of travel: with its x axis where z is up (worlds since R2022a),
with its z axis where y is up (before). `up` is 2 or 1 accordingly; see
`hilgw.devices.nodes.upright_axis`.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from hilgw.errors import ConfigError
from hilgw.medium.pose import LARGEST_M, Pose, Vector, check_position
from hilgw.settings import setting

_NS_PER_S = 1_000_000_000

Quaternion = tuple[float, float, float, float]

_TITLES = ("time_s", "name", "x", "y", "z", "qx", "qy", "qz", "qw")
_ROW = "write " + ",".join(_TITLES)


class Motion(Protocol):
    """A scripted motion: `Circle`, `Waypoints` or `TimedPoses`."""

    def at(self, elapsed_ns: int, up: int) -> Pose:
        """Return the pose at this time after the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A horizontal circle at constant speed, counterclockwise seen from above."""

    center: tuple[float, float, float] = setting(
        "centre", unit="m", example=[0, 0, 0], ge=-1_000_000_000, le=1_000_000_000
    )
    radius: float = setting("radius", ge=0, le=LARGEST_M, unit="m", example=2)
    period_s: float = setting(
        "time for one turn; negative: clockwise", 10.0, ge=-1e9, le=1e9, unit="s"
    )
    phase_rad: float = setting(
        "start angle, from the x axis", 0.0, unit="rad", ge=-1_000_000_000, le=1_000_000_000
    )

    def __post_init__(self) -> None:
        if self.period_s == 0:
            raise ConfigError("the period is 0", where="period_s", fix="e.g. 10")
        for name in ("radius", "period_s", "phase_rad"):
            if not abs(getattr(self, name)) <= LARGEST_M:
                raise ConfigError(f"{getattr(self, name):g} is out of range", where=name)
        check_position(self.center, "center")

    def at(self, elapsed_ns: int, up: int) -> Pose:
        # Whole turns are removed in integers, so precision does not decrease with time.
        period_ns = max(1, round(abs(self.period_s) * _NS_PER_S))
        turn = math.copysign(1.0, self.period_s)
        angle = self.phase_rad + turn * (elapsed_ns % period_ns) / period_ns * math.tau
        out = _horizontal(math.cos(angle), math.sin(angle), up)
        ahead = _horizontal(-turn * math.sin(angle), turn * math.cos(angle), up)
        x, y, z = (c + self.radius * o for c, o in zip(self.center, out, strict=True))
        return Pose((x, y, z), _facing(ahead, up))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waypoints:
    """From point to point at constant speed; then back to the first, or stop at the last."""

    points: tuple[tuple[float, float, float], ...] = setting(
        "positions in order, the first is the start",
        unit="m",
        example=[[0, 0, 0], [4, 0, 0]],
        ge=-1_000_000_000,
        le=1_000_000_000,
    )
    speed: float = setting("speed", 0.5, gt=0, le=1e6, unit="m/s")
    closed: bool = setting("repeat: return from the last point to the first", True)

    def __post_init__(self) -> None:
        if not self.points:
            raise ConfigError("no points", where="points", fix="add at least one point")
        for point in self.points:
            check_position(point, "points")

    def at(self, elapsed_ns: int, up: int) -> Pose:
        points = (*self.points, self.points[0]) if self.closed else self.points
        legs = [(a, b, math.dist(a, b)) for a, b in pairwise(points) if a != b]
        if not legs:
            return Pose(_floats(self.points[0]))
        total = math.fsum(length for _, _, length in legs)
        travelled = self.speed * elapsed_ns / _NS_PER_S
        travelled = math.fmod(travelled, total) if self.closed else min(travelled, total)
        for start, end, length in legs:
            if travelled <= length:
                return Pose(_between(start, end, travelled / length), _heading(start, end, up))
            travelled -= length
        start, end, _ = legs[-1]
        return Pose(_floats(end), _heading(start, end, up))


@dataclass(frozen=True, slots=True)
class TimedPoses:
    """Poses at given times, interpolated in between; constant before the first and after the last.

    times_ns must ascend. Raises ConfigError when they do not, or when there are none.
    """

    times_ns: tuple[int, ...]
    positions: tuple[Vector, ...]
    quaternions: tuple[Quaternion, ...]  # x, y, z, w

    def __post_init__(self) -> None:
        if not self.times_ns:
            raise ConfigError("no poses")
        if any(later <= earlier for earlier, later in pairwise(self.times_ns)):
            raise ConfigError("times do not ascend")
        for position, quaternion in zip(self.positions, self.quaternions, strict=True):
            Pose.from_quaternion(position, quaternion)

    def at(self, elapsed_ns: int, up: int) -> Pose:
        after = bisect_right(self.times_ns, elapsed_ns)
        if after in (0, len(self.times_ns)):
            index = min(after, len(self.times_ns) - 1)
            return Pose.from_quaternion(self.positions[index], self.quaternions[index])
        before = after - 1
        begin, end = self.times_ns[before], self.times_ns[after]
        part = (elapsed_ns - begin) / (end - begin)
        return Pose.from_quaternion(
            _between(self.positions[before], self.positions[after], part),
            _slerp(self.quaternions[before], self.quaternions[after], part),
        )


def read_timed_poses(text: str, where: str) -> dict[str, TimedPoses]:
    """Return the motions in a file of timed poses, by object.

    Lines `time_s,name,x,y,z,qx,qy,qz,qw`, metres and a quaternion. Empty lines, lines that begin
    with #, a header line and a byte order mark are skipped.

    Raises:
        ConfigError: a line is invalid, with line and column.
    """
    rows: dict[str, list[tuple[int, Vector, Quaternion]]] = {}
    for line, row in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not row.strip() or row.lstrip().startswith(("#", "time_s")):
            continue
        try:
            name, pose = _timed_pose(row)
            earlier = rows.setdefault(name, [])
            if earlier and pose[0] <= earlier[-1][0]:
                raise ConfigError(f"{name}: times do not ascend", where="1")
        except ConfigError as error:
            raise ConfigError(error.what, where=f"{where}:{line}:{error.where}", fix=_ROW) from None
        earlier.append(pose)
    return {name: TimedPoses(*zip(*poses, strict=True)) for name, poses in rows.items()}


def _timed_pose(row: str) -> tuple[str, tuple[int, Vector, Quaternion]]:
    """Return the object and the pose of one line.

    Raises:
        ConfigError: the line is invalid; `where` is the column.
    """
    fields = row.split(",")
    columns = [1 + sum(len(field) + 1 for field in fields[:i]) for i in range(len(fields))]
    if len(fields) != len(_TITLES):
        raise ConfigError(f"not a timed pose: {row.strip()[:60]!r}", where="1")
    numbers = []
    for title, field, column in zip(_TITLES, fields, columns, strict=True):
        if title != "name":
            try:
                numbers.append(float(field))
            except ValueError:
                numbers.append(math.nan)
            if not math.isfinite(numbers[-1]):
                raise ConfigError(
                    f"{title} {field.strip()[:40]!r} is not a number", where=str(column)
                )
    time_s, x, y, z, qx, qy, qz, qw = numbers
    try:
        Pose.from_quaternion((x, y, z), (qx, qy, qz, qw))
    except ConfigError as error:
        first = "x" if error.where == "position" else "qx"
        raise ConfigError(error.what, where=str(columns[_TITLES.index(first)])) from None
    return fields[1].strip(), (round(time_s * _NS_PER_S), (x, y, z), (qx, qy, qz, qw))


def _horizontal(right: float, ahead: float, up: int) -> Vector:
    """Return the horizontal direction of `right` along x and `ahead` to its left, from above."""
    return (right, ahead, 0.0) if up == 2 else (right, 0.0, -ahead)


def _facing(ahead: Vector, up: int) -> tuple[Vector, Vector, Vector]:
    """Return the rotation whose forward axis is this horizontal unit vector."""
    x, y, z = ahead
    if up == 2:
        return ((x, -y, 0.0), (y, x, 0.0), (0.0, 0.0, 1.0))
    return ((z, 0.0, x), (0.0, 1.0, 0.0), (-x, 0.0, z))


def _heading(start: Vector, end: Vector, up: int) -> tuple[Vector, Vector, Vector]:
    """Return the rotation that faces from start to end, horizontally; none for a vertical leg."""
    x, y, z = (b - a for a, b in zip(start, end, strict=True))
    side = y if up == 2 else z
    length = math.hypot(x, side)
    if length == 0.0:
        return Pose().rows
    ahead = (x / length, y / length, 0.0) if up == 2 else (x / length, 0.0, z / length)
    return _facing(ahead, up)


def _between(a: Vector, b: Vector, part: float) -> Vector:
    x, y, z = (p + part * (q - p) for p, q in zip(a, b, strict=True))
    return (x, y, z)


def _floats(point: Vector) -> Vector:
    x, y, z = point
    return (float(x), float(y), float(z))


def _slerp(a: Quaternion, b: Quaternion, part: float) -> Quaternion:
    a, b = _unit(a), _unit(b)
    cosine = sum(p * q for p, q in zip(a, b, strict=True))
    sign = -1.0 if cosine < 0 else 1.0
    angle = math.acos(min(1.0, abs(cosine)))
    if angle < 1e-6:
        first, second = 1.0 - part, part
    else:
        first = math.sin((1 - part) * angle) / math.sin(angle)
        second = math.sin(part * angle) / math.sin(angle)
    x, y, z, w = (first * p + sign * second * q for p, q in zip(a, b, strict=True))
    return (x, y, z, w)


def _unit(q: Quaternion) -> Quaternion:
    length = math.hypot(*q)
    x, y, z, w = (component / length for component in q)
    return (x, y, z, w)
