"""Frames compose as the poses of the medium do, which an independent module computes."""

import math

import pytest
from hypothesis import given, strategies as st

from hilgw.medium.pose import Pose
from hilgw.worlds.frames import NO_ROTATION, WORLD, Rotation, Vector

number = st.floats(-10, 10)
vectors = st.tuples(number, number, number)
axes = vectors.filter(lambda each: math.hypot(*each) > 0.1)
angles = st.one_of(st.floats(-7, 7), st.sampled_from([0.0, math.pi, -math.pi, 3.14159, 3.1415]))
rotations = st.tuples(axes, angles).map(lambda each: (*each[0], each[1]))
ONE = (1.0, 1.0, 1.0)


def same(position: Vector, rotation: Rotation, pose: Pose) -> None:
    made = Pose.from_axis_angle(position, rotation)
    assert made.position == pytest.approx(pose.position, abs=1e-7)
    for row, expected in zip(made.rows, pose.rows, strict=True):
        assert row == pytest.approx(expected, abs=1e-7)


@given(vectors, rotations, vectors, rotations)
def test_frames_compose_as_poses(a: Vector, turn_a: Rotation, b: Vector, turn_b: Rotation) -> None:
    outer = WORLD.child(a, turn_a, ONE)
    inner = outer.child(b, turn_b, ONE)
    one, two = Pose.from_axis_angle(a, turn_a), Pose.from_axis_angle(b, turn_b)
    same(*inner.pose(), one.compose(two))
    same(*inner.seen_from(outer), two)


def test_a_rotation_without_an_axis_is_none() -> None:
    assert WORLD.child((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0), ONE).pose()[1] == NO_ROTATION
