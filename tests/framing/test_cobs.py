"""COBS with CRC: vectors, the fast path against the general one, invalid settings."""

import pytest
from hypothesis import given, strategies as st

from hilgw.framing import create
from hilgw.framing.cobs import Cobs, CobsSettings
from tests.cases import cases

# Examples of the COBS article (payload, encoded, without the delimiter).
VECTORS = [
    (b"", "01"),
    (b"\0", "01 01"),
    (b"\0\0", "01 01 01"),
    (b"\x11\x22\x00\x33", "03 11 22 02 33"),
    (b"\x11\x22\x33\x44", "05 11 22 33 44"),
    (b"\x11\0\0\0", "02 11 01 01 01"),
    (bytes(range(1, 255)), "FF " + bytes(range(1, 255)).hex()),
    (bytes(range(255)), "01 FF " + bytes(range(1, 255)).hex()),
    (bytes(range(1, 256)), "FF " + bytes(range(1, 255)).hex() + "02 FF"),
]


@pytest.mark.parametrize(("payload", "encoded"), VECTORS)
def test_published_encodings(payload: bytes, encoded: str) -> None:
    cobs = create("cobs")
    wire = bytes.fromhex(encoded) + b"\0"
    assert cobs.encode(payload) == wire
    assert cobs.feed(wire) == [payload]


def test_crc_16_lies_big_endian_inside_the_cobs() -> None:
    wire = bytes.fromhex("0C 31 32 33 34 35 36 37 38 39 29 B1 00")
    assert create("cobs-crc16").encode(b"123456789") == wire
    assert Cobs().feed(wire) == [b"123456789"]
    little = Cobs(CobsSettings(crc_order="little"))
    assert little.encode(b"123456789") == wire[:10] + b"\xb1\x29\0"
    assert little.feed(wire) == []


GOOD = Cobs().encode(b"good")
BAD = [
    (b"\x05ab\0", "bad_code"),
    (b"\x02\xff\0", "too_short"),
    (b"\x01\x01\x01\x01\0", "bad_crc"),
    (GOOD.replace(b"g", b"G"), "bad_crc"),
    (Cobs(CobsSettings(max_payload=9)).encode(b"123456789"), "too_long"),
    (b"\x01" * 100 + b"\0", "too_long"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD)
@pytest.mark.parametrize("together", [True, False])
def test_a_bad_frame_is_dropped_alone_and_counted(bad: bytes, reason: str, together: bool) -> None:
    cobs = Cobs(CobsSettings(max_payload=8))
    chunks = [GOOD + bad + GOOD] if together else [GOOD, bad, GOOD]
    assert [p for chunk in chunks for p in cobs.feed(chunk)] == [b"good", b"good"]
    assert cobs.dropped == {reason: 1}


def test_empty_frames_are_no_frames() -> None:
    cobs = Cobs()
    assert cobs.feed(b"\0\0" + GOOD + b"\0\0\0" + GOOD + b"\0") == [b"good", b"good"]
    assert cobs.feed(b"\0") == []
    assert cobs.dropped == {}


@pytest.mark.parametrize("crc", ["crc-ccitt-false", "crc-32", "x-25", "crc-8", "crc-64", "none"])
@pytest.mark.parametrize("order", ["big", "little"])
@cases(0.5)
@given(payloads=st.lists(st.binary(max_size=300), max_size=8))
def test_any_crc_in_either_order(crc: str, order: str, payloads: list[bytes]) -> None:
    cobs = Cobs(CobsSettings(crc=crc, crc_order=order))  # type: ignore[arg-type]
    assert cobs.feed(b"".join(map(cobs.encode, payloads))) == payloads
    assert [p for payload in payloads for p in cobs.feed(cobs.encode(payload))] == payloads
    assert not cobs.dropped


def test_a_frame_shorter_than_its_crc_is_none_even_where_the_crc_is_zero() -> None:
    for chunks in ([b"\x01\x01\0"], [b"\x01\x01\0\x01\x01\0"], [b"\x01\x01", b"\0"], [b"\0"]):
        cobs = create("cobs-xmodem")
        assert [p for chunk in chunks for p in cobs.feed(chunk)] == []
        assert set(cobs.dropped) <= {"too_short"}
