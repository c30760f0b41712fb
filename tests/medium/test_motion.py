"""Poses and motions over time, and the datagrams of motion capture."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.medium.mocap import decode, encode
from hilgw.medium.motion import Circle, Motion, TimedPoses, Waypoints, read_timed_poses
from hilgw.medium.pose import Pose, Vector

S = 1_000_000_000


def close(a: Vector, b: Vector) -> bool:
    return math.dist(a, b) < 1e-6


def test_a_circle_with_z_up_goes_from_x_to_y() -> None:
    circle = Circle(center=(1, 2, 3), radius=2, period_s=8)
    assert close(circle.at(0, 2).position, (3, 2, 3))
    assert close(circle.at(2 * S, 2).position, (1, 4, 3))
    assert close(circle.at(0, 2).axis(0), (0, 1, 0))
    assert close(circle.at(8 * S * 10**9, 2).position, (3, 2, 3))  # 250 years later
    back = Circle(center=(1, 2, 3), radius=2, period_s=-8)
    assert close(back.at(2 * S, 2).position, (1, 0, 3))
    assert close(back.at(0, 2).axis(0), (0, -1, 0))
    assert close(
        Circle(center=(0, 0, 0), radius=1, phase_rad=math.pi).at(0, 2).position, (-1, 0, 0)
    )


def test_a_circle_with_y_up_stays_level() -> None:
    circle = Circle(center=(0, 5, 0), radius=2, period_s=8)
    assert close(circle.at(2 * S, 1).position, (0, 5, -2))
    assert close(circle.at(0, 1).axis(2), (0, 0, -1))
    assert close(circle.at(0, 1).axis(1), (0, 1, 0))


@given(
    st.sampled_from(
        [
            (Circle(center=(1, 2, 3), radius=2, period_s=5), 2),
            (Circle(center=(1, 2, 3), radius=2, period_s=-5, phase_rad=1), 1),
            (Waypoints(points=((0, 0, 0), (3, 0, 1), (3, 4, 1)), speed=2), 2),
            (Waypoints(points=((0, 0, 0), (3, 1, 0), (3, 1, 4)), speed=2), 1),
        ]
    ),
    st.integers(0, 100 * S),
)
def test_it_looks_where_it_goes_in_a_right_handed_frame(
    moving: tuple[Motion, int], now: int
) -> None:
    motion, up = moving
    here, soon = motion.at(now, up), motion.at(now + 1000, up)
    way = [b - a for a, b in zip(here.position, soon.position, strict=True)]
    way[up] = 0.0
    length = math.hypot(*way)
    ahead = here.axis(0 if up == 2 else 2)
    if soon.rows == here.rows or isinstance(motion, Circle):  # not across a corner
        assert math.dist(ahead, [each / length for each in way]) < 1e-3
    (a, b, c), (d, e, f), (g, h, i) = here.rows
    assert math.isclose(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g), 1)


def test_waypoints() -> None:
    once = Waypoints(points=((0, 0, 0), (4, 0, 0), (4, 3, 0)), speed=1, closed=False)
    assert close(once.at(2 * S, 2).position, (2, 0, 0))
    assert close(once.at(5 * S, 2).position, (4, 1, 0))
    assert close(once.at(5 * S, 2).axis(0), (0, 1, 0))
    assert close(once.at(99 * S, 2).position, (4, 3, 0))
    round_again = Waypoints(points=((0, 0, 0), (4, 0, 0), (4, 3, 0)), speed=1)
    assert close(round_again.at((7 + 5) * S, 2).position, (0, 0, 0))
    assert close(round_again.at((12 * 10**6 + 2) * S, 2).position, (2, 0, 0))
    assert close(Waypoints(points=((1, 2, 3),)).at(5 * S, 2).position, (1, 2, 3))
    assert close(Waypoints(points=((1, 2, 3), (1, 2, 3))).at(S, 2).position, (1, 2, 3))
    up = Waypoints(points=((0, 0, 0), (0, 0, 5)), speed=1, closed=False)
    assert close(up.at(S, 2).position, (0, 0, 1))


def test_timed_poses_move_and_turn_evenly_and_stay_at_the_ends() -> None:
    half = math.sqrt(0.5)
    motion = TimedPoses((S, 3 * S), ((0, 0, 0), (2, 0, 0)), ((0, 0, 0, 1), (0, 0, -half, -half)))
    assert close(motion.at(0, 2).position, (0, 0, 0))
    assert close(motion.at(2 * S, 2).position, (1, 0, 0))
    assert close(motion.at(2 * S, 2).axis(0), (half, half, 0))  # the short way
    eighth = math.pi / 8
    assert close(motion.at(3 * S // 2, 2).axis(0), (math.cos(eighth), math.sin(eighth), 0))
    assert close(motion.at(9 * S, 2).position, (2, 0, 0))
    assert close(motion.at(9 * S, 2).axis(0), (0, 1, 0))


def test_a_file_of_timed_poses() -> None:
    text = """time_s,name,x,y,z,qx,qy,qz,qw
