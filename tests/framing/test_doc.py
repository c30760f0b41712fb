"""docs/framing.md agrees with the code: all examples, names and values."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.framing import SHORT_NAMES, create, parse
from hilgw.framing.crc import named

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
