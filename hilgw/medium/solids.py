"""Solids that block infra-red, each in its own frame; all are convex and include their surface.

Dimensions as Webots' Sphere, Box, Cylinder and Capsule: a capsule's height leaves out its caps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from hilgw.medium.pose import Vector

_MISS = (1.0, 0.0)


class Solid(Protocol):
    """half: half extents of the box around it, along the axes of its frame. radius: of the
    sphere around it."""

    @property
    def half(self) -> Vector: ...
    @property
    def radius(self) -> float: ...

    def meets(self, a: Vector, b: Vector) -> bool:
        """Whether the segment from a to b, in the solid's frame, touches or enters it."""


@dataclass(frozen=True, slots=True)
class Sphere:
    """A ball around the origin."""

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
    """All points within `cap_radius` of a stretch of one axis, `height` long."""

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
    """From the origin to the nearest point of the segment."""
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
    """From which t to which |start + t * step| <= half; (1, 0) when never."""
    if step == 0.0:
        return (-math.inf, math.inf) if abs(start) <= half else _MISS
    first, last = (-half - start) / step, (half - start) / step
    return (first, last) if first <= last else (last, first)


def _within_circle(u: float, v: float, du: float, dv: float, radius: float) -> tuple[float, float]:
    """From which t to which |(u, v) + t * (du, dv)| <= radius; (1, 0) when never."""
    a = du * du + dv * dv
    if a == 0.0:
        return (-math.inf, math.inf) if math.hypot(u, v) <= radius else _MISS
    b = u * du + v * dv
    root = b * b - a * (u * u + v * v - radius * radius)
    if root < 0.0:
        return _MISS
    root = math.sqrt(root)
    return ((-b - root) / a, (-b + root) / a)