# two bodies
0,rover,0,0,0,0,0,0,1
0.5,buoy,9,9,9,0,0,0,1

2.0, rover ,4,0,0,0,0,0,1
"""
    motions = read_timed_poses(text, "poses.csv")
    assert set(motions) == {"rover", "buoy"}
    assert close(motions["rover"].at(S, 2).position, (2, 0, 0))
    assert close(motions["buoy"].at(S, 2).position, (9, 9, 9))
    assert read_timed_poses("", "poses.csv") == {}
    assert set(read_timed_poses("\ufeff" + text.replace("\n", "\r\n"), "x")) == {"rover", "buoy"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("0,rover,0,0,0,0,0,1\n", "poses.csv:1:1"),
        ("# x\n0,rover,0,0,zero,0,0,0,1\n", "poses.csv:2:13"),
        ("0,rover,0,0,0,0,0,0,0\n", "poses.csv:1:15"),
        ("nan,rover,0,0,0,0,0,0,1\n", "poses.csv:1:1"),
        ("inf,rover,0,0,0,0,0,0,1\n", "poses.csv:1:1"),
        ("0,rover,0,inf,0,0,0,0,1\n", "poses.csv:1:11"),
        ("0,rover,0,2e9,0,0,0,0,1\n", "poses.csv:1:9"),
        ("1,rover,0,0,0,0,0,0,1\n1,rover,0,0,0,0,0,0,1\n", "poses.csv:2:1"),
        ("\x00\xff", "poses.csv:1:1"),
    ],
)
def test_a_file_that_is_none_names_line_and_column(text: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_timed_poses(text, "poses.csv")
    assert caught.value.where == where


@given(st.text())
def test_no_text_does_worse_than_a_config_error(text: str) -> None:
    with suppress(ConfigError):
        read_timed_poses(text, "poses.csv")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Circle(center=(0, 0, 0), radius=1, period_s=0),
        lambda: Circle(center=(0, 0, 0), radius=1, period_s=math.inf),
        lambda: Circle(center=(0, 0, 0), radius=math.nan),
        lambda: Circle(center=(0, 0, 0), radius=1, phase_rad=math.nan),
        lambda: Waypoints(points=()),
        lambda: TimedPoses((), (), ()),
        lambda: TimedPoses((2, 1), ((0, 0, 0),) * 2, ((0, 0, 0, 1),) * 2),
        lambda: TimedPoses((1, 1), ((0, 0, 0),) * 2, ((0, 0, 0, 1),) * 2),
        lambda: TimedPoses((1,), ((0, 0, 0),), ((0, 0, 0, 0),)),
    ],
)
def test_motions_that_are_none(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()


NUMBER = st.floats(-100, 100, allow_nan=False)
POINT = st.tuples(NUMBER, NUMBER, NUMBER)
POSE = st.builds(
    lambda point, axis, angle: Pose.from_axis_angle(point, (*axis, angle)),
    POINT,
    st.sampled_from([(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (1.0, -2.0, 3.0), (0.0, 1e-3, 0.0)]),
    st.floats(-7, 7),
)


def equal(a: Vector, b: Vector) -> bool:
    return math.dist(a, b) < 1e-9 * (1 + math.hypot(*a))


def test_a_quarter_turn_round_z_takes_x_to_y() -> None:
    pose = Pose.from_axis_angle((10, 0, 0), (0, 0, 2, math.pi / 2))
    assert equal(pose.to_world((1, 0, 0)), (10, 1, 0))
    assert equal(pose.to_local((10, 5, 1)), (5, 0, 1))
    assert equal(pose.axis(0), (0, 1, 0))
    assert equal(pose.axis(2), (0, 0, 1))
    half = math.sqrt(0.5)
    assert equal(Pose.from_quaternion((0, 0, 0), (0, 0, half, half)).axis(0), (0, 1, 0))


@given(POSE, POINT)
def test_there_and_back(pose: Pose, point: Vector) -> None:
    assert equal(point, pose.to_local(pose.to_world(point)))


@given(POSE, POSE, POINT)
def test_a_mount_on_a_body(body: Pose, mount: Pose, point: Vector) -> None:
    expected = body.to_world(mount.to_world(point))
    assert equal(expected, body.compose(mount).to_world(point))
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
@example((0.9, 0.3, -0.2, 0.1))
@example((0.3, 0.9, -0.2, 0.1))
@example((0.3, -0.2, 0.9, 0.1))
@example((0.3, -0.2, 0.1, 0.9))
@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: math.hypot(*q) > 0.01))
def test_a_rotation_as_a_quaternion_and_back(quaternion: tuple[float, float, float, float]) -> None:
    pose = Pose.from_quaternion((1.0, 2.0, 3.0), quaternion)
    result = pose.quaternion()
    assert result[3] >= 0
    assert math.isclose(math.hypot(*result), 1)
    again = Pose.from_quaternion((1.0, 2.0, 3.0), result)
    for row, other in zip(pose.rows, again.rows, strict=True):
        assert math.dist(row, other) < 1e-9


METRES = st.floats(-1000, 1000, allow_nan=False)
UNIT = st.sampled_from([(0.0, 0.0, 0.0, 1.0), (0.5, 0.5, 0.5, 0.5), (0.0, 1.0, 0.0, 0.0)])


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.tuples(METRES, METRES, METRES, UNIT).map(lambda it: (*it[:3], *it[3])),
        max_size=4,
    )
)
def test_datagrams_there_and_back(bodies: dict[str, tuple[float, ...] | None]) -> None:
    poses = decode(encode(bodies))
    assert list(poses) == list(bodies)
    for name, numbers in bodies.items():
        pose = poses[name]
        assert (pose is None) == (numbers is None)
        if pose is not None and numbers is not None:
            assert pose.position == numbers[:3]


def test_the_quaternion_is_x_y_z_w() -> None:
    half = math.sqrt(0.5)
    pose = decode(json.dumps({"rover": [0, 0, 0, 0, 0, half, half]}).encode())["rover"]
    assert pose is not None
    assert math.dist(pose.axis(0), (0, 1, 0)) < 1e-9


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"a": [1, 2, 3]}',
        b'{"a": [0, 0, 0, 0, 0, 0, 0]}',
        b'{"a": [0, 0, 0, 0, 0, 0, "1"]}',
        b'{"a": [true, 0, 0, 0, 0, 0, 1]}',
        b'{"a": [NaN, 0, 0, 0, 0, 0, 1]}',
        b'{"a": [0, 0, Infinity, 0, 0, 0, 1]}',
        b'{"a": [0, 0, 1' + b"0" * 400 + b", 0, 0, 0, 1]}",
        b'{"good": [0, 0, 0, 0, 0, 0, 1], "bad": 5}',
        b"[" * 100_000,
    ],
)
def test_anything_else_is_refused_whole(datagram: bytes) -> None:
    with pytest.raises(FrameError):
        decode(datagram)


@given(st.binary())
def test_no_bytes_do_worse_than_a_frame_error(datagram: bytes) -> None:
    with suppress(FrameError):
        decode(datagram)
