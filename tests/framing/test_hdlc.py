"""HDLC against RFC 1662, with a bit-by-bit FCS as the reference."""

import pytest
from hypothesis import given, strategies as st

from hilgw.framing import create
from hilgw.framing.hdlc import Hdlc, HdlcSettings


def fcs16(data: bytes) -> bytes:
    register = 0xFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x8408 if register & 1 else 0)
    return (register ^ 0xFFFF).to_bytes(2, "little")


def stuffed(data: bytes, escaped: frozenset[int]) -> bytes:
    out = bytearray()
    for byte in data:
        out += bytes([0x7D, byte ^ 0x20]) if byte in escaped else bytes([byte])
    return bytes(out)


@pytest.mark.parametrize("control_map", [0, 0xA0000, 0xFFFFFFFF])
@given(payload=st.binary(min_size=1, max_size=60))
def test_frames_as_rfc_1662_builds_them(control_map: int, payload: bytes) -> None:
    hdlc = Hdlc(HdlcSettings(control_map=control_map))
    escaped = frozenset({0x7D, 0x7E} | {n for n in range(32) if control_map >> n & 1})
    assert hdlc.encode(payload) == b"~" + stuffed(payload + fcs16(payload), escaped) + b"~"
    # All that may be escaped: what becomes neither a flag nor a character the receiver drops.
    everything = frozenset(b for b in range(256) if b ^ 0x20 not in escaped - {0x7D})
    wire = b"~" + stuffed(payload + fcs16(payload), everything) + b"~"
    assert hdlc.feed(wire) == [payload]


def test_check_value_on_the_wire() -> None:
    assert create("hdlc").encode(b"123456789") == b"~123456789\x6e\x90~"
    wire = b"~123456789\x26\x39\xf4\xcb~"
    assert create("hdlc-crc32").encode(b"123456789") == wire
    assert create("hdlc-crc32").feed(wire) == [b"123456789"]


def test_frames_may_share_a_flag() -> None:
    hdlc = create("hdlc")
    one, two = hdlc.encode(b"one"), hdlc.encode(b"two")
    assert hdlc.feed(one[:-1] + two + b"~~~") == [b"one", b"two"]
    assert hdlc.dropped == {}


def test_abort_drops_the_frame() -> None:
    hdlc = create("hdlc")
    good = hdlc.encode(b"good")
    assert hdlc.feed(good[:5] + b"\x7d" + good) == [b"good"]
    assert hdlc.dropped == {"aborted": 1}


@pytest.mark.parametrize(
    ("frame", "reason"),
    [(b"12345678\x6e\x90", "bad_crc"), (b"\0\0", "too_short"), (b"A" * 12, "too_long")],
)
def test_bad_frames_are_counted(frame: bytes, reason: str) -> None:
    hdlc = Hdlc(HdlcSettings(max_payload=9))
    assert hdlc.feed(b"~" + frame + hdlc.encode(b"good")) == [b"good"]
    assert hdlc.dropped == {reason: 1}


def test_an_escaped_5d_at_the_end_is_not_an_abort() -> None:
    payload = next(bytes([n]) for n in range(256) if fcs16(bytes([n]))[1] == 0x5D)
    wire = payload + fcs16(payload)
    assert create("hdlc").feed(b"~" + wire[:-1] + b"\x7d\x7d~") == [payload]


def test_control_characters_put_in_on_the_way_are_dropped() -> None:
    hdlc = Hdlc(HdlcSettings(control_map=0xA0000))
    wire = hdlc.encode(b"a\x11b\x13c")
    assert not {0x11, 0x13} & set(wire)
    assert hdlc.feed(b"\x13".join(wire[i : i + 1] for i in range(len(wire)))) == [b"a\x11b\x13c"]
