"""CRCs, and COBS, HDLC, SIR, SLIP, lines and gaps on the wire: published vectors, and faults."""

import pickle
import re
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from firmware_mocks import irda_sir as other_reading
from firmware_mocks._framing.specs import framing_of
from hilgw.errors import ConfigError, FrameError
from hilgw.framing import crc, create
from hilgw.framing.base import Framing
from hilgw.framing.cobs import Cobs, CobsSettings
from hilgw.framing.crc import Checksum
from hilgw.framing.gap import Gap, GapSettings
from hilgw.framing.hdlc import Hdlc, HdlcSettings
from hilgw.framing.lines import LineFraming, LineSplitter, LinesSettings
from hilgw.framing.sir import Sir, SirSettings
from hilgw.framing.slip import Slip, SlipSettings
from tests.cases import cases

MESSAGE = b"123456789"
# Check values of the CRC RevEng catalogue, of those that docs/framing.md does not list.
CHECKS = {
    "crc-aug-ccitt": 0xE5CC,
    "crc-16-spi-fujitsu": 0xE5CC,
    "crc-16-genibus": 0xD64E,
    "crc-16-usb": 0xB4C8,
    "crc-16-dnp": 0xEA82,
    "crc-24": 0x21CF02,
    "crc-32-mpeg-2": 0x0376E6E7,
    "crc-32-bzip2": 0xFC891918,
    "posix": 0x765E7680,
    "jamcrc": 0x340BC6D9,
    "xfer": 0xBD0BE338,
    "crc-16-maxim-dow": 0x44C2,
    "crc-64-we": 0x62EC59E3F1A4F00A,
    "crc-64-jones": 0xCAA717168609F281,
}


@pytest.mark.parametrize(("name", "check"), CHECKS.items())
def test_check_value(name: str, check: int) -> None:
    assert crc.named(name).compute(MESSAGE) == check


@pytest.mark.parametrize("name", crc.catalogue())
def test_every_name_continues_and_has_its_residue(name: str) -> None:
    one = crc.named(name)
    assert one.update(MESSAGE[4:], one.update(MESSAGE[:4], one.start)) == one.compute(MESSAGE)
    natural = crc.Checksum(name, one.natural_order)
    assert natural.size == one.size
    for message in (b"", b"\0", MESSAGE, bytes(range(256))):
        sealed = natural.seal(message)
        assert one.compute(sealed) == natural.residue
        assert natural.holds(sealed)
        assert not natural.holds(sealed[:-1] + bytes([sealed[-1] ^ 0x10]))


