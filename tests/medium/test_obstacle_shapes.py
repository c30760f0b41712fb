"""Segments against solids, checked with points along the segment."""

import math

import pytest
from hypothesis import assume, given, strategies as st

from hilgw.medium.obstacles import Box, Capsule, Cylinder, Solid, Sphere
from hilgw.medium.pose import Vector

COORDINATE = st.floats(-3, 3, allow_nan=False)
POINT = st.tuples(COORDINATE, COORDINATE, COORDINATE)
SIZE = st.floats(0.05, 2)
AXIS = st.integers(0, 2)
SOLID = st.one_of(
    st.builds(Sphere, SIZE),
    st.builds(Box, st.tuples(SIZE, SIZE, SIZE)),
    st.builds(Cylinder, SIZE, SIZE, AXIS),
    st.builds(Capsule, SIZE, SIZE, AXIS),
)


def outside(solid: Solid, point: Vector) -> float:
    """How far a point is outside a solid; negative inside. Written from the definitions."""
    if isinstance(solid, Sphere):
        return math.hypot(*point) - solid.radius
    if isinstance(solid, Box):
        return max(abs(p) - s / 2 for p, s in zip(point, solid.size, strict=True))
    assert isinstance(solid, Cylinder | Capsule)
    across = math.hypot(*(point[axis] for axis in range(3) if axis != solid.axis))
    along = abs(point[solid.axis])
    if isinstance(solid, Cylinder):
        return max(across - solid.bottom_radius, along - solid.height / 2)
    return math.hypot(across, max(0.0, along - solid.height / 2)) - solid.cap_radius


def clearance(solid: Solid, a: Vector, b: Vector) -> float:
    """The least of `outside` along the segment: `outside` is convex there, so a ternary search."""

    def at(t: float) -> float:
        x, y, z = (p + t * (q - p) for p, q in zip(a, b, strict=True))
        return outside(solid, (x, y, z))

    low, high = 0.0, 1.0
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if at(left) < at(right):
            high = right
        else:
            low = left
    return min(at(0.0), at(1.0), at((low + high) / 2))


@given(SOLID, POINT, POINT)
def test_a_segment_meets_a_solid_where_it_comes_inside(solid: Solid, a: Vector, b: Vector) -> None:
    clear = clearance(solid, a, b)
    assume(abs(clear) > 1e-6)
    assert solid.meets(a, b) == (clear < 0)
    assert solid.meets(b, a) == (clear < 0)


@given(SOLID, POINT)
def test_the_box_and_the_sphere_around_a_solid_hold_it(solid: Solid, point: Vector) -> None:
    if outside(solid, point) <= 0:
        assert math.hypot(*point) <= solid.radius + 1e-9
        assert all(abs(p) <= half + 1e-9 for p, half in zip(point, solid.half, strict=True))


@pytest.mark.parametrize("solid", [Sphere(1.0), Box((2.0, 2.0, 2.0)), Cylinder(1.0, 2.0, 2)])
def test_cases_that_are_plain(solid: Solid) -> None:
    assert solid.meets((-5, 0, 0), (5, 0, 0))
    assert solid.meets((0, 0, 0), (0, 0, 0))
    assert solid.meets((0, 0, 0), (5, 0, 0))  # begins inside
    assert not solid.meets((-5, 0, 0), (-2, 0, 0))  # ends before it
    assert not solid.meets((2, 0, 0), (2, 0, 0))
    assert not solid.meets((-5, 2, 0), (5, 2, 0))  # beside it
    assert not solid.meets((2, 0, -5), (2, 0, 5))
    assert solid.meets((-5, 1, 0), (5, 1, 0))  # the surface belongs to it


def test_a_capsule_is_longer_than_its_cylinder() -> None:
    above: tuple[Vector, Vector] = ((-5, 0, 1.4), (5, 0, 1.4))
    assert Capsule(0.5, 2.0, 2).meets(*above)
    assert not Cylinder(0.5, 2.0, 2).meets(*above)
    assert not Capsule(0.5, 2.0, 1).meets(*above)
