"""Obstacles: sectors agree with a check of every obstacle; owners, attachment, settings."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError
from hilgw.medium.obstacle_settings import ObstacleSettings
from hilgw.medium.obstacles import (
    Box,
    Capsule,
    Cylinder,
    Obstacle,
    Obstacles,
    Sphere,
    obstacle,
)
from hilgw.medium.pose import Pose, Vector

PLACE = st.floats(-10, 10, allow_nan=False) | st.integers(-10, 10).map(float)
POINT = st.tuples(PLACE, PLACE, PLACE)
SIZE = st.sampled_from([0.01, 0.5, 1.0, 4.0, 30.0])
SOLID = st.one_of(
    st.builds(Sphere, SIZE),
    st.builds(Box, st.tuples(SIZE, SIZE, SIZE)),
    st.builds(Cylinder, SIZE, SIZE, st.integers(0, 2)),
    st.builds(Capsule, SIZE, SIZE, st.integers(0, 2)),
)
POSE = st.builds(
    Pose.from_quaternion,
    POINT,
    st.sampled_from([(0, 0, 0, 1), (0, 0, 1, 1), (1, 2, 3, 4), (0.1, -0.2, 0, 0.3)]),
)


@given(
    st.lists(st.tuples(SOLID, POSE), max_size=12),
    st.lists(st.tuples(POINT, POINT), min_size=1, max_size=12),
    st.lists(POSE, max_size=3),
    st.integers(0, 2),
    st.booleans(),
)
def test_sectors_find_what_looking_at_each_finds(
    solids: list[tuple[Any, Pose]],
    ways: list[tuple[Vector, Vector]],
    moves: list[Pose],
    upright: int,
    endless: bool,
) -> None:
    obstacles = Obstacles(upright)
    for index, (solid, pose) in enumerate(solids):
        obstacles.add(Obstacle(solid, pose, attached_to="cart" if index % 2 else None), Pose())
    poses = [pose for _, pose in solids]
    for cart in [Pose(), *moves]:
        obstacles.place("cart", cart)
        there = [cart.compose(pose) if index % 2 else pose for index, pose in enumerate(poses)]
        for a, b in ways:
            expected = any(
                solid.meets(pose.to_local(a), pose.to_local(b))
                for (solid, _), pose in zip(solids, there, strict=True)
            )
            reach = math.inf if endless else math.dist(a, b)
            assert obstacles.block(a, b, (), reach) == expected


def test_ones_own_structure_never_blocks() -> None:
    obstacles = Obstacles(2)
    obstacles.add(Obstacle(Sphere(1.0), owner="rover"))
    way: tuple[Vector, Vector] = ((-5, 0, 0), (5, 0, 0))
    assert obstacles.block(*way, (None, "buoy"))
    assert not obstacles.block(*way, ("rover", "buoy"))
    assert not obstacles.block(*way, (None, "rover"))
    obstacles.add(Obstacle(Sphere(1.0)))
    assert obstacles.block(*way, ("rover", None))  # an obstacle without owner blocks all


def test_an_attached_obstacle_moves_with_its_robot_and_blocks_nothing_when_that_is_lost() -> None:
    obstacles = Obstacles(2)
    obstacles.add(Obstacle(Sphere(0.5), Pose((1.0, 0.0, 0.0)), attached_to="rover"))
    obstacles.add(Obstacle(Sphere(0.1), Pose((0.0, 50.0, 0.0))))
    way: tuple[Vector, Vector] = ((0, -5, 0), (0, 5, 0))
    assert not obstacles.block(*way, ())
    obstacles.place("rover", Pose.from_axis_angle((0.0, -1.0, 0.0), (0, 0, 1, math.pi / 2)))
    assert obstacles.block(*way, ())
    obstacles.place("rover", Pose((5.0, 0.0, 0.0)))
    assert not obstacles.block(*way, ())
    obstacles.place("rover", Pose((-1.0, 0.0, 0.0)))
    assert obstacles.block(*way, ())
    obstacles.place("rover", None)
    assert not obstacles.block(*way, ())


def test_settings_become_solids() -> None:
    made = obstacle(ObstacleSettings(shape="box", size=(1.0, 2.0, 3.0)), 2)
    assert made.solid == Box((1.0, 2.0, 3.0))
    assert (made.owner, made.attached_to, made.pose) == (None, None, made.mount)
    made = obstacle(
        ObstacleSettings(shape="capsule", radius=0.1, height=2.0, attached_to="rover"), 1
    )
    assert made.solid == Capsule(0.1, 2.0, 1)
    assert (made.owner, made.attached_to, made.pose) == ("rover", "rover", None)
    made = obstacle(ObstacleSettings(shape="sphere", radius=0.1, attached_to="a", owner="b"), 2)
    assert (made.owner, made.attached_to) == ("b", "a")
    assert obstacle(ObstacleSettings(shape="cylinder", radius=1.0, height=2.0), 2).solid == (
        Cylinder(1.0, 2.0, 2)
    )


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"shape": "cone", "radius": 1.0}, "shape"),
        ({"shape": "sphere"}, "radius"),
        ({"shape": "box", "radius": 1.0}, "radius"),
        ({"shape": "box"}, "size"),
        ({"shape": "cylinder", "radius": 1.0}, "height"),
        ({"shape": "sphere", "radius": 1.0, "height": 1.0}, "height"),
        ({"shape": "sphere", "radius": 1.0, "rotation": (0.0, 0.0, 0.0, 1.0)}, "rotation"),
    ],
)
def test_settings_that_describe_nothing(settings: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        obstacle(ObstacleSettings(**settings), 2)
    assert caught.value.where == where
