"""Frame layouts and words: the manual's frames, round trips, and bytes that are no frame."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters.xbee import describe as words, frames as f
from hilgw.errors import FrameError

# Frame data by the layouts of the user guides, and the words for it.
VECTORS = [
    ("0801 4348 0C", f.AtCommand(1, "CH", b"\x0c"), "AT set CH to 0C [id 1]"),
    ("0952 4250", f.AtCommand(0x52, "BP", b"", True), "AT BP?, queued [id 82]"),
    ("8801 4244 00", f.AtResponse(1, "BD", 0), "AT BD: OK [id 1]"),
    ("8801 4E50 02", f.AtResponse(1, "NP", 2), "AT NP: bad command [id 1]"),
    (
        "0001 0013A20040A1B2C3 00 6869",
        f.Transmit(1, "0013A20040A1B2C3", b"hi"),
        "send 2 B 'hi' to 0013A20040A1B2C3 [id 1]",
    ),
    ("0100 1234 01 00", f.Transmit(0, "1234", b"\0", 1),
     "send 1 B '\\x00' to 1234, options 01 [no answer wanted]"),
    ("0105 FFFF 00 6869", f.Transmit(5, "FFFF", b"hi"), "send 2 B 'hi' to all [id 5]"),
    (
        "1001 0013A20040A1B2C3 FFFE 00 00 6869",
        f.TransmitRequest(1, "0013A20040A1B2C3", b"hi"),
        "send 2 B 'hi' to 0013A20040A1B2C3 [id 1]",
    ),
    (
        "1101 0013A20040A1B2C3 FFFE E8 E8 0011 C105 00 00 6869",
        f.TransmitRequest(1, "0013A20040A1B2C3", b"hi", endpoints=f.Endpoints()),
        "send 2 B 'hi' to 0013A20040A1B2C3 (endpoints E8 to E8, cluster 0011, profile C105)"
        " [id 1]",
    ),
    ("895200", f.TransmitStatus(0x52, 0), "transmit status: delivered [id 82]"),
    (
        "8B47FFFE000002",
        f.ExtendedStatus(0x47, 0, "FFFE", 0, 2),
        "transmit status: delivered (network address FFFE) [id 71]",
    ),
    (
        "80 0013A20040A1B2C3 28 00 6869",
        f.Received("0013A20040A1B2C3", -40, 0, b"hi"),
        "received 2 B 'hi' from 0013A20040A1B2C3 at -40 dBm",
    ),
    (
        "81 1234 28 02 6869",
        f.Received("1234", -40, 2, b"hi"),
        "received 2 B 'hi' from 1234 at -40 dBm, options 02",
    ),
    (
        "90 0013A20040A1B2C3 FFFE 01 6869",
        f.ReceivedPacket("0013A20040A1B2C3", "FFFE", 1, b"hi"),
        "received 2 B 'hi' from 0013A20040A1B2C3, options 01",
    ),
    (
        "91 FFFFFFFFFFFFFFFF 1234 E8 E8 0011 C105 01 6869",
        f.ReceivedPacket("FFFFFFFFFFFFFFFF", "1234", 1, b"hi", f.Endpoints()),
        "received 2 B 'hi' from 1234 (endpoints E8 to E8, cluster 0011, profile C105), options 01",
    ),
    ("8A00", f.ModemStatus(0), "modem status: hardware reset or power-up"),
    (
        "95 0013A20040522BAA 7D84 02 7D84 0013A20040522BAA 2000 FFFE 01 01 C105 101E",
        f.NodeIdentification(
            "0013A20040522BAA", "7D84", 2, "7D84", "0013A20040522BAA", b" ",
            bytes.fromhex("FFFE0101C105101E"),
        ),
        "node ' ' is at 0013A20040522BAA, network address 7D84",
    ),
    (
        "1701 0013A20040522BAA FFFE 02 4248 01",
        f.RemoteAtCommand(1, "0013A20040522BAA", "FFFE", 2, "BH", b"\x01"),
        "remote AT set BH to 01 to 0013A20040522BAA [id 1]",
    ),
    (
        "9755 0013A20040522BAA 7D84 534C 00 40522BAA",
        f.RemoteAtResponse(0x55, "0013A20040522BAA", "7D84", "SL", 0, b"\x40\x52\x2b\xaa"),
        "remote AT SL = 40522BAA: OK from 0013A20040522BAA [id 85]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "record", "text"), VECTORS)
def test_layouts_and_words(wire: str, record: f.Frame, text: str) -> None:
    raw = bytes.fromhex(wire)
    assert f.parse(raw) == record
    assert type(f.parse(raw)) is type(record)
    if isinstance(record, f.AtCommand | f.Transmit | f.TransmitRequest | f.RemoteAtCommand):
        assert record.pack() == raw
    assert words.describe(raw) == text


@pytest.mark.parametrize(("wire", "record", "text"), VECTORS)
def test_a_head_cut_short_is_an_error_of_ours(wire: str, record: f.Frame, text: str) -> None:
    whole = bytes.fromhex(wire)
    payload = len(getattr(record, "data", b"") or getattr(record, "value", b""))
    head = len(whole) - payload
    if isinstance(record, f.NodeIdentification):
        head = whole.index(0, 22) + 1
    for size in range(head):
        with pytest.raises(FrameError):
            f.parse(whole[:size])
        assert words.describe(whole[:size])


@given(st.binary(max_size=60))
def test_any_bytes_parse_or_are_refused_and_are_described(raw: bytes) -> None:
    with suppress(FrameError):
        f.parse(raw)
    assert words.describe(raw).isprintable()


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (0x00, "ok"), (0x01, "no_ack"), (0x02, "cca"), (0x03, "purged"), (0x04, "duty_cycle"),
        (0x21, "no_network_ack"), (0x24, "address_unknown"), (0x25, "no_route"),
        (0x74, "too_long"), (0x75, "unrequested"), (0x99, "status_99"),
    ],
)  # fmt: skip
def test_every_delivery_status_has_a_ledger_word(status: int, reason: str) -> None:
    assert words.delivery_reason(status) == reason
    assert "99" in words.delivery_text(0x99)
    assert "4D" in words.modem_text(0x4D)
    assert words.at_status_text(0x43) == "bad parameter"  # the low nibble decides
