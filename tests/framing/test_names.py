"""Short names of framings, and docs/framing.md: all examples, names and values are the code's."""

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
        for each in (name, *aliases.split(", ")):
            assert named(each).compute(b"123456789") == int(check, 16)
    assert named("poly=0x11021,init=0xFFFF,rev=false,xorOut=0").compute(b"123456789") == 0x29B1