def test_any_polynomial() -> None:
    named = crc.named("crc-16-dnp")
    given = crc.named("poly=0x13D65,init=0,rev=true,xorOut=0xFFFF")
    assert given.compute(MESSAGE) == named.compute(MESSAGE) == 0xEA82
    assert crc.named(given.name) == given
    assert crc.polynomial(0x11021, 0xFFFF, False, 0).compute(MESSAGE) == 0x29B1
    assert crc.polynomial(0x104C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF).compute(MESSAGE) == 0xCBF43926
    assert crc.polynomial(0x11021, 0, False, 0xFFFF).compute(MESSAGE) == 0x31C3 ^ 0xFFFF


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("crc-cccitt-false", "did you mean 'crc-ccitt-false'?"),
        ("", "unknown CRC ''"),
        ("poly=0x1021", "top bit"),
        ("poly=0x11021,init=0x10000", "fit 16 bits"),
        ("poly=0x11021,init=-1", "write it like"),
        ("poly=0x11021,rev=maybe", "write it like"),
        ("init=0", "write it like"),
        ("poly=0x11021,poly=0x11021", "write it like"),
    ],
)
def test_errors_name_the_fix(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        crc.named(text)
    assert words in str(error.value)


MS = 1_000_000


def test_a_pause_ends_a_packet() -> None:
    gap = create("gap:20ms")
    assert gap.next_deadline() is None
    assert gap.feed(b"ab", 100 * MS) == []
    assert gap.feed(b"cd", 119 * MS) == []
    assert gap.next_deadline() == 139 * MS
    assert gap.expire(139 * MS - 1) == []
    assert gap.expire(139 * MS) == [b"abcd"]
    assert gap.next_deadline() is None
    assert gap.expire(500 * MS) == []


def test_too_long_is_dropped_whole_until_the_pause() -> None:
    gap = Gap(GapSettings(max_payload=4))
    for ms, data in enumerate((b"123", b"45", b"6")):
        assert gap.feed(data, ms * MS) == []
    assert gap.held == 0
    assert gap.feed(b"1234", 22 * MS) == []
    assert gap.dropped == {"too_long": 1}
    assert gap.expire(42 * MS) == [b"1234"]


@pytest.mark.parametrize(
    ("name", "pause_ns"),
    [
        ("gap", 20 * MS),
        ("gap:500us", MS // 2),
        ("gap:0.1s", 100 * MS),
        ("gap: 3 ms", 3 * MS),
        ("gap:60s", 60_000 * MS),
    ],
)
def test_the_sender_gets_the_length_of_the_pause(name: str, pause_ns: int) -> None:
    assert create(name).pause_ns == pause_ns


@pytest.mark.parametrize(
    "name", ["gap:20", "gap:-1ms", "gap:0ms", "gap:60001ms", "gap:x", "gap-20ms"]
)
def test_unreadable_gaps(name: str) -> None:
    with pytest.raises(ConfigError, match=r"use more than 0 and up to 60s|gap:20ms"):
        create(name)


@pytest.mark.parametrize(
    ("name", "longest"),
    [("cobs", 4096), ("slip", 4096), ("hdlc", 4096), ("lines", 4096), ("length", 1024)],
)
def test_the_longest_packet_that_a_short_name_carries(name: str, longest: int) -> None:
    assert create(name).max_payload == longest


def test_garbage_before_a_frame_with_a_length_is_counted_and_not_kept() -> None:
    framing = create("length")
    for _ in range(50):
        assert framing.feed(b"\xaa" * 1000, 0) == []
    assert framing.feed(framing.encode(b"x"), 0) == [b"x"]
    assert framing.dropped == {"garbage_bytes": 50_000} and len(pickle.dumps(framing)) < 10_000


def lines(terminator: str, max_payload: int = 8) -> LineFraming:
    return LineFraming(LinesSettings(terminator=terminator, max_payload=max_payload))


def test_the_longest_line_with_half_its_terminator_is_not_too_long() -> None:
    framing = lines("\r\n")
    assert framing.feed(b"12345678\r") == []
    assert framing.feed(b"\n") == [b"12345678"]
    assert framing.feed(b"12345678\r") == []
    assert framing.feed(b"9") == []
    assert framing.feed(b"\r\nnext\r\n") == [b"next"]
    assert framing.dropped == {"too_long": 1}


@pytest.mark.parametrize(
    ("terminator", "payload"),
    [("\n", b"a\nb"), ("\n", b"\n"), ("\r\n", b"x\r\n"), ("aba", b"xab"), ("aa", b"xa")],
)
def test_a_packet_that_would_end_early_is_refused(terminator: str, payload: bytes) -> None:
    with pytest.raises(FrameError, match=r"terminator.*cobs"):
        lines(terminator).encode(payload)


@pytest.mark.parametrize("terminator", ["", "123456789", "\u2028"])
def test_terminators_that_end_nothing(terminator: str) -> None:
    with pytest.raises(ConfigError, match="one to eight"):
        lines(terminator)


def test_without_a_terminator_both_line_ends_are_taken_and_lf_is_sent() -> None:
    framing = LineFraming(LinesSettings(max_payload=8))
    assert framing.encode(b"a\rb") == b"a\rb\n"
    chunks = (b"one\r", b"\ntwo\n\r\n\nthr", b"ee\r\r\n12345678\r\n123456789\n123456789\r\n")
    received = [line for chunk in chunks for line in framing.feed(chunk)]
    assert received == [b"one", b"two", b"three\r", b"12345678"]
    assert framing.dropped == {"too_long": 2}


def test_a_packet_that_ends_in_cr_is_refused_with_its_reason() -> None:
    with pytest.raises(FrameError, match=r"ends in CR.*terminator"):
        create("lines").encode(b"temp=20\r")
    for name in ("lines-lf", "lines-crlf"):
        framing = create(name)
        assert framing.feed(framing.encode(b"temp=20\r")) == [b"temp=20\r"]


# --- the splitter of answers ----------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(b"\r\n",), (b"\r",), (b"\r", b"\n"), (b"##",)])
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"\r", b"\n", b"#", b"12345678", b"a" * 9])),
    st.booleans(),
)
def test_lines_of_answers_are_the_same_in_any_chunks(
    ends: tuple[bytes, ...], chunks: list[bytes], keeps_tail: bool
) -> None:
    splitter = LineSplitter(ends, 8, keeps_tail=keeps_tail)
    received = [line for chunk in chunks for line in splitter.feed(chunk)]
    *ended, rest = re.split(b"|".join(ends), b"".join(chunks))
    if keeps_tail:
        assert received == [line[-8:] for line in ended if line]
        assert splitter.dropped == 0
    else:
        assert received == [line for line in ended if 0 < len(line) <= 8]
        long = sum(len(line) for line in ended if len(line) > 8)
        assert long <= splitter.dropped <= long + len(rest)


