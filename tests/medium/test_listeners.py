"""Listeners by position: the index finds the same listeners as a check of all."""

import math

from hypothesis import given, strategies as st

from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import FEW, Bucket, Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose, Vector
from tests.cases import cases

MANY = FEW + 8
PLACE = st.floats(-20, 20, allow_nan=False) | st.integers(-20, 20).map(float)
POINT = st.tuples(PLACE, PLACE, PLACE)
RANGE = st.sampled_from([0.0, 1e-9, 0.5, 1.0, 5.0, 13.0, 600.0, 1e9, -1.0])
CHANGE = st.one_of(
    st.tuples(st.just("move"), st.integers(0, MANY - 1), st.none() | POINT),
    st.tuples(st.just("retune"), st.integers(0, MANY - 1), st.sampled_from([1, 2, -1])),
    st.tuples(st.just("rejoin"), st.integers(0, MANY - 1), st.just(None)),
)


@cases(0.5)
@given(
    st.lists(st.none() | POINT, min_size=MANY, max_size=MANY),
    st.lists(
        st.tuples(POINT, RANGE, st.sampled_from([1, 2, -1]), st.lists(CHANGE, max_size=6)),
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


def test_few_are_not_worth_a_grid_and_distant_ones_are_not_looked_at() -> None:
    bucket = Bucket()
    for index in range(MANY):
        if index == FEW:
            assert bucket.near((0.0, 0.0, 0.0), 5.0) is None
        listener = Listener(
            name=str(index),
            type="radio",
            pose=Pose((100.0 * index, 0, 0)),
            deliver=lambda copy: None,
        )
        bucket.add(listener)

    def near(x: float) -> list[str]:
        return [each.name for each in bucket.near((x, 0.0, 0.0), 5.0) or ()]

    assert near(100.0) == ["1"]
    assert bucket.near((0.0, 0.0, 0.0), -1.0) is None
    late = Listener(name="late", type="radio", pose=Pose((1.0, 0, 0)), deliver=lambda copy: None)
    bucket.add(late)
    assert near(0.0) == ["0", "late"]
    before, late.pose = late.pose, Pose((501.0, 0.0, 0.0))
    bucket.moved(late, before)
    assert (near(0.0), near(500.0)) == (["0"], ["5", "late"])
    bucket.remove(late)
    assert near(500.0) == ["5"]
