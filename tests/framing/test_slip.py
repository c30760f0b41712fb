"""SLIP against RFC 1055's escapes."""

import pytest

from hilgw.framing import create
from hilgw.framing.crc import Checksum
from hilgw.framing.slip import Slip, SlipSettings


def test_escapes_of_rfc_1055() -> None:
    slip = create("slip")
    wire = bytes.fromhex("C0 01 DB DC 02 DB DD DC DD C0")
    assert slip.encode(bytes.fromhex("01 C0 02 DB DC DD")) == wire
    assert slip.feed(wire) == [bytes.fromhex("01 C0 02 DB DC DD")]


def test_packets_may_share_an_end() -> None:
    assert create("slip").feed(b"\xc0one\xc0two\xc0\xc0\xc0three\xc0") == [b"one", b"two", b"three"]


@pytest.mark.parametrize("bad", ["DB", "41 DB 41", "DB DB DC", "DB C0 DC", "DB DB DD"])
def test_an_escape_that_is_none_spoils_its_packet_alone(bad: str) -> None:
    slip = create("slip")
    assert slip.feed(b"\xc0good\xc0" + bytes.fromhex(bad) + b"\xc0good\xc0")[-1] == b"good"
    assert slip.dropped == {"bad_escape": 1}


def test_crc_is_escaped_too() -> None:
    settings = SlipSettings(crc="crc-8")
    slip, checksum = Slip(settings), Checksum(settings.crc, settings.crc_order)
    payload = next(
        bytes([a, b])
        for a in range(256)
        for b in range(256)
        if checksum.seal(bytes([a, b]))[-1] == 0xC0
    )
    wire = slip.encode(payload)
    assert wire.endswith(b"\xdb\xdc\xc0")
    assert slip.feed(wire) == [payload]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("31 32 33 34 35 36 37 38 39 29 B0", "bad_crc"),
        ("FF", "too_short"),
        ("41 " * 12, "too_long"),
    ],
)
def test_bad_frames_are_counted(frame: str, reason: str) -> None:
    slip = Slip(SlipSettings(crc="crc16", max_payload=9))
    assert slip.feed(bytes.fromhex("31 32 33 34 35 36 37 38 39 29 B1 C0")) == [b"123456789"]
    assert slip.feed(bytes.fromhex(frame) + b"\xc0") == []
    assert slip.dropped == {reason: 1}


def test_without_the_leading_end() -> None:
    assert Slip(SlipSettings(leading_end=False)).encode(b"a") == b"a\xc0"