@pytest.mark.parametrize("keeps_tail", [False, True])
def test_an_endless_line_of_answers_takes_no_memory(keeps_tail: bool) -> None:
    splitter = LineSplitter([b"\r\n"], 8, keeps_tail=keeps_tail)
    for _ in range(100):
        assert splitter.feed(b"x" * 100) == []
    assert len(pickle.dumps(splitter)) < 1000
    assert splitter.feed(b"OK\r\nOK\r\n") == ([b"xxxxxxOK", b"OK"] if keeps_tail else [b"OK"])
    assert splitter.dropped == (0 if keeps_tail else 10_002)


DIGITS = b"123456789"  # with the check values of the CRC catalogues
COBS = CobsSettings(crc="none")
SEVERAL = bytes(range(1, 255))


def made(settings: Any) -> Framing:
    kinds: dict[type, Any] = {
        CobsSettings: Cobs, HdlcSettings: Hdlc, SirSettings: Sir, SlipSettings: Slip,
    }  # fmt: skip
    framing: Framing = kinds[type(settings)](settings)
    return framing


@pytest.mark.parametrize(
    ("settings", "payload", "wire"),
    [
        # The examples of the COBS article.
        (COBS, b"", "01 00"),
        (COBS, b"\0", "01 01 00"),
        (COBS, b"\0\0", "01 01 01 00"),
        (COBS, b"\x11\x22\x00\x33", "03 11 22 02 33 00"),
        (COBS, b"\x11\x22\x33\x44", "05 11 22 33 44 00"),
        (COBS, b"\x11\0\0\0", "02 11 01 01 01 00"),
        (COBS, SEVERAL, f"FF {SEVERAL.hex()} 00"),
        (COBS, b"\0" + SEVERAL, f"01 FF {SEVERAL.hex()} 00"),
        (COBS, SEVERAL + b"\xff", f"FF {SEVERAL.hex()} 02 FF 00"),
        (CobsSettings(), DIGITS, "0C 313233343536373839 29B1 00"),
        (CobsSettings(crc_order="little"), DIGITS, "0C 313233343536373839 B129 00"),
        # RFC 1055 and RFC 1662.
        (SlipSettings(), b"\1\xc0\2\xdb\xdc\xdd", "C0 01 DBDC 02 DBDD DC DD C0"),
        (SlipSettings(leading_end=False), b"a", "61 C0"),
        (SlipSettings(crc="crc16"), DIGITS, "C0 313233343536373839 29B1 C0"),
        (HdlcSettings(), DIGITS, "7E 313233343536373839 6E90 7E"),
        (HdlcSettings(crc="crc-32"), DIGITS, "7E 313233343536373839 2639F4CB 7E"),
        (SirSettings(extra_bofs=2), DIGITS, "FFFF C0 313233343536373839 6E90 C1"),
    ],
)
def test_published_encodings(settings: Any, payload: bytes, wire: str) -> None:
    framing = made(settings)
    assert framing.encode(payload) == bytes.fromhex(wire)
    assert framing.feed(bytes.fromhex(wire)) == [payload]


