"""Three readings of the framings that must agree: the C library, hilgw and the firmware mocks."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from firmware_mocks._framing.specs import framing_of
from hilgw.errors import FrameError
from hilgw.framing import create, parse
from hilgw.framing.base import Framing
from tests.cases import cases
from tests.firmware.node import FRAMINGS, Link, library

pytestmark = [pytest.mark.process, pytest.mark.judge("gcc")]
NAMES = [name for name in FRAMINGS if name != "wc2ec"]
every = pytest.mark.parametrize("name", NAMES)
SIZE = 40  # bytes of the packet buffer: short enough that frames are too long
MS = 1_000_000

SPICE = b"\x00\x01\x7d\x7e\x5d\x5e\xc0\xdb\xdc\xdd\x0d\x0aab\xaa\x55\xff"
pieces = st.lists(
    st.lists(st.sampled_from(SPICE), min_size=1, max_size=4).map(bytes) | st.binary(max_size=40),
    max_size=6,
).map(b"".join)


def hilgw_of(name: str, limit: int) -> Framing:
    return create(replace(parse(name), max_payload=limit))


def both(name: str) -> tuple[Link, Framing]:
    link = Link(library(), name, size=SIZE)
    return link, hilgw_of(name, link.limit)


def encoded(framing: Framing, payload: bytes) -> bytes | None:
    try:
        return framing.encode(payload)
    except FrameError:
        return None


@every
@cases(1)
@given(payload=pieces | st.binary(min_size=250, max_size=600))
def test_what_is_sent(name: str, payload: bytes) -> None:
    link, mock = Link(library(), name), framing_of(name)
    frame = link.encode(payload)
    assert frame == encoded(hilgw_of(name, 600), payload)
    if frame is None:
        assert link.dropped == {"not_sent": 1}
    else:
        assert mock.feed(frame, 0, 0) == [payload]
        wide = Link(library(), name, size=700)
        assert wide.feed(frame) == [payload]


@every
@cases(2)
@given(data=st.data())
def test_what_is_received(name: str, data: st.DataObject) -> None:
    """Frames, damaged frames and noise: the same packets, and the same counts by reason."""
    link, framing = both(name)
    now = 0
    for _ in range(data.draw(st.integers(1, 4))):
        payload = data.draw(pieces)
        stream = encoded(hilgw_of(name, 600), payload) or payload
        stream = data.draw(damaged(stream) | pieces)
        expected = framing.feed(stream, now * MS) + expired(framing, now)
        assert link.feed(stream, now) == expected
        now += data.draw(st.sampled_from((1, 99, 100, 500)))
        assert link.read(now) == expired(framing, now)
    for later in (now + 200, now + 400):
        assert link.read(later) == expired(framing, later)
    assert link.dropped == {key: count for key, count in framing.dropped.items() if count}


def expired(framing: Framing, now_ms: int) -> list[bytes]:
    packets: list[bytes] = []
    while (due := framing.next_deadline()) is not None and due <= now_ms * MS:
        packets += framing.expire(now_ms * MS)
    return packets


@st.composite
def damaged(draw: st.DrawFn, frame: bytes) -> bytes:
    """A frame with bytes changed, lost or put in; often whole."""
    stream = bytearray(frame)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        if not stream:
            break
        place = draw(st.integers(0, len(stream) - 1))
        match draw(st.sampled_from(("change", "lose", "insert", "cut"))):
            case "change":
                stream[place] ^= 1 << draw(st.integers(0, 7))
            case "lose":
                del stream[place]
            case "insert":
                stream.insert(place, draw(st.sampled_from(SPICE)))
            case _:
                del stream[place:]
    return bytes(stream)


@every
@cases(0.5)
@given(data=pieces, cut=st.integers(0, 30))
def test_chunks_make_no_difference(name: str, data: bytes, cut: int) -> None:
    one, other = Link(library(), name, size=SIZE), Link(library(), name, size=SIZE)
    expected = one.feed(data)
    other.put(data[:cut])
    received = other.read()
    other.put(data[cut:])
    assert received + other.read() == expected
    assert other.dropped == one.dropped


@every
def test_a_queue_takes_all_of_a_frame_or_nothing(name: str) -> None:
    link = Link(library(), name, queue=20)
    assert link.send(b"0123456789")
    first = link.sent()
    assert link.send(b"0123456789")
    assert not link.send(b"0123456789"), "it does not fit beside the first"
    assert link.dropped == {"not_sent": 1}
    assert link.sent() == first
    assert link.sent() == b""


def test_bytes_beyond_the_queue_are_counted() -> None:
    link = Link(library(), "lines", queue=8)
    link.put(b"123456789\n")
    assert link.dropped == {"overrun": 3}
    assert link.read() == []
    assert link.feed(b"\n") == [b"1234567"]


def test_silence_is_not_seen_where_bytes_wait() -> None:
    """A loop that was late: the bytes came without a gap, but are read late."""
    link = Link(library(), "length")
    frame = link.encode(b"whole") or b""
    link.put(frame[:4])
    assert link.read(0) == []
    link.put(frame[4:])
    assert link.read(10_000) == [b"whole"]
    assert link.dropped == {}


@every
def test_a_buffer_without_room_receives_nothing(name: str) -> None:
    for size in range(8):
        link = Link(library(), name, size=size)
        frame = hilgw_of(name, 60).encode(b"12345678")
        assert link.feed(frame * 3, 0) == []
        link.read(1000)
