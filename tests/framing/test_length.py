"""Length: layouts, the search after a false sync, and the deadline of an incomplete frame."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.framing import create
from hilgw.framing.length import Length, LengthSettings

MS = 1_000_000
PLAIN = LengthSettings(crc="none", sync="7E", max_payload=10)


def test_layout() -> None:
    wire = bytes.fromhex("AA 55 00 09") + b"123456789" + bytes.fromhex("C0 C2")
    assert create("length").encode(b"123456789") == wire
    assert create("length").feed(wire) == [b"123456789"]


@pytest.mark.parametrize(
    ("settings", "wire"),
    [
        (PLAIN, "7E 00 02 41 42"),
        (replace(PLAIN, length_order="little"), "7E 02 00 41 42"),
        (replace(PLAIN, length_bytes=1), "7E 02 41 42"),
        (replace(PLAIN, length_bytes=1, length_counts="frame"), "7E 04 41 42"),
        (replace(PLAIN, length_counts="payload+crc", crc="crc-8"), "7E 00 03 41 42 3A"),
        (replace(PLAIN, crc="crc-8", crc_from="sync"), "7E 00 02 41 42 9D"),
    ],
)
def test_layouts(settings: LengthSettings, wire: str) -> None:
    length = Length(settings)
    assert length.encode(b"AB") == bytes.fromhex(wire)
    assert length.feed(bytes.fromhex(wire)) == [b"AB"]


def test_a_payload_full_of_syncs() -> None:
    length = create("length")
    payload = b"\xaa\x55\x00\x01" * 20
    assert length.feed(length.encode(payload) * 2) == [payload, payload]
    assert length.dropped == {}


def test_the_search_goes_on_behind_a_false_sync() -> None:
    length = create("length")
    good = length.encode(b"good")
    # The false frame claims 8 bytes and so covers the beginning of the good one.
    assert length.feed(b"\xaa\x55\x00\x08\x01\x02" + good) == [b"good"]
    assert length.dropped == {"bad_crc": 1, "garbage_bytes": 6}


def test_the_deadline_frees_a_half_frame_and_the_good_one_it_swallowed() -> None:
    length = create("length")
    good = length.encode(b"good")
    assert length.feed(b"\xaa\x55\x03\xff" + good + good[:5], 5 * MS) == []
    assert length.next_deadline() == 105 * MS
    assert length.expire(105 * MS - 1) == []
    assert length.expire(105 * MS) == [b"good"]
    assert length.next_deadline() is None
    assert length.dropped == {"truncated": 1, "garbage_bytes": 9}


def test_a_late_timer_changes_nothing() -> None:
    length = create("length")
    good = length.encode(b"good")
    assert length.feed(good[:5], 0) == []
    assert length.feed(good, 100 * MS) == [b"good"]
    assert length.dropped == {"truncated": 1, "garbage_bytes": 5}


def test_a_slow_line_is_no_half_frame() -> None:
    length = create("length")
    good = length.encode(b"good")
    received = [length.feed(good[i : i + 1], i * 99 * MS) for i in range(len(good))]
    assert received[-1] == [b"good"]


@pytest.mark.parametrize(("field", "reason"), [("0D", "too_long"), ("01", "too_short")])
def test_a_length_that_cannot_be_is_a_false_sync_at_once(field: str, reason: str) -> None:
    length = Length(replace(PLAIN, length_bytes=1, length_counts="payload+crc", crc="crc-16"))
    assert length.max_payload == 10
    good = length.encode(b"0123456789")
    assert length.feed(bytes.fromhex("7E" + field) + good) == [b"0123456789"]
    assert length.dropped == {reason: 1, "garbage_bytes": 2}


def test_no_byte_of_a_good_frame_is_taken_for_the_next_sync() -> None:
    length = create("length")
    payload = next(
        number.to_bytes(2, "big")
        for number in range(1 << 16)
        if length.encode(number.to_bytes(2, "big"))[-1] == 0xAA
    )
    assert length.feed(length.encode(payload)) == [payload]
    assert length.held == 0
    assert length.feed(b"\x55") == []
    assert length.dropped == {"garbage_bytes": 1}


SYNCS = st.sampled_from([b"\xaa", b"\x55", b"\xaa\x55", b"\xaa\x55\x00\x01", b"\0"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=9) | SYNCS, max_size=20), st.integers(0, 20))
def test_every_byte_is_accounted_for(parts: list[bytes], good_at: int) -> None:
    length = create("length")
    parts.insert(good_at, length.encode(b"good"))
    framed = 0
    for part in parts:
        framed += sum(6 + len(payload) for payload in length.feed(part))
    garbage = length.dropped.get("garbage_bytes", 0)
    assert framed + garbage + length.held == sum(map(len, parts))


def test_the_field_bounds_the_payload() -> None:
    length = Length(replace(PLAIN, length_bytes=1, max_payload=4096, length_counts="frame"))
    assert length.max_payload == 253
    assert length.encode(bytes(253))[:2] == b"\x7e\xff"
    with pytest.raises(FrameError, match="at most 253"):
        length.encode(bytes(254))


@pytest.mark.parametrize("sync", ["", "A", "GG", "00 11 22 33 44 55 66 77 88"])
def test_unreadable_sync(sync: str) -> None:
    with pytest.raises(ConfigError, match="AA 55"):
        Length(replace(PLAIN, sync=sync))
