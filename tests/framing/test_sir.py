"""SIR wrapping: the known check value, any chunking, noise, and what IrLAP requires for odd
frames."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import irda_sir as other_reading
from hilgw.framing.sir import Sir, SirSettings

SPICE = st.lists(st.sampled_from(b"\xc0\xc1\x7d\xff\x5d\xe0\xe1\x20a"), max_size=40).map(bytes)
PAYLOAD = (SPICE | st.binary(max_size=60)).filter(bool)


def test_the_check_value_of_x25_low_byte_first() -> None:
    wire = Sir(SirSettings(extra_bofs=2)).encode(b"123456789")
    assert wire == b"\xff\xff\xc0123456789\x6e\x90\xc1"


@given(PAYLOAD)
def test_the_mock_reads_the_same_bytes(payload: bytes) -> None:
    wire = Sir().encode(payload)
    assert wire == other_reading.wrap(payload)
    assert other_reading.unwrap(wire[11:-1]) == payload


def test_a_frame_begun_anew_gives_the_second_one_alone() -> None:
    sir = Sir()
    good = sir.encode(b"good")
    assert sir.feed(good[:14] + good) == [b"good"]
    assert sir.dropped == {"aborted": 1}


def test_old_devices_begin_with_c0_instead_of_ff() -> None:
    sir = Sir()
    assert sir.feed(b"\xc0" * 11 + sir.encode(b"old")[11:]) == [b"old"]
    assert sir.dropped == {}


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"\xc0abc\x7d\xc1", "aborted"),
        (b"\xc0abcd\xc1", "bad_crc"),
        (b"\xc0a\xc1", "too_short"),
        (b"\xc0a\x7d\x7da\xc1", "bad_escape"),
        (b"\xc0" + b"x" * 5000, "too_long"),
    ],
)
def test_what_is_wrong_is_counted(wire: bytes, reason: str) -> None:
    sir = Sir(SirSettings(max_payload=100))
    assert sir.feed(wire) == []
    assert sir.dropped == {reason: 1}
    assert sir.held <= 400


def test_garbage_is_counted_in_bytes() -> None:
    sir = Sir()
    assert sir.feed(b"hello\xc1") == []
    assert sir.dropped == {"garbage_bytes": 5}
