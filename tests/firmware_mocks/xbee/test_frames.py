"""API frames: the manual's vectors, escapes, and where a reader finds the next frame."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks.xbee.uart.serial_line import LONGEST, FrameReader, encode


def read(reader: FrameReader, wire: bytes) -> list[bytes]:
    return [frame for byte in wire if (frame := reader.push(byte)) is not None]


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        ("8A 00", "7E 00 02 8A 00 75"),
        ("89 52 00", "7E 00 03 89 52 00 24"),
        ("8B 47 FF FE 00 00 02", "7E 00 07 8B 47 FF FE 00 00 02 2E"),
    ],
)
def test_the_manuals_frames(data: str, wire: str) -> None:
    frame = bytes.fromhex(data)
    assert encode(frame, escaped=False) == bytes.fromhex(wire)
    assert read(FrameReader(escaped=False), bytes.fromhex(wire)) == [frame]


def test_escaped_length_data_and_checksum() -> None:
    data = bytes.fromhex("08 7E 7D 11 13") + bytes(12)
    assert len(data) == 0x11
    wire = encode(data, escaped=True)
    assert wire[:8] == bytes.fromhex("7E 00 7D 31 08 7D 5E 7D")
    assert read(FrameReader(escaped=True), wire) == [data]
    checked = b"\x08" + bytes((0xFF - 0x08 - 0x7E,))  # a checksum of 7E
    assert encode(checked, escaped=True)[-2:] == b"\x7d\x5e"
    assert read(FrameReader(escaped=True), encode(checked, escaped=True)) == [checked]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=4), st.booleans())
def test_every_frame_comes_back(frames: list[bytes], escaped: bool) -> None:
    wire = b"".join(encode(frame, escaped) for frame in frames)
    assert read(FrameReader(escaped), wire) == frames


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=100))
def test_escaped_a_bare_delimiter_always_begins_a_new_frame(noise: bytes, data: bytes) -> None:
    broken = b"\x7e" + noise.replace(b"\x7d", b"")
    reader = FrameReader(escaped=True)
    assert read(reader, broken + encode(data, True))[-1] == data


def test_unescaped_a_delimiter_inside_a_frame_is_data() -> None:
    data = b"\x00\x01" + b"\x7e" * 9 + b"payload"
    assert read(FrameReader(escaped=False), encode(data, False)) == [data]


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


def test_a_frame_given_up_leaves_nothing_behind() -> None:
    reader = FrameReader(escaped=False)
    read(reader, b"\x7e\x00\x04\x08\x01")
    assert reader.inside
    reader.abort()
    assert not reader.inside
    assert read(reader, encode(b"\x08\x02AP", False)) == [b"\x08\x02AP"]
