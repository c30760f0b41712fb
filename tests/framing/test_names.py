"""Names of framings, docs/framing.md, and what bytes without a frame look like."""

import random
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.errors import ConfigError
from hilgw.framing import SHORT_NAMES, create, parse
from hilgw.framing.crc import named
from hilgw.framing.guess import AFTER_NS, KEPT, FirstFrame, guess


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cob-crc16", "did you mean 'cobs-crc16'?"),
        ("line", "did you mean 'lines'?"),
        ("qqq", "use one of cobs-crc16"),
        ("", "use one of cobs-crc16"),
        ("cobs-crc17", "unknown CRC 'crc17'; did you mean 'crc16'?"),
        ("slip:5ms", "takes no ':5ms'"),
        ("xbee_api", "unknown framing"),
    ],
)
def test_unknown_names(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        create(name)
    assert words in str(error.value)


@pytest.mark.parametrize("spec", [None, 5, b"slip", object()])
def test_neither_a_name_nor_settings(spec: object) -> None:
    with pytest.raises(ConfigError, match="neither"):
        create(spec)


@pytest.mark.process
def test_only_the_framing_asked_for_is_loaded() -> None:
    script = (
        "import sys, hilgw.framing as f; assert 'dataclasses' not in sys.modules;"
        "f.create('gap'); print('crcmod' in sys.modules, 'cobs' in sys.modules);"
        "[f.create(each) for each in ('cobs-crc16', 'cobs-crc32', 'slip-xmodem')];"
        "print('crcmod' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 3


def test_a_polynomial_of_ones_own_may_follow_the_dash() -> None:
    """Names are read without regard to case, and so are the polynomial's parts."""
    own = create("cobs-poly=0x11021,init=0xFFFF,rev=false,xorOut=0x0")
    assert own.encode(b"123456789") == create("cobs-crc16").encode(b"123456789")


SETTINGS = [
    plugins.load(plugins.FRAMINGS, kind).Settings for kind in plugins.names(plugins.FRAMINGS)
]

DOC = (Path(__file__).parents[2] / "docs" / "framing.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", DOC, re.DOTALL | re.MULTILINE))
HEX_LINE = re.compile(r"    ((?:[0-9A-F]{2} )*[0-9A-F]{2})(?:  .*)?")


@pytest.mark.parametrize(
    "name", ["cobs-crc16", "slip-crc16", "hdlc", "length", "lines", "gap:20ms"]
)
def test_the_example_is_what_goes_over_the_wire(name: str) -> None:
    lines = [line for line in SECTIONS[name].splitlines() if line.startswith("    ")]
    assert lines[0].startswith("    payload ")
    payload = bytes.fromhex(lines[0].removeprefix("    payload "))
    matches = [HEX_LINE.fullmatch(line) for line in lines[1:]]
    wire = b"".join(bytes.fromhex(match[1]) for match in matches if match)
    assert all(matches)
    framing = create(name)
    assert framing.encode(payload) == wire
    received = framing.feed(wire)
    deadline = framing.next_deadline()
    assert received + (framing.expire(deadline) if deadline else []) == [payload]


def test_every_setting_and_every_short_name_is_there() -> None:
    for settings in SETTINGS:
        section = next(
            SECTIONS[name] for name in SECTIONS if parse_kind(name) == settings().framing
        )
        reported = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        assert reported == [field.name for field in fields(settings) if field.name != "framing"]
    for name in SHORT_NAMES:
        assert f"`{name}`" in DOC


def parse_kind(name: str) -> str:
    return str(parse(name).framing) if name != "CRCs" else ""


def test_every_crc_has_the_value_and_the_names_the_page_gives_it() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.+?) \| (0x\w+) \|$", SECTIONS["CRCs"], re.MULTILINE)
    assert len(rows) == 12
    for name, aliases, check in rows:
        for alias in (name, *aliases.split(", ")):
            assert named(alias).compute(b"123456789") == int(check, 16)
    assert named("poly=0x11021,init=0xFFFF,rev=false,xorOut=0").compute(b"123456789") == 0x29B1


MS = 1_000_000
NS_PER_S = 1_000_000_000


def framed(name: str, *payloads: bytes) -> bytes:
    framing = create(name)
    return b"".join(framing.encode(payload) for payload in payloads)


