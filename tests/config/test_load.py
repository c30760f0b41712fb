"""One file from end to end: the shipped one as it is, and with one thing wrong at a time."""

import re
from pathlib import Path

import pytest

from hilgw.adapters.base import UsbId
from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors
from tests.config.cases import Lines, cases

ROOT = Path(__file__).parents[2]


def test_what_the_comments_of_the_shipped_file_offer_is_valid(xbee_yaml: str) -> None:
    usb = re.search(r"\{usb: .*\}", xbee_yaml)
    tables = re.findall(r"\| (\{by: [^|\n]+\})", xbee_yaml)
    assert usb
    assert len(tables) == 2
    for mapping in tables:
        overrides = [f"adapters.xbee0.port={usb[0]}", f"adapters.xbee0.mapping={mapping}"]
        adapter = load_text(xbee_yaml, "f", overrides).config.adapters["xbee0"]
        assert adapter.common.port == UsbId(vid=0x0403, pid=0x6015, serial="A1B2")
        assert adapter.settings.mapping.by == mapping.split()[1].strip(",}")


WRONG = cases("wrong_xbee.txt")


@pytest.mark.parametrize(("old", "new", "line"), WRONG, ids=lambda text: text[:40])
def test_one_thing_wrong(xbee_yaml: str, errors: Lines, old: str, new: str, line: str) -> None:
    start = xbee_yaml.index(old, xbee_yaml.index("version:"))
    text = xbee_yaml[:start] + new + xbee_yaml[start + len(old) :]
    reported = [each.split(": ", 1) for each in errors(text)]
    place = next((place for place, message in reported if message.startswith(line)), None)
    assert place is not None, reported
    row = text[:start].count("\n") + 1
    assert abs(int(place.split(":")[1]) - row) <= 12  # a missing key: at what should hold it


def test_syntax_types_names_and_values_are_reported_in_one_run(errors: Lines) -> None:
    text = """\
version: 1
version: 1
robots:
  rover:
    position: [0, 014, yes]
    devices: {tx: {node: Emitter, channel: -7}, rx: {node: Receiver}}
    controller: {kind: beacon, emitter: ty, period_ms: 1e3}
adapters:
  a: &a {kind: xbee, port: /dev/null, channel: 12}
  b: {kind: xbee, port: /dev/../dev/null, channel: 12}
  c: *a
airs: {lab: {nodes: {n: {mock: none}}}}
"""
    places = " ".join(line.split(": ")[0] for line in errors(text))
    assert places == "f:2:1 f:5:19 f:5:24 f:6:44 f:7:41 f:7:56 f:9:6 f:10:25 f:11:6 f:12:32"


def test_a_thousand_errors_are_shown_shortly(errors: Lines) -> None:
    lines = errors("version: 1\n" + "".join(f"k{number}: 1\n" for number in range(3000)))
    assert len(lines) == ConfigErrors.SHOWN + 1 and lines[-1] == "... and 900 more errors"


@pytest.mark.parametrize("text", ["5\n", "text\n", "- a\n- b\n", "null\n", "[]\n"])
def test_a_file_that_is_not_a_mapping(errors: Lines, text: str) -> None:
    (line,) = errors(text)
    assert line.startswith("f:1:1: must be a mapping")
