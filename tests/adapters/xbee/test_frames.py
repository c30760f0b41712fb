"""Frame layouts and words: the manual's frames, round trips, and bytes that are no frame."""

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters.xbee import describe as words, frames as f
from hilgw.errors import FrameError

bytes_ = st.integers(0, 255)
data = st.binary(max_size=40)
short = st.binary(min_size=2, max_size=2).map(lambda raw: raw.hex().upper())
long = st.binary(min_size=8, max_size=8).map(lambda raw: raw.hex().upper())
letters = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ%?0123456789", min_size=2, max_size=2)
words16 = st.integers(0, 0xFFFF)
ends = st.none() | st.builds(f.Endpoints, bytes_, bytes_, words16, words16)
records = st.one_of(
    st.builds(f.AtCommand, bytes_, letters, data, st.booleans()),
    st.builds(f.AtResponse, bytes_, letters, bytes_, data),
    st.builds(f.Transmit, bytes_, short | long, data, bytes_),
    st.builds(f.TransmitRequest, bytes_, long, data, short, bytes_, bytes_, ends),
    st.builds(f.TransmitStatus, bytes_, bytes_),
    st.builds(f.ExtendedStatus, bytes_, bytes_, short, bytes_, bytes_),
    st.builds(f.Received, short | long, st.integers(-255, 0), bytes_, data),
    st.builds(f.ReceivedPacket, long, short, bytes_, data, ends),
    st.builds(f.ModemStatus, bytes_),
    st.builds(
        f.NodeIdentification, long, short, bytes_, short, long,
        data.map(lambda name: name.replace(b"\0", b"-")), data,
    ),
    st.builds(f.RemoteAtCommand, bytes_, long, short, bytes_, letters, data),
    st.builds(f.RemoteAtResponse, bytes_, long, short, letters, bytes_, data),
)  # fmt: skip


def packed(record: f.Frame) -> bytes:
    """The frame data of a record; those of frames that only the module sends are written here."""

    def address(*parts: str) -> bytes:
        return bytes.fromhex("".join(parts))

    match record:
        case f.AtResponse(number, name, status, value):
            return bytes((0x88, number)) + name.encode() + bytes((status,)) + value
        case f.TransmitStatus(number, status):
            return bytes((0x89, number, status))
        case f.ExtendedStatus(number, status, network, retries, discovery):
            return bytes((0x8B, number)) + address(network) + bytes((retries, status, discovery))
        case f.Received(source, rssi_dbm, options, data):
            kind = 0x81 if len(source) == 4 else 0x80
            return bytes((kind,)) + address(source) + bytes((-rssi_dbm, options)) + data
        case f.ReceivedPacket(source, network, options, data, ends):
            kind = 0x90 if ends is None else 0x91
            head = bytes((kind,)) + address(source, network) + f.pack_ends(ends)
            return head + bytes((options,)) + data
        case f.ModemStatus(status):
            return bytes((0x8A, status))
        case f.NodeIdentification(sender, sender_network, options, network, source, name, tail):
            head = b"\x95" + address(sender, sender_network) + bytes((options,))
            return head + address(network, source) + name + b"\0" + tail
        case f.RemoteAtResponse(number, source, network, name, status, value):
            head = bytes((0x97, number)) + address(source, network)
            return head + name.encode() + bytes((status,)) + value
    return record.pack()


# Frame data by the layouts of the user guides, and the words for it.
VECTORS = [
    ("0801 4348 0C", f.AtCommand(1, "CH", b"\x0c"), "AT set CH to 0C [id 1]"),
    ("0952 4250", f.AtCommand(0x52, "BP", b"", True), "AT BP?, queued [id 82]"),
    ("8801 4244 00", f.AtResponse(1, "BD", 0), "AT BD: OK [id 1]"),
    ("8801 4348 00 0C", f.AtResponse(1, "CH", 0, b"\x0c"), "AT CH = 0C: OK [id 1]"),
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
    ("890101", f.TransmitStatus(1, 1), "transmit status: not acknowledged [id 1]"),
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
    ("8A85", f.ModemStatus(0x85), "modem status: stack error 85"),
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
    assert packed(record) == raw
    assert words.describe(raw) == text


@given(records)
def test_round_trip(record: f.Frame) -> None:
    assert f.parse(packed(record)) == record


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
    try:
        record = f.parse(raw)
    except FrameError:
        record = None
    text = words.describe(raw)
    assert text.isprintable()
    assert record is None or raw.startswith(packed(record))


def test_long_payloads_are_shown_in_part() -> None:
    text = words.describe(f.Transmit(1, "FFFF", b"x" * 200).pack())
    assert text == f"send 200 B '{'x' * words.SHOWN}'... to all [id 1]"


def test_every_delivery_status_has_a_ledger_word() -> None:
    for status in range(256):
        reason = words.delivery_reason(status)
        assert reason.replace("_", "").isalnum()
        assert (reason == "ok") == (status == 0)
    assert words.delivery_reason(0x99) == "status_99"
    assert "99" in words.delivery_text(0x99)
    assert "4D" in words.modem_text(0x4D)
    assert words.at_status_text(0x43) == "bad parameter"  # the low nibble decides
