"""Obstacles and listeners by position: the index finds the same as a check of all."""

import math
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from hilgw.errors import ConfigError
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import FEW, Listener
from hilgw.medium.medium import Medium
from hilgw.medium.obstacle_settings import ObstacleSettings
from hilgw.medium.obstacles import (
    Box,
    Capsule,
    Cylinder,
    Obstacle,
    Obstacles,
    Solid,
    Sphere,
    obstacle,
)
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose, Vector
from tests.cases import cases

PLACE = st.floats(-10, 10, allow_nan=False) | st.integers(-10, 10).map(float)
POINT = st.tuples(PLACE, PLACE, PLACE)
SIZE = st.sampled_from([0.01, 0.5, 1.0, 4.0, 30.0])


def solids(size: st.SearchStrategy[float]) -> st.SearchStrategy[Solid]:
    return st.one_of(
        st.builds(Sphere, size),
        st.builds(Box, st.tuples(size, size, size)),
        st.builds(Cylinder, size, size, st.integers(0, 2)),
        st.builds(Capsule, size, size, st.integers(0, 2)),
    )


POSE = st.builds(
    Pose.from_quaternion,
    POINT,
    st.sampled_from([(0, 0, 0, 1), (0, 0, 1, 1), (1, 2, 3, 4), (0.1, -0.2, 0, 0.3)]),
)


@given(
    st.lists(st.tuples(solids(SIZE), POSE), max_size=12),
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
    if where in ("radius", "size", "height"):
        assert ("needs" in caught.value.what) is (where not in settings)


COORDINATE = st.floats(-3, 3, allow_nan=False)
SPOT = st.tuples(COORDINATE, COORDINATE, COORDINATE)
EXTENT = st.floats(0.05, 2)
NEARBY = solids(EXTENT)


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


@given(NEARBY, SPOT, SPOT)
def test_a_segment_meets_a_solid_where_it_comes_inside(solid: Solid, a: Vector, b: Vector) -> None:
    clear = clearance(solid, a, b)
    assume(abs(clear) > 1e-6)
    assert solid.meets(a, b) == (clear < 0)
    assert solid.meets(b, a) == (clear < 0)


@given(NEARBY, SPOT)
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


@pytest.mark.parametrize("axis", range(3))
def test_a_capsule_is_longer_than_its_cylinder(axis: int) -> None:
    capsule, cylinder = Capsule(0.5, 2.0, axis), Cylinder(0.5, 2.0, axis)

    def point(along: float, across: float) -> Vector:
        numbers = [along, across, 0.0]
        x, y, z = numbers[-axis:] + numbers[:-axis]
        return x, y, z

    for end in (-1.4, 1.4):
        assert capsule.meets(point(end, -5), point(end, 5))
        assert not cylinder.meets(point(end, -5), point(end, 5))
        assert not capsule.meets(point(end * 1.2, -5), point(end * 1.2, 5))
    assert capsule.half == tuple(1.5 if each == axis else 0.5 for each in range(3))
    assert capsule.radius == 1.5


MANY = FEW + 8
FAR = st.floats(-20, 20, allow_nan=False) | st.integers(-20, 20).map(float)
FAR_POINT = st.tuples(FAR, FAR, FAR)
RANGE = st.sampled_from([0.0, 1e-9, 0.5, 1.0, 5.0, 13.0, 600.0, 1e9, -1.0])
CHANGE = st.one_of(
    st.tuples(st.just("move"), st.integers(0, MANY - 1), st.none() | FAR_POINT),
    st.tuples(st.just("retune"), st.integers(0, MANY - 1), st.sampled_from([1, 2, -1])),
    st.tuples(st.just("rejoin"), st.integers(0, MANY - 1), st.just(None)),
)


@cases(0.5)
@given(
    st.lists(st.none() | FAR_POINT, min_size=MANY, max_size=MANY),
    st.lists(
        st.tuples(FAR_POINT, RANGE, st.sampled_from([1, 2, -1]), st.lists(CHANGE, max_size=6)),
        min_size=1,
        max_size=8,
    ),
)
def test_the_same_ones_receive_as_when_all_are_looked_at(
    places: list[Vector | None],
    transmissions: list[tuple[Vector, float, int, list[tuple[str, int, object]]]],
) -> None:
    medium, received = Medium(Ledger()), []
    channels: list[int] = [1] * MANY
    order = list(range(MANY))
    listeners = [
        Listener(
            name=str(index),
            type="radio",
            channels=frozenset([1]),
            pose=None if place is None else Pose(place),
            deliver=lambda copy, index=index: received.append(index),  # type: ignore[misc]
        )
        for index, place in enumerate(places)
    ]
    for listener in listeners:
        medium.attach(listener)
    for place, range_, channel, changes in transmissions:
        for change, index, to in changes:
            if change == "move":
                places[index] = to  # type: ignore[call-overload]
                medium.place(str(index), None if to is None else Pose(to))  # type: ignore[arg-type]
            elif change == "retune":
                channels[index] = to  # type: ignore[call-overload]
                medium.retune(str(index), None if to == -1 else frozenset([to]))  # type: ignore[list-item]
            else:
                medium.detach(str(index))
                medium.attach(listeners[index])
                order.remove(index)
                order.append(index)
        received.clear()
        medium.transmit(Packet(b"x", channel, "radio", "tx", range=range_), Pose(place))
        assert received == [
            index
            for index in order
            if -1 in (channel, channels[index]) or channel == channels[index]
            if range_ < 0 or (there := places[index]) is None or math.dist(place, there) <= range_
        ]


def test_a_listener_among_many_is_found_where_it_has_moved_to() -> None:
    medium, received = Medium(Ledger()), list[str]()
    for number in range(MANY):
        name = str(number)
        medium.attach(
            Listener(
                name=name,
                type="radio",
                channels=frozenset([1]),
                pose=Pose((100.0 + number, 0.0, 0.0)),
                deliver=lambda copy, name=name: received.append(name),  # type: ignore[misc]
            )
        )
    for place, expected in (((2.0, 0.0, 0.0), ["7"]), ((0.0, 9.0, 0.0), []), (None, ["7"])):
        for range_ in (1.0, 5.0):
            medium.transmit(Packet(b"x", 1, "radio", "tx", range=range_), Pose((1.0, 0.0, 0.0)))
        received.clear()
        medium.place("7", None if place is None else Pose(place))
        for range_ in (1.0, 5.0):
            medium.transmit(Packet(b"x", 1, "radio", "tx", range=range_), Pose((1.0, 0.0, 0.0)))
        assert received == 2 * expected