CRC_OF_ZEROS = CobsSettings(crc="xmodem")
GOOD_COBS, GOOD_SIR = Cobs().encode(b"good"), Sir().encode(b"good")
GOOD_HDLC, GOOD_SLIP = Hdlc().encode(b"good"), Slip().encode(b"good")


@pytest.mark.parametrize(
    ("settings", "wire", "payloads", "dropped"),
    [
        (CobsSettings(), b"\0\0" + GOOD_COBS + b"\0\0\0" + GOOD_COBS + b"\0", 2, {}),
        (CobsSettings(), b"\x05ab\0", 0, {"bad_code": 1}),
        (CobsSettings(), b"\x02\xff\0", 0, {"too_short": 1}),
        (CobsSettings(), b"\x01\x01\x01\x01\0", 0, {"bad_crc": 1}),
        (CobsSettings(), GOOD_COBS.replace(b"g", b"G"), 0, {"bad_crc": 1}),
        (CobsSettings(max_payload=8), Cobs().encode(DIGITS), 0, {"too_long": 1}),
        (CobsSettings(max_payload=8), b"\x01" * 100 + b"\0", 0, {"too_long": 1}),
        # A frame shorter than its CRC is none, even where the CRC is zero.
        (CRC_OF_ZEROS, b"\x01\x01\0\x01\x01\0", 0, {"too_short": 2}),
        (SlipSettings(), GOOD_SLIP[:-1] + GOOD_SLIP + b"\xc0\xc0" + GOOD_SLIP, 3, {}),
        *(
            (SlipSettings(), bytes.fromhex(f"{bad} C0"), 0, {"bad_escape": 1})
            for bad in ("DB", "41 DB 41", "DB DB DC", "DB DB DD")
        ),
        (SlipSettings(), b"\xdb\xc0\xdc\xc0", [b"\xdc"], {"bad_escape": 1}),
        (SlipSettings(crc="crc16"), DIGITS + b"\x29\xb0\xc0", 0, {"bad_crc": 1}),
        (SlipSettings(crc="crc16"), b"\xff\xc0", 0, {"too_short": 1}),
        (SlipSettings(crc="crc16", max_payload=9), b"A" * 12 + b"\xc0", 0, {"too_long": 1}),
        (HdlcSettings(), GOOD_HDLC[:-1] + GOOD_HDLC + b"~~~", 2, {}),
        (HdlcSettings(), GOOD_HDLC[:5] + b"\x7d" + GOOD_HDLC, 1, {"aborted": 1}),
        (HdlcSettings(), b"12345678\x6e\x90~", 0, {"bad_crc": 1}),
        (HdlcSettings(), b"\0\0~", 0, {"too_short": 1}),
        (HdlcSettings(max_payload=9), b"A" * 12 + b"~", 0, {"too_long": 1}),
        (SirSettings(), GOOD_SIR[:14] + GOOD_SIR, 1, {"aborted": 1}),
        (SirSettings(), b"\xc0" * 11 + GOOD_SIR[11:], 1, {}),  # as old devices begin
        (SirSettings(), b"\xc0abc\x7d\xc1", 0, {"aborted": 1}),
        (SirSettings(), b"\xc0abcd\xc1", 0, {"bad_crc": 1}),
        (SirSettings(), b"\xc0a\xc1", 0, {"too_short": 1}),
        (SirSettings(), b"\xc0a\x7d\x7da\xc1", 0, {"bad_escape": 1}),
        (SirSettings(max_payload=100), b"\xc0" + b"x" * 5000 + b"\xc1", 0, {"too_long": 1}),
        (SirSettings(), b"hello\xc1", 0, {"garbage_bytes": 5}),
    ],
)
def test_a_bad_frame_is_dropped_alone_and_counted(
    settings: Any, wire: bytes, payloads: int | list[bytes], dropped: dict[str, int]
) -> None:
    expected = payloads if isinstance(payloads, list) else [b"good"] * payloads
    for chunks in ([wire], [wire[at : at + 1] for at in range(len(wire))]):
        framing = made(settings)
        good = framing.encode(b"good")
        came = framing.feed(good)
        for chunk in chunks:
            came += framing.feed(chunk)
        assert came + framing.feed(good) == [b"good", *expected, b"good"]
        assert framing.dropped == dropped
    whole = made(settings)
    assert whole.feed(good + wire + good) == [b"good", *expected, b"good"]


