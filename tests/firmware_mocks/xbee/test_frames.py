"""API frames: the manual's vectors, escapes, and where a reader finds the next frame."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks.xbee.uart.serial_line import LONGEST, FrameReader, encode


def read(reader: FrameReader, wire: bytes) -> list[bytes]:
    return [frame for byte in wire if (frame := reader.push(byte)) is not None]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=4), st.booleans())
def test_every_frame_comes_back(frames: list[bytes], escaped: bool) -> None:
    wire = b"".join(encode(frame, escaped) for frame in frames)
    assert read(FrameReader(escaped), wire) == frames


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=100))
def test_escaped_a_bare_delimiter_always_begins_a_new_frame(noise: bytes, data: bytes) -> None:
    broken = b"\x7e" + noise.replace(b"\x7d", b"")
    reader = FrameReader(escaped=True)
    assert read(reader, broken + encode(data, True))[-1] == data


def test_unescaped_a_cut_frame_takes_the_next_with_it_and_the_one_after_is_read() -> None:
    cut = encode(b"\x08\x01AP-and-more", False)[:-3]
    good = encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), cut + good + good) == [b"\x08\x02AP"]


def test_a_bad_checksum_drops_that_frame_alone() -> None:
    bad = bytearray(encode(b"\x08\x01AP", False))
    bad[-1] ^= 1
    reader = FrameReader(escaped=False)
    assert read(reader, bytes(bad) + encode(b"\x08\x02AP", False)) == [b"\x08\x02AP"]
    assert reader.errors == 1


@pytest.mark.parametrize("length", [0, LONGEST + 1, 0xFFFF])
def test_an_impossible_length_is_noise(length: int) -> None:
    wire = b"\x7e" + length.to_bytes(2, "big") + encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), wire) == [b"\x08\x02AP"]