def at_lower_rate(data: bytes, factor: int) -> bytes:
    """What a UART receives of these bytes when it samples `factor` times as fast."""
    bits = [1]
    for byte in data:
        bits += [0, *(byte >> at & 1 for at in range(8)), 1, 1]
    line = [bit for bit in bits for _ in range(factor)]
    received, begin = bytearray(), 1
    while begin + 10 <= len(line):
        if line[begin - 1] and not line[begin]:
            received.append(sum(line[begin + 1 + bit] << bit for bit in range(8)))
            begin += 10
        else:
            begin += 1
    return bytes(received)


@pytest.mark.parametrize(
    "name", ["cobs-crc16", "cobs-crc32", "slip-crc16", "slip-crc32", "hdlc", "hdlc-crc32", "length"]
)
def test_one_frame_with_a_good_crc_names_its_framing(name: str) -> None:
    torn = framed(name, b"first", b"temp=20\r\n", bytes(range(40)))[3:]
    ours = "slip-crc16" if name.startswith("cobs") else "cobs-crc16"
    assert guess(torn, ours, 115200) == f"framing {name}?"


SLIP, COBS = (
    framed("slip", b"\1\2\3", b"\4\0\6", b"\xc0\xdb"),
    framed("cobs", b"\1\0\3", b"\4\xff", b"\xfe\0"),
)
SLOW = at_lower_rate(b"temp=20\r\n" * 5, 96)
XBEE = bytes.fromhex("7e0005 88014d5900d0")


@pytest.mark.parametrize(
    ("data", "ours", "looks"),
    [
        (b"temp=20\r\n" * 5, "cobs-crc16", "framing lines?"),
        (b"temp=20\r\n" * 3, "gap:20ms", "framing lines?"),
        (b"temp=20\r\n" * 3, "lines", "framing lines-cr?"),
        (b"temp=20\r\n" * 3, "text", "lines that no pattern of the settings describes"),
        (b"temp=20\n", "cobs-crc16", "framing lines?"),
        ("20,5 °C\n".encode() * 3, "cobs-crc16", "framing lines?"),
        (b"\xf7mp=20\r\n" + b"temp=20\r\n" * 3, "slip", "framing lines?"),  # begins in mid-byte
        (b"temp=20\r" * 5, "cobs-crc16", "framing lines-cr?"),
        (b"$" * 30, "cobs-crc16", "text without line ends: framing gap:20ms?"),
        (XBEE + b"\0", "cobs-crc16", "an XBee in API mode: kind xbee?"),
        (b"\x7e" + XBEE, "cobs-crc16", "an XBee in API mode: kind xbee?"),
        (XBEE[:-1], "cobs-crc16", ""),
        (b"\x7e\0\0\xff" * 3, "cobs-crc16", ""),
        (SLIP, "cobs-crc16", "framing slip?"),
        (SLIP[1:], "cobs-crc16", "framing slip?"),
        (SLIP, "slip", ""),
        (SLIP[1:-1], "cobs-crc16", ""),
        (COBS, "cobs-crc16", "framing cobs?"),
        (COBS + b"\5ab\0", "cobs-crc16", "framing cobs?"),
        (COBS + 2 * b"\5ab\0", "cobs-crc16", ""),
        (COBS, "cobs", ""),
        (framed("hdlc", b"one", b"two"), "hdlc", ""),
        (bytes.fromhex("aa5501f0") * 4, "cobs-crc16", "framing length, with other settings?"),
        (SLOW, "cobs-crc16", "a lower baud rate than 9600?"),
        (random.Random(1).randbytes(400), "cobs-crc16", ""),
        (b"\xff", "cobs-crc16", ""),
    ],
)
def test_without_a_crc_the_whole_stream_counts(data: bytes, ours: str, looks: str) -> None:
    assert guess(data, ours, 9600) == looks


