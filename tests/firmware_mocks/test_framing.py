"""CRCs and framings of the mocks, against the gateway's and against documented frames."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks._framing.crc import NAMED, crc_of
from firmware_mocks._framing.specs import framing_of
from hilgw.framing.crc import named


@pytest.mark.parametrize("name", [*NAMED, "poly=0x18005,init=0xFFFF,rev=true,xorOut=0xFFFF"])
@given(data=st.binary(max_size=80))
def test_crcs_are_those_of_the_gateway(name: str, data: bytes) -> None:
    crc = crc_of(name)
    assert (crc is None) == (name == "none")
    if crc is not None:
        assert crc.of(data) == named(name).compute(data)


def test_crcs_of_the_usual_nine_characters() -> None:
    sums = {"crc16": 0x29B1, "xmodem": 0x31C3, "x-25": 0x906E, "modbus": 0x4B37}
    for name, value in {**sums, "crc32": 0xCBF43926}.items():
        crc = crc_of(name)
        assert crc is not None
        assert crc.of(b"123456789") == value
    for name in ("crc17", "poly=5", "poly=0x1021", "init=3"):
        with pytest.raises(ValueError, match=r"CRC|degree"):
            crc_of(name)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("cobs-crc16", "02 48 05 7E C0 9D 85 00"),
        ("slip-crc16", "C0 48 00 7E DB DC 9D 85 C0"),
        ("hdlc", "7E 48 00 7D 5E C0 69 A3 7E"),
        ("length", "AA 55 00 04 48 00 7E C0 9E 53"),
        ("lines", "48 00 7E C0 0A"),
        ("lines-crlf", "48 00 7E C0 0D 0A"),
        ("gap:20ms", "48 00 7E C0"),
        ("raw", "48 00 7E C0"),
    ],
)
def test_frames_as_documented(name: str, wire: str) -> None:
    assert framing_of(name).encode(bytes.fromhex("48 00 7E C0")) == bytes.fromhex(wire)
