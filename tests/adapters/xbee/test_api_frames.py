"""XBee API framing: the manual's frames, any chunking, garbage, and what it must not accept."""

import pytest
from hypothesis import assume, given, strategies as st

from hilgw.adapters.xbee.api_frames import FROM_MODULE, MAX_LENGTH, FrameDecoder, encode
from hilgw.errors import FrameError

SPECIAL = bytes((0x7E, 0x7D, 0x11, 0x13))

modes = st.booleans()
frame_data = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.lists(st.sampled_from(SPECIAL + b"\x00\x5e"), min_size=1, max_size=60).map(bytes),
)


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(stream[at : at + size])
        at += size
    return [*chunks, stream[at:]]


@pytest.mark.parametrize("data", [b"", bytes(0x10000)])
def test_encode_refuses_what_no_frame_carries(data: bytes) -> None:
    with pytest.raises(FrameError):
        encode(data)
    decoder = FrameDecoder()
    assert decoder.feed(bytes.fromhex("7E0000FF") + encode(b"\x8a\x00")) == [b"\x8a\x00"]
    assert decoder.bad_frames == 1
    assert decoder.feed(encode(bytes(MAX_LENGTH))) == [bytes(MAX_LENGTH)]
    assert decoder.feed(encode(bytes(MAX_LENGTH + 1))) == []
    assert decoder.pending == 0


@given(
    st.binary(max_size=300),
    st.lists(st.integers(0, 40), max_size=12),
    modes,
    st.sampled_from([None, FROM_MODULE]),
)
def test_any_chunking_of_anything_gives_the_same(
    stream: bytes, sizes: list[int], escaped: bool, types: frozenset[int] | None
) -> None:
    whole, parts, single = (FrameDecoder(escaped, types=types) for _ in range(3))
    expected = whole.feed(stream) + whole.flush()
    got = [frame for chunk in cut(stream, sizes) for frame in parts.feed(chunk)] + parts.flush()
    bytewise = [frame for byte in stream for frame in single.feed(bytes((byte,)))] + single.flush()
    assert expected == got == bytewise
    assert whole.dropped_bytes == parts.dropped_bytes == single.dropped_bytes
    assert whole.bad_frames == parts.bad_frames == single.bad_frames
    assert types is None or all(frame[0] in types for frame in expected)


@given(st.lists(st.tuples(st.binary(max_size=20), frame_data), max_size=8), modes)
def test_bytes_are_in_a_frame_or_counted(parts: list[tuple[bytes, bytes]], escaped: bool) -> None:
    stream = b"".join(noise + encode(data, escaped) for noise, data in parts)
    decoder = FrameDecoder(escaped)
    frames = decoder.feed(stream) + decoder.flush()
    assert decoder.pending == 0
    used = sum(len(encode(frame, escaped)) for frame in frames)
    assert used + decoder.dropped_bytes == len(stream)


@given(data=frame_data, bit=st.integers(0, 7), place=st.integers(0, 1000), escaped=modes)
def test_a_flipped_bit_is_not_a_frame_and_the_next_one_is(
    data: bytes, bit: int, place: int, escaped: bool
) -> None:
    follower = b"\x8a\x00"
    wire = bytearray(encode(data, escaped))
    assume(escaped or 0x7E not in wire[1:])  # a false start inside may take the follower along
    at = 3 + place % (len(wire) - 3) if len(wire) > 3 else 3
    wire[at] ^= 1 << bit
    decoder = FrameDecoder(escaped)
    frames = decoder.feed(bytes(wire) + encode(follower, escaped)) + decoder.flush()
    assert data not in frames or data == follower
    assert frames[-1:] == [follower]


def test_a_false_start_waits_only_until_flush() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(b"\x7e\x00\x50" + encode(b"\x8a\x00") + encode(b"\x8a\x06")) == []
    assert decoder.flush() == [b"\x8a\x00", b"\x8a\x06"]
    assert (decoder.pending, decoder.bad_frames, decoder.dropped_bytes) == (0, 1, 3)


def test_types_unmask_a_false_start_at_once() -> None:
    good = encode(b"\x8a\x00") + encode(b"\x89\x01\x00")
    cut_off = b"\x7e\x00\x0c"  # and the sum over the two frames that follow is right
    assert FrameDecoder().feed(cut_off + good + b"\x75") != [b"\x8a\x00", b"\x89\x01\x00"]
    for false_start in (cut_off, b"\x7e\x00\x7e\x00", b"\x7e\x01", b"\x7e\x00\x10\x10"):
        decoder = FrameDecoder(types=FROM_MODULE)
        assert decoder.feed(false_start + good) == [b"\x8a\x00", b"\x89\x01\x00"]
        assert decoder.dropped_bytes == len(false_start)


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize(
    "pattern", [b"\x7e", b"\x7e\x01\xff", b"\x7e\x01\xff\x7d", b"\x7d", b"\x7e\x00", b"garbage"]
)
def test_endless_garbage_keeps_the_buffer_bounded(escaped: bool, pattern: bytes) -> None:
    decoder = FrameDecoder(escaped)
    bound = 2 * (MAX_LENGTH + 4)
    for _ in range(200):
        decoder.feed(pattern * 50)
        assert decoder.pending <= bound
    assert decoder.feed(bytes(bound) + encode(b"\x8a\x00", escaped))[-1:] == [b"\x8a\x00"]
