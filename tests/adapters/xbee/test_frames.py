"""XBee API framing and frame layouts: the manual's frames, round trips, and what is not valid."""

from contextlib import suppress

import pytest
from hypothesis import assume, given, strategies as st

from hilgw.adapters.xbee import describe as words, frames as f
from hilgw.adapters.xbee.api_frames import FROM_MODULE, MAX_LENGTH, FrameDecoder, encode
from hilgw.errors import FrameError

SPECIAL = bytes((0x7E, 0x7D, 0x11, 0x13))

modes = st.booleans()
frame_data = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.lists(st.sampled_from(SPECIAL + b"\x00\x5e"), min_size=1, max_size=60).map(bytes),
)


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    chunks, begin = [], 0
    for size in sizes:
        chunks.append(stream[begin : begin + size])
        begin += size
    return [*chunks, stream[begin:]]


@pytest.mark.parametrize("data", [b"", bytes(0x10000)])
def test_encode_refuses_what_no_frame_carries(data: bytes) -> None:
    with pytest.raises(FrameError):
        encode(data)
    decoder = FrameDecoder()
    assert decoder.feed(bytes.fromhex("7E0000FF") + encode(b"\x8a\x00")) == [b"\x8a\x00"]
    assert decoder.bad_frames == 1
    assert decoder.feed(encode(bytes(MAX_LENGTH))) == [bytes(MAX_LENGTH)]
    assert decoder.feed(encode(bytes(MAX_LENGTH + 1))) == []
    assert decoder.pending == 0


@given(
    st.binary(max_size=300),
    st.lists(st.integers(0, 40), max_size=12),
    modes,
    st.sampled_from([None, FROM_MODULE]),
)
def test_any_chunking_of_anything_gives_the_same(
    stream: bytes, sizes: list[int], escaped: bool, types: frozenset[int] | None
) -> None:
    whole, parts, single = (FrameDecoder(escaped, types=types) for _ in range(3))
    expected = whole.feed(stream) + whole.flush()
    got = [frame for chunk in cut(stream, sizes) for frame in parts.feed(chunk)] + parts.flush()
    bytewise = [frame for byte in stream for frame in single.feed(bytes((byte,)))] + single.flush()
    assert expected == got == bytewise
    assert whole.dropped_bytes == parts.dropped_bytes == single.dropped_bytes
    assert whole.bad_frames == parts.bad_frames == single.bad_frames
    assert types is None or all(frame[0] in types for frame in expected)


@given(st.lists(st.tuples(st.binary(max_size=20), frame_data), max_size=8), modes)
def test_bytes_are_in_a_frame_or_counted(parts: list[tuple[bytes, bytes]], escaped: bool) -> None:
    stream = b"".join(noise + encode(data, escaped) for noise, data in parts)
    decoder = FrameDecoder(escaped)
    frames = decoder.feed(stream) + decoder.flush()
    assert decoder.pending == 0
    used = sum(len(encode(frame, escaped)) for frame in frames)
    assert used + decoder.dropped_bytes == len(stream)


@given(data=frame_data, bit=st.integers(0, 7), place=st.integers(0, 1000), escaped=modes)
def test_a_flipped_bit_is_not_a_frame_and_the_next_one_is(
    data: bytes, bit: int, place: int, escaped: bool
) -> None:
    follower = b"\x8a\x00"
    wire = bytearray(encode(data, escaped))
    assume(escaped or 0x7E not in wire[1:])  # a false start inside may take the follower along
    index = 3 + place % (len(wire) - 3) if len(wire) > 3 else 3
    wire[index] ^= 1 << bit
    decoder = FrameDecoder(escaped)
    frames = decoder.feed(bytes(wire) + encode(follower, escaped)) + decoder.flush()
    assert data not in frames or data == follower
    assert frames[-1:] == [follower]


def test_a_false_start_waits_only_until_flush() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(b"\x7e\x00\x50" + encode(b"\x8a\x00") + encode(b"\x8a\x06")) == []
    assert decoder.flush() == [b"\x8a\x00", b"\x8a\x06"]
    assert (decoder.pending, decoder.bad_frames, decoder.dropped_bytes) == (0, 1, 3)


def test_types_unmask_a_false_start_at_once() -> None:
    good = encode(b"\x8a\x00") + encode(b"\x89\x01\x00")
    cut_off = b"\x7e\x00\x0c"  # and the sum over the two frames that follow is right
    assert FrameDecoder().feed(cut_off + good + b"\x75") != [b"\x8a\x00", b"\x89\x01\x00"]
    for false_start in (cut_off, b"\x7e\x00\x7e\x00", b"\x7e\x01", b"\x7e\x00\x10\x10"):
        decoder = FrameDecoder(types=FROM_MODULE)
        assert decoder.feed(false_start + good) == [b"\x8a\x00", b"\x89\x01\x00"]
        assert decoder.dropped_bytes == len(false_start)


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize(
    "pattern", [b"\x7e", b"\x7e\x01\xff", b"\x7e\x01\xff\x7d", b"\x7d", b"\x7e\x00", b"garbage"]
)
def test_endless_garbage_keeps_the_buffer_bounded(escaped: bool, pattern: bytes) -> None:
    decoder = FrameDecoder(escaped)
    bound = 2 * (MAX_LENGTH + 4)
    for _ in range(200):
        decoder.feed(pattern * 50)
        assert decoder.pending <= bound
    assert decoder.feed(bytes(bound) + encode(b"\x8a\x00", escaped))[-1:] == [b"\x8a\x00"]


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


def test_long_payloads_are_shown_in_part() -> None:
    text = words.describe(f.Transmit(1, "FFFF", b"x" * 200).pack())
    assert text == f"send 200 B '{'x' * words.SHOWN}'... to all [id 1]"


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
