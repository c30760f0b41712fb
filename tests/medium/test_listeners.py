"""Listeners by position: the index finds the same listeners as a check of all."""

import math

from hypothesis import given, strategies as st

from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import FEW, Listener
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
