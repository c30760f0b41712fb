"""Motion capture datagrams: round trips; invalid datagrams are rejected as a whole."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import FrameError
from hilgw.medium.mocap import decode, encode

NUMBER = st.floats(-1000, 1000, allow_nan=False)
UNIT = st.sampled_from([(0.0, 0.0, 0.0, 1.0), (0.5, 0.5, 0.5, 0.5), (0.0, 1.0, 0.0, 0.0)])


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.tuples(NUMBER, NUMBER, NUMBER, UNIT).map(lambda it: (*it[:3], *it[3])),
        max_size=4,
    )
)
def test_there_and_back(bodies: dict[str, tuple[float, ...] | None]) -> None:
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