@pytest.mark.parametrize(
    ("data", "printed", "program"),
    [
        (b"\r\nGecko Bootloader v1.A.3\r\n1. upload gbl\r\n", "Gecko Bootloader v1.A.3", "XBee 3"),
        (b"\r\nBL > ", "BL >", "an XBee"),
        (b"\r\nB-Bypass\r\nF-Update App\r\nT-Timeout\r\n", "B-Bypass", "programmable XBee"),
        (b"ets Jun  8 2016\r\n\r\nrst:0x1 (POWERON_RESET)\r\n", "rst:0x1 (POWERON_RESET)", "ESP32"),
        (b"\r\n ets Jan  8 2013,rst cause:2, boot mode:(3,6)\r\n", "ets Jan  8 2013", "ESP8266"),
        (b"waiting for download\r\n", "waiting for download", "release GPIO 0"),
        # It prints its ROM first, and its reason later.
        (b"ESP-ROM:esp32s3-20210327\r\nBuild:\r\n", "ESP-ROM:esp32s3-20210327", "an ESP32 that"),
    ],
)
@pytest.mark.parametrize("ours", ["xbee", "cobs-crc16", "text", ""])
def test_boot_loaders_and_menus_are_shown_in_their_words(
    data: bytes, printed: str, program: str, ours: str
) -> None:
    looks = guess(data, ours, 115200)
    assert looks.startswith(f'it sends "{printed}') and program in looks


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(115200, 57600), (115200, 38400), (57600, 9600), (9600, 4800), (38400, 19200), (2400, 1200)],
)
def test_a_slower_sender_is_seen_by_the_length_of_its_bits(ours: int, theirs: int) -> None:
    received = at_lower_rate(b"temp=20.5 hum=41\r\n" * 3, ours // theirs)
    assert guess(received, "cobs-crc16", ours) == (
        f"a lower baud rate than {ours}, such as {theirs}?"
    )
    assert "baud" not in guess(received, "cobs-crc16", 0)  # not a serial line


@pytest.mark.parametrize("end", ["expire", "give up"])
def test_the_notice_comes_once_two_seconds_after_the_first_byte(end: str) -> None:
    watch = FirstFrame("cobs-crc16", 115200)
    assert watch.deadline is None
    for number in range(40):
        watch.take(b"temp=20\r\n"[number % 3 * 3 :][:3], number * MS)
    assert watch.deadline == AFTER_NS == 2_000 * MS
    assert watch.expire(AFTER_NS - 1) == ""
    text = watch.expire(AFTER_NS, held=120) if end == "expire" else watch.give_up()
    assert text == '120 bytes, no frame yet; begins "temp=20\\r\\n": framing lines?'
    assert watch.give_up() == ""
    watch.take(b"more", AFTER_NS)
    assert watch.deadline is None and watch.expire(10 * AFTER_NS) == ""
    assert watch.is_missing(AFTER_NS) and not watch.is_missing(2 * AFTER_NS)
    watch.found()
    assert not watch.is_missing(AFTER_NS)


def test_two_bytes_are_several() -> None:
    for data, words in ((b"\xff", "1 byte, "), (b"\xff\xff", "2 bytes, ")):
        watch = FirstFrame("cobs-crc16", 115200)
        watch.take(data, 0)
        assert watch.expire(AFTER_NS).startswith(words)


@pytest.mark.parametrize(
    ("ours", "rate", "end"),
    [
        ("cobs-crc16", 0, "another baud rate, or another framing than cobs-crc16?"),
        ("", 9600, "another baud rate than 9600, or another framing?"),
    ],
)
def test_the_notice_shows_sixteen_bytes_and_keeps_few(ours: str, rate: int, end: str) -> None:
    watch = FirstFrame(ours, rate)
    noise = random.Random(2).randbytes(10 * KEPT)
    for begin in range(0, len(noise), 100):
        watch.take(noise[begin : begin + 100], 0)
    text = watch.expire(100 * AFTER_NS)
    assert text.startswith(f"{10 * KEPT} bytes, no frame yet; begins ")
    assert text.endswith(f": {end}")
    shown = text.partition('begins "')[2].rpartition('": ')[0].replace('\\"', '"')
    assert shown.encode().decode("unicode_escape").encode("latin-1") == noise[:16]


def test_a_frame_that_grows_without_end_is_reported_and_packets_still_count() -> None:
    watch = FirstFrame("cobs-crc16", 9600)
    for second in range(10):
        watch.take(b"\xff", second * 1000 * MS)
        text = watch.expire(second * 1000 * MS, held=second + 1)
        assert (text != "") == (second == 5), text
    assert not watch.is_missing(9000 * MS)  # it may be a frame all the same


def test_a_good_checksum_is_evidence_at_once_also_on_a_slow_line() -> None:
    watch = FirstFrame("cobs-crc16", 300, 20 * NS_PER_S)
    data = framed("slip-crc16", bytes(range(40)), bytes(40))
    for index, byte in enumerate(data):
        watch.take(bytes((byte,)), index * 10 * NS_PER_S // 300)
    assert watch.expire(AFTER_NS, held=len(data)).endswith("framing slip-crc16?")