@pytest.mark.parametrize("crc", ["crc-ccitt-false", "crc-32", "x-25", "crc-8", "crc-64", "none"])
@pytest.mark.parametrize("order", ["big", "little"])
@cases(0.5)
@given(payloads=st.lists(st.binary(max_size=300), max_size=8))
def test_any_crc_in_either_order(crc: str, order: Any, payloads: list[bytes]) -> None:
    cobs = Cobs(CobsSettings(crc=crc, crc_order=order))
    assert cobs.feed(b"".join(map(cobs.encode, payloads))) == payloads
    assert [p for payload in payloads for p in cobs.feed(cobs.encode(payload))] == payloads
    assert not cobs.dropped


def test_the_crc_of_slip_is_escaped_too() -> None:
    slip, checksum = Slip(SlipSettings(crc="crc-8")), Checksum("crc-8", "big")
    payloads = (number.to_bytes(2, "big") for number in range(1 << 16))
    payload = next(each for each in payloads if checksum.seal(each)[-1] == 0xC0)
    wire = slip.encode(payload)
    assert wire.endswith(b"\xdb\xdc\xc0")
    assert slip.feed(wire) == [payload]


# --- HDLC and SIR, with a reference of their own --------------------------------------------------


def fcs16(data: bytes) -> bytes:
    register = 0xFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x8408 if register & 1 else 0)
    return (register ^ 0xFFFF).to_bytes(2, "little")


def stuffed(data: bytes, escaped: frozenset[int]) -> bytes:
    parts = (bytes([0x7D, byte ^ 0x20]) if byte in escaped else bytes([byte]) for byte in data)
    return b"".join(parts)


@pytest.mark.parametrize("control_map", [0, 0xA0000, 0xFFFFFFFF])
@given(payload=st.binary(min_size=1, max_size=60))
def test_frames_as_rfc_1662_builds_them(control_map: int, payload: bytes) -> None:
    hdlc = Hdlc(HdlcSettings(control_map=control_map))
    controls = frozenset(n for n in range(32) if control_map >> n & 1)
    escaped = controls | {0x7D, 0x7E}
    wire = b"~" + stuffed(payload + fcs16(payload), escaped) + b"~"
    assert hdlc.encode(payload) == wire
    # All that may be escaped: what becomes neither a flag nor a character the receiver drops.
    everything = frozenset(b for b in range(256) if b ^ 0x20 not in escaped - {0x7D})
    assert hdlc.feed(b"~" + stuffed(payload + fcs16(payload), everything) + b"~") == [payload]
    if controls:  # a modem puts some in on the way
        put_in = bytes([max(controls)])
        assert hdlc.feed(put_in.join(wire[i : i + 1] for i in range(len(wire)))) == [payload]


def test_an_escaped_5d_at_the_end_is_not_an_abort() -> None:
    payload = next(bytes([n]) for n in range(256) if fcs16(bytes([n]))[1] == 0x5D)
    wire = payload + fcs16(payload)
    assert Hdlc().feed(b"~" + wire[:-1] + b"\x7d\x7d~") == [payload]


SPICE = st.lists(st.sampled_from(b"\xc0\xc1\x7d\xff\x5d\xe0\xe1\x20a"), max_size=40).map(bytes)


@given((SPICE | st.binary(max_size=60)).filter(bool))
def test_the_mock_of_sir_reads_the_same_bytes(payload: bytes) -> None:
    wire = Sir().encode(payload)
    assert wire == other_reading.wrap(payload)
    assert other_reading.unwrap(wire[11:-1]) == payload


FULL = b"\xff" + 254 * b"x"  # a block that no zero follows
BLOCKS = st.sampled_from([b"\0", b"\1", b"\3", b"\xfe", b"\xff", FULL, b"x"])


@example(FULL + b"\2x")
@given(st.lists(BLOCKS, max_size=20).map(b"".join))
def test_the_mock_of_cobs_reads_the_same_frames_and_drops_the_same(wire: bytes) -> None:
    ours, mock = create("cobs"), framing_of("cobs")
    assert mock.feed(wire + b"\0", 0, 0) == ours.feed(wire + b"\0")
    assert mock.bad == sum(ours.dropped.values())
