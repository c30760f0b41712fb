"""One file from end to end: the shipped one as it is, and with one thing wrong at a time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.adapters.base import UsbId
from hilgw.config.load import load_config, load_text
from hilgw.config.source.positions import ConfigErrors
from hilgw.devices.fields import EmitterFields, ReceiverFields

Lines = Callable[..., list[str]]
ROOT = Path(__file__).parents[2]


def test_the_shipped_file_as_objects() -> None:
    loaded = load_config(str(ROOT / "configs" / "xbee.yaml"))
    config = loaded.config
    assert loaded.warnings == []
    assert (config.version, config.backend, config.webots, config.medium.seed) == (
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
    assert (config.backend, config.webots, config.robots) == ("real", "R2025a", {})


WRONG = [  # replace this, by this: path, what is said
    ("version: 1", "version: 2", "version: 2 is not one of the choices; allowed: 1"),
    ("version: 1\n", "", "version: missing; write `version: 1`"),
    ("backend: mock", "backend: moc", "backend: 'moc' is not one of the choices; did you mean"),
    ("backend: mock", "backend: loop", "backend: 'loop' was renamed; write loopback"),
    (
        "  rover:\n",
        "  rover:\n    failsafe: {}\n",
        "robots.rover.failsafe: this key was renamed; write safety",
    ),
    (
        "  rover:\n",
        "  rover:\n    motion: {kind: waypoints, points: [[0, 0, 0]], loop: true}\n",
        "robots.rover.motion.loop: this key was renamed; write closed",
    ),
    (
        "webots: R2025a",
        "webots: 2025",
        'webots: must be text, not the number 2025; put it in quotes: "2025"',
    ),
    ("webots: R2025a", "webots: R25", "webots: 'R25' is not valid here; write it like R2025a"),
    ("{seed: 1}", "{seed: 1.5}", "medium.seed: must be a whole number, not the number 1.5"),
    ("{seed: 1}", "{seed: true}", "medium.seed: must be a whole number, not true"),
    (
        "{seed: 1}",
        '{seed: "1"}',
        "medium.seed: must be a whole number, not the text '1'; write it without quotes: 1",
    ),
    ("{seed: 1}", "{seed: -1}", "medium.seed: -1 is out of range; allowed: 0 to 4294967295"),
    ("{seed: 1}", "{sed: 1}", "medium.sed: unknown key; did you mean 'seed'?"),
    ("{seed: 1}", "", "medium: must be a mapping, not nothing; write a value, or delete the key"),
    ("{seed: 1}", "5", "medium: must be a mapping, not the number 5"),
    ("position: [0, 0, 0]", "position: [0, 0]", "robots.rover.position: must have 3 items, has 2"),
    (
        "position: [0, 0, 0]",
        "position: [0, 0, x]",
        "robots.rover.position[2]: must be a number, not the text 'x'",
    ),
    (
        "position: [0, 0, 0]",
        "position: [0, 0, .inf]",
        "robots.rover.position[2]: must be a finite number",
    ),
    (
        "position: [0, 0, 0]",
        "position: [0, 0, .nan]",
        "robots.rover.position[2]: must be a finite number",
    ),
    (
        "position: [0, 0, 0]",
        "position: [0, 0, true]",
        "robots.rover.position[2]: must be a number, not true",
    ),
    (
        "position: [0, 0, 0]",
        "position: {x: 0}",
        "robots.rover.position: must be a list, not a mapping",
    ),
    (
        "position: [0, 0, 0]",
        'position: "000"',
        "robots.rover.position: must be a list, not the text '000'",
    ),
    (
        "node: Emitter",
        "node: Emiter",
        "robots.rover.devices.tx.node: unknown node 'Emiter'; did you mean 'Emitter'?",
    ),
    (
        "node: Emitter",
        "node: Camera",
        "robots.rover.devices.tx.node: camera images are not carried yet; delete the device",
    ),
    (
        "node: Emitter",
        "node: Supervisor",
        "robots.rover.devices.tx.node: supervisor functions are not carried yet",
    ),
    (
        "node: Emitter, ",
        "",
        "robots.rover.devices.tx.node: missing; write `node: Emitter | Receiver | ",
    ),
    (
        "node: Emitter",
        "node: 3",
        "robots.rover.devices.tx.node: must be text; write `node: Emitter | Receiver | ",
    ),
    (
        "type: radio",
        "type: radoi",
        "robots.rover.devices.tx.type: 'radoi' is not one of the choices; did you mean",
    ),
    (
        "type: radio",
        "type: x",
        "robots.rover.devices.tx.type: 'x' is not one of the choices; known here: infra-red, radio",
    ),
    (
        "baudRate: 9600, byteSize: 8",
        "baudRate: -2, byteSize: 8",
        "robots.rover.devices.tx.baudRate: -2 is out of range; allowed: 0 to 2147483647, or -1",
    ),
    (
        "byteSize: 8,",
        "byteSize: 7,",
        "robots.rover.devices.tx.byteSize: 7 is out of range; allowed: 8 to 2147483647",
    ),
    (
        "byteSize: 8,",
        "aperture: 6.3,",
        "robots.rover.devices.tx.aperture: 6.3 is out of range; allowed: 0 to 6.28319, or -1",
    ),
    (
        "byteSize: 8,",
        "aperture: 6.28319,",
        "robots.rover.devices.tx.aperture: 6.28319 is out of range; "
        "allowed: 0 to 6.283185307179586, or -1",
    ),
    (
        "byteSize: 8,",
        "allowedChannels: [1, -2],",
        "robots.rover.devices.tx.allowedChannels[1]: -2 is out of range",
    ),
    (
        "byteSize: 8,",
        "allowedChannels: [1],",
        "robots.rover.devices.tx.channel: channel 12 is not in allowedChannels [1]",
    ),
    (
        "byteSize: 8,",
        "range: -0.5,",
        "robots.rover.devices.tx.range: -0.5 is out of range; allowed: 0 to 1000000000, or -1",
    ),
    (
        "sampling_period_ms: 32",
        "sampling_period: 32",
        "robots.rover.devices.rx.sampling_period: unknown key; did you mean 'sampling_period_ms'?",
    ),
    (
        "kind: beacon",
        "kind: becon",
        "robots.rover.controller.kind: unknown kind 'becon'; did you mean 'beacon'?",
    ),
    ("kind: beacon", "kind: base", "robots.rover.controller.kind: unknown kind 'base'"),
    ("{kind: beacon, ", "{", "robots.rover.controller.kind: missing; write `kind: beacon"),
    (
        "emitter: tx",
        "emitter: tz",
        "robots.rover.controller.emitter: unknown device 'tz'; did you",
    ),
    (
        "emitter: tx",
        "emitter: rx",
        "robots.rover.controller.emitter: 'rx' is a Receiver, not an Emitter; did you mean 'tx'?",
    ),
    (
        "receiver: rx",
        "receiver: tx",
        "robots.rover.controller.receiver: 'tx' is an Emitter, not a Receiver; did you mean 'rx'?",
    ),
    ("emitter: tx, ", "", "robots.rover.controller.emitter: missing; write `emitter: tx`"),
    (
        "period_ms: 500",
        "period_ms: 0",
        "robots.rover.controller.period_ms: 0 is out of range; allowed: 1 to 86400000",
    ),
    ("ping {n}", "ping {m}", "robots.rover.controller.payload: not a valid template"),
    ("kind: xbee", "kind: xbe", "adapters.xbee0.kind: unknown kind 'xbe'; did you mean 'xbee'?"),
    ("kind: xbee", "kind: _xbee_session", "adapters.xbee0.kind: unknown kind '_xbee_session'"),
    (
        "    baudRate",
        "    buadRate",
        "adapters.xbee0.buadRate: unknown key; did you mean 'baudRate'?",
    ),
    (
        "baudRate: 9600\n",
        "baudRate: 9600.0\n",
        "adapters.xbee0.baudRate: must be a whole number, not the number 9600.0",
    ),
    ("byteSize: 10", "byteSize: 11", "adapters.xbee0.byteSize: byteSize 11 contradicts the line"),
    ("byteSize: 10", "byteSize: 9", "adapters.xbee0.byteSize: byteSize 9 contradicts the line"),
    (
        "byteSize: 10",
        "byteSize: 13",
        "adapters.xbee0.byteSize: 13 is out of range; allowed: 8 to 12",
    ),
    ("channel: 12   ", "channel: 27   ", "adapters.xbee0.channel: 27 is not a valid XBee channel"),
    (
        "{by: module_channel}",
        "{by: module}",
        "adapters.xbee0.mapping.by: unknown by 'module'; did you mean 'module_channel'?",
    ),
    (
        "{by: module_channel}",
        "{}",
        "adapters.xbee0.mapping.by: missing; write `by: module_channel | destination | header`",
    ),
    (
        "{by: module_channel}",
        "header",
        "adapters.xbee0.mapping: must be a mapping with the key 'by'",
    ),
    (
        "{by: module_channel}",
        "{by: header, table: {}}",
        "adapters.xbee0.mapping.table: unknown key; known here: by",
    ),
    (
        "{by: module_channel}",
        "{by: destination, table: {12: 13200040}}",
        "adapters.xbee0.mapping.table[12]: must be text, not the number 13200040; put it in quotes",
    ),
    (
        "{by: module_channel}",
        "{by: destination, table: {12: 0x1234}}",
        "adapters.xbee0.mapping.table[12]: must be text, not the number 4660; put it in quotes",
    ),
    (
        "{by: module_channel}",
        "{by: destination, table: {12: 0013200040}}",
        "adapters.xbee0.mapping.table[12]: a number with leading zeros",
    ),
    (
        "{by: module_channel}",
        '{by: destination, table: {x: "12"}}',
        "adapters.xbee0.mapping.table.x: must be a whole number, not the text 'x'",
    ),
    (
        "{by: module_channel}",
        '{by: destination, table: {12: "xyz"}}',
        "adapters.xbee0.mapping.table[12]: 'xyz' is not a valid XBee address",
    ),
    (
        "pan_id: 0x3332\n",
        "pan_id: 0x13332\n",
        "adapters.xbee0.pan_id: 78642 is out of range; allowed: 0 to 65535",
    ),
    (
        "api_mode: 1",
        "api_mode: 3",
        "adapters.xbee0.api_mode: 3 is not one of the choices; allowed: 0, 1, 2",
    ),
    (
        "rssi_at_1m_dbm: -40",
        "rssi_at_1m_dbm: -4e1",
        "adapters.xbee0.rssi_at_1m_dbm: a number with this exponent",
    ),
    (
        "destination: broadcast",
        "sources: {1320: rover}",
        'adapters.xbee0.sources[1320]: must be text, not the number 1320; put it in quotes: "1320"',
    ),
    (
        "destination: broadcast",
        'sources: {"1320": rovr}',
        "adapters.xbee0.sources.'1320': unknown robot 'rovr'; did you mean 'rover'?",
    ),
    (
        "air: lab",
        "air: lap",
        "adapters.xbee0.air: unknown air 'lap'; did you mean 'lab'?",
    ),
    ("loss: 0.0", "loss: 1.5", "airs.lab.loss: 1.5 is out of range; allowed: 0 to 1"),
    (
        "mock: xbee, channel",
        "mock: xbe, channel",
        "airs.lab.nodes.remote.mock: unknown mock 'xbe'; did you mean 'xbee'?",
    ),
    (
        "mock: xbee, channel",
        "mock: base, channel",
        "airs.lab.nodes.remote.mock: unknown mock 'base'",
    ),
    ("mock: xbee, channel", "channel", "airs.lab.nodes.remote.mock: missing; write `mock: xbee`"),
    (
        "position: [3, 0, 0]",
        "positon: [3, 0, 0]",
        "airs.lab.nodes.remote.positon: 'xbee' has no such parameter; did you mean 'position'?",
    ),
    ("pan_id: 0x3332,", "pan_id: 70000,", "airs.lab.nodes.remote.pan_id: "),
    (
        "{ping: pong}",
        "{ping: 1}",
        'airs.lab.nodes.remote.replies.ping: must be text, not the number 1; put it in quotes: "1"',
    ),
    ("{ping: pong}", "{ping: }", "airs.lab.nodes.remote.replies.ping: must be text, not nothing"),
    ("link: ./xbee-spare", 'link: ""', "airs.lab.nodes.spare.link: the link is empty"),
    (
        "position: [3, 0, 0]",
        "position: [1.0e+200, 0, 0]",
        "airs.lab.nodes.remote.position[0]: 1e+200 is out of range",
    ),
    ("link: ./xbee-spare", 'link: "x\\0"', "airs.lab.nodes.spare.link: has unprintable characters"),
    (
        "link: ./xbee-spare",
        'link: "a\\nb"',
        "airs.lab.nodes.spare.link: has unprintable characters",
    ),
    ("emitter: tx", 'emitter: ""', "robots.rover.controller.emitter: unknown device ''"),
    ("receiver: rx", 'receiver: ""', "robots.rover.controller.receiver: unknown device ''"),
    (
        "destination: broadcast",
        'sources: {"0013A20040A1B2C3": ""}',
        "adapters.xbee0.sources.'0013A20040A1B2C3': unknown robot ''",
    ),
    (
        "destination: broadcast",
        "sources: {0x0013A20040A1B2C3: rover}",
        "adapters.xbee0.sources[5526146525541059]: must be text, not the number "
        '5526146525541059; put it in quotes: "0x0013A20040A1B2C3"',
    ),
    ("medium: {seed: 1}", 'medium: "12"', "medium: must be a mapping, not the text '12'; write a"),
    (
        "seed: 1}",
        'seed: "012"}',
        "medium.seed: must be a whole number, not the text '012'; write a",
    ),
    ("webots:", "7:", '[7]: must be text, not the number 7; put it in quotes: "7"'),
    ("  rover:", "  1:", 'robots[1]: must be text, not the number 1; put it in quotes: "1"'),
    ("  rover:", "  no:", "robots.no: no is false in YAML 1.1, text in 1.2"),
    ("  rover:", "  a.b:", "robots.'a.b': the name 'a.b' may not contain '.'"),
    ("  rover:", '  "a\\nb":', r"robots.'a\nb': the name 'a\nb' may not contain '\n'"),
    ("  rover:", '  "":', "robots.'': the name '' is not valid"),
    ("  rover:", "  all:", "robots.all: the name 'all' is reserved; choose another"),
    ("  rover:", "  xbee0:", "adapters.xbee0: 'xbee0' is a robot too; rename one of them"),
    ("adapters:", "adaptors:", "adaptors: unknown key; did you mean 'adapters'?"),
    ("airs:", "Airs:", "Airs: unknown key; did you mean 'airs'?"),
]


@pytest.mark.parametrize(("old", "new", "line"), WRONG, ids=lambda text: text[:40])
def test_one_thing_wrong(xbee_yaml: str, errors: Lines, old: str, new: str, line: str) -> None:
    start = xbee_yaml.index(old, xbee_yaml.index("version:"))
    text = xbee_yaml[:start] + new + xbee_yaml[start + len(old) :]
    assert any(said.split(": ", 1)[1].startswith(line) for said in errors(text)), errors(text)
    row = text[:start].count("\n") + 1
    said = next(said for said in errors(text) if line in said)
    place = re.match(r"f:(\d+):(\d+): ", said)
    assert place
    assert abs(int(place[1]) - row) <= 12  # a missing key is said at what should hold it


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


def test_syntax_types_names_and_values_are_said_in_one_run(errors: Lines) -> None:
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
def test_a_file_that_is_no_mapping(errors: Lines, text: str) -> None:
    assert errors(text) == [
        line for line in errors(text) if line.startswith("f:1:1: must be a mapping")
    ]
