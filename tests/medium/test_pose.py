"""Poses: direction and composition of rotations, invalid input."""

import math

import pytest
from hypothesis import example, given, strategies as st

from hilgw.errors import ConfigError
from hilgw.medium.pose import Pose, Vector

NUMBER = st.floats(-100, 100, allow_nan=False)
POINT = st.tuples(NUMBER, NUMBER, NUMBER)
POSE = st.builds(
    lambda point, axis, angle: Pose.from_axis_angle(point, (*axis, angle)),
    POINT,
    st.sampled_from([(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (1.0, -2.0, 3.0), (0.0, 1e-3, 0.0)]),
    st.floats(-7, 7),
)


def close(a: Vector, b: Vector) -> bool:
    return math.dist(a, b) < 1e-9 * (1 + math.hypot(*a))


def test_a_quarter_turn_round_z_takes_x_to_y() -> None:
    pose = Pose.from_axis_angle((10, 0, 0), (0, 0, 2, math.pi / 2))
    assert close(pose.to_world((1, 0, 0)), (10, 1, 0))
    assert close(pose.to_local((10, 5, 1)), (5, 0, 1))
    assert close(pose.axis(0), (0, 1, 0))
    assert close(pose.axis(2), (0, 0, 1))
    half = math.sqrt(0.5)
    assert close(Pose.from_quaternion((0, 0, 0), (0, 0, half, half)).axis(0), (0, 1, 0))


@given(POSE, POINT)
def test_there_and_back(pose: Pose, point: Vector) -> None:
    assert close(point, pose.to_local(pose.to_world(point)))


@given(POSE, POSE, POINT)
def test_a_mount_on_a_body(body: Pose, mount: Pose, point: Vector) -> None:
    expected = body.to_world(mount.to_world(point))
    assert close(expected, body.compose(mount).to_world(point))
    assert body.compose(Pose()) is body


@pytest.mark.parametrize("part", [0.0, 5e-324, math.nan, math.inf, 1e308])
def test_what_is_not_a_rotation(part: float) -> None:
    with pytest.raises(ConfigError):
        Pose.from_quaternion((0, 0, 0), (part, part, part, part))
    if part != 1e308:
        with pytest.raises(ConfigError):
            Pose.from_axis_angle((0, 0, 0), (part, part, part, 1))


@pytest.mark.parametrize("far", [1.1e9, -2e300, math.inf, math.nan])
def test_what_is_not_a_position(far: float) -> None:
    with pytest.raises(ConfigError, match="is not a valid position"):
        Pose.from_axis_angle((0.0, far, 0.0), (0, 0, 1, 0))
    with pytest.raises(ConfigError, match="is not a valid position"):
        Pose.from_quaternion((0.0, 0.0, far), (0, 0, 0, 1))
    with pytest.raises(ConfigError):
        Pose.from_axis_angle((0, 0, 0), (0, 0, 1, math.inf))


@example((1.0, 0.0, 0.0, 0.0))
@example((0.0, 1.0, 0.0, 0.0))
@example((0.0, 0.0, 1.0, 0.0))
@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: math.hypot(*q) > 0.01))
def test_a_rotation_as_a_quaternion_and_back(quaternion: tuple[float, float, float, float]) -> None:
    pose = Pose.from_quaternion((1.0, 2.0, 3.0), quaternion)
    found = pose.quaternion()
    assert found[3] >= 0
    assert math.isclose(math.hypot(*found), 1)
    again = Pose.from_quaternion((1.0, 2.0, 3.0), found)
    for row, other in zip(pose.rows, again.rows, strict=True):
        assert math.dist(row, other) < 1e-9
