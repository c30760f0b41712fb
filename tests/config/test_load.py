"""One file from end to end: the shipped one as it is, and with one thing wrong at a time."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.adapters.base import UsbId
from hilgw.config.load import load_config, load_text
from hilgw.config.source.positions import ConfigErrors
from hilgw.devices.fields import EmitterFields, ReceiverFields
from tests.config.cases import cases

Lines = Callable[..., list[str]]
ROOT = Path(__file__).parents[2]


def test_the_shipped_file_as_objects() -> None:
    loaded = load_config(str(ROOT / "configs" / "xbee.yaml"))
    config = loaded.config
    assert loaded.warnings == []
    assert (config.version, config.backend, config.release, config.medium.seed) == (
        1,
        "mock",
        "R2025a",
        1,
    )
    rover = config.robots["rover"]
    assert rover.position == (0.0, 0.0, 0.0)
    assert rover.devices["tx"] == EmitterFields(
        type="radio", channel=12, baudRate=9600, byteSize=8, bufferSize=4096
    )
    assert rover.devices["rx"] == ReceiverFields(
        type="radio", channel=12, bufferSize=4096, sampling_period_ms=32
    )
    assert rover.controller is not None
    assert rover.controller.kind == "beacon"
    assert rover.controller.settings.payload == "ping {n}"
    assert rover.body is None
    xbee = config.adapters["xbee0"]
    assert xbee.kind == "xbee"
    assert xbee.common.port == "/dev/serial/by-id/usb-Digi_XBee-if00-port0"
    assert (xbee.common.byteSize, xbee.common.air, xbee.common.position) == (10, "lab", (1, 0, 0))
    assert xbee.common.rssi_at_1m_dbm == -40.0
    assert isinstance(xbee.common.rssi_at_1m_dbm, float)
    assert (xbee.settings.pan_id, xbee.settings.api_mode) == (0x3332, 1)
    assert xbee.settings.mapping.by == "module_channel"
    remote, spare = config.airs["lab"].nodes["remote"], config.airs["lab"].nodes["spare"]
    assert (remote.mock, remote.position, remote.replies) == ("xbee", (3, 0, 0), {"ping": "pong"})
    assert remote.parameters == {"channel": 12, "pan_id": 0x3332}
    assert (spare.link, spare.position, spare.parameters) == ("./xbee-spare", None, {})
    assert loaded.data["adapters"]["xbee0"]["pan_id"] == 0x3332


def test_the_configuration_cannot_be_changed(xbee_yaml: str) -> None:
    config = load_text(xbee_yaml, "f").config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.backend = "real"  # type: ignore[misc]


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


@pytest.mark.parametrize("file", sorted(ROOT.glob("configs/*.yaml")), ids=lambda file: file.stem)
def test_every_shipped_file_is_clean(file: Path) -> None:
    assert load_config(str(file)).warnings == []


def test_the_least_file() -> None:
    config = load_text("version: 1\n", "f").config
    assert (config.backend, config.webots, config.robots) == ("real", None, {})


WRONG = cases("wrong_xbee.txt")


@pytest.mark.parametrize(("old", "new", "line"), WRONG, ids=lambda text: text[:40])
def test_one_thing_wrong(xbee_yaml: str, errors: Lines, old: str, new: str, line: str) -> None:
    start = xbee_yaml.index(old, xbee_yaml.index("version:"))
    text = xbee_yaml[:start] + new + xbee_yaml[start + len(old) :]
    assert any(reported.split(": ", 1)[1].startswith(line) for reported in errors(text)), errors(
        text
    )
    row = text[:start].count("\n") + 1
    reported = next(reported for reported in errors(text) if line in reported)
    place = re.match(r"f:(\d+):(\d+): ", reported)
    assert place
    assert abs(int(place[1]) - row) <= 12  # a missing key is reported at what should hold it


def test_exact_places(errors: Lines) -> None:
    text = """\
version: 1
robots:
  rover:
    devices:
      tx: {node: Emitter, chanel: 12, baudRate: fast}
adapters:
  xbee0:
    kind: xbee
    port: /dev/ttyUSB0
    channel: 12
    buadRate: 9600
    air: lab
  xbee1: {kind: xbee, channel: 12}
"""
    assert errors(text) == [
        "f:5:27: robots.rover.devices.tx.chanel: unknown key; did you mean 'channel'?",
        "f:5:49: robots.rover.devices.tx.baudRate: must be a whole number, not the text 'fast'; "
        "write a whole number",
        "f:11:5: adapters.xbee0.buadRate: unknown key; did you mean 'baudRate'?",
        "f:12:10: adapters.xbee0.air: unknown air 'lab'; write it under `airs:`",
        "f:13:3: adapters.xbee1.port: missing; "
        "write `port: /dev/serial/by-id/usb-Digi_XBee-if00-port0`",
    ]


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
    assert [line.split(" ")[0] for line in errors(text)] == [
        "f:2:1:",
        "f:5:19:",
        "f:5:24:",
        "f:6:44:",
        "f:7:41:",
        "f:7:56:",
        "f:9:6:",
        "f:10:25:",
        "f:11:6:",
        "f:12:32:",
    ]


def test_a_thousand_errors_are_shown_shortly(errors: Lines) -> None:
    text = "version: 1\n" + "".join(f"k{number}: 1\n" for number in range(3000))
    lines = errors(text)
    assert len(lines) == ConfigErrors.SHOWN + 1
    assert lines[-1] == "... and 900 more errors"


@pytest.mark.parametrize("text", ["5\n", "text\n", "- a\n- b\n", "null\n", "[]\n"])
def test_a_file_that_is_not_a_mapping(errors: Lines, text: str) -> None:
    assert errors(text) == [
        line for line in errors(text) if line.startswith("f:1:1: must be a mapping")
    ]
