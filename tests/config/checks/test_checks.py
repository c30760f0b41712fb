"""Checks across parts: ports, names, lines, and warnings that change nothing."""

from pathlib import Path

import pytest

from hilgw.adapters.base import MockSpec
from hilgw.adapters.xbee import XBeeAdapter
from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors
from hilgw.devices.properties import DistanceSensorFields, RotationalMotorFields
from tests.config.cases import Lines

RECEIVER = "node: Receiver"  # of another robot, so that an Emitter reaches something


def adapters(*ports: str) -> str:
    lines = [f"  a{n}: {{kind: xbee, channel: 12, port: {port}}}" for n, port in enumerate(ports)]
    return "\n".join(["version: 1", "adapters:", *lines, ""])


def devices(*fields: str) -> str:
    """One robot per device."""
    lines = [f"  r{n}: {{devices: {{d: {{{text}}}}}}}" for n, text in enumerate(fields)]
    return "\n".join(["version: 1", "robots:", *lines, ""])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/dev/ttyS9", "/dev/ttyS9"),
        ("/dev/ttyS9", "/dev/../dev/./ttyS9"),
        ("COM3", "com3"),
        ("{usb: {vid: 1, pid: 2}}", "{usb: {pid: 2, vid: 0x1}}"),
        ('{usb: {vid: 1, pid: 2, serial: "7"}}', '{usb: {vid: 1, pid: 2, serial: "7"}}'),
        ("socket://127.0.0.1:4001", "socket://127.0.0.1:4001"),
        ("by-id", "/dev/ttyS9"),
        ("by-id", "by-path"),
    ],
)
def test_two_adapters_on_one_port(
    errors: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("by-id").symlink_to("/dev/ttyS9")
    Path("by-path").symlink_to("by-id")
    text = adapters(first, second)
    assert errors(text + "network_ports: true\n") == [
        f"f:4:{text.splitlines()[3].index('port: ') + 7}: adapters.a1.port: adapters.a0 has this "
        "port too; use another port"
    ]
    body = f"robots: {{r: {{body: {{kind: none, port: {first!r}}}}}}}\n" if first[0] == "/" else ""
    assert not body or "adapters.a0 has this port too" in str(errors(adapters(first) + body))


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ('""', "the port is empty"),
        ('"spy:///dev/ttyS9?file=/tmp/x"', "unknown type of port; use a device path, loop://, "),
        ('"socket://lab:4001"', "is a port on the network; write network_ports: true at the top"),
        ('"rfc2217://lab:4001"', "is a port on the network; write network_ports: true at the top"),
        ('"rfc2217://lab:4001?logging=debug"', "not of the form SCHEME://HOST:PORT"),
        ('"socket://lab"', "not of the form SCHEME://HOST:PORT"),
        ('"loop://?logging=debug"', "unknown type of port"),
        ("5", "must be text or a mapping with the key 'usb', not the number 5; put it in"),
        ("{vid: 1}", "adapters.a0.port.usb: missing"),
        ("{usb: {vid: 1}}", "adapters.a0.port.usb.pid: missing"),
        ("{usb: {location: usb1}}", "adapters.a0.port.usb.location: 'usb1' is not valid"),
        ("{usb: {vid: 1, pid: 2, serial: 1234}}", 'put it in quotes: "1234"'),
        ("{usb: [1, 2]}", "adapters.a0.port.usb: must be a mapping, not a list"),
        ('"a\\0b"', "adapters.a0.port: has unprintable characters"),
    ],
)
def test_odd_ports(errors: Lines, port: str, expected: str) -> None:
    assert any(expected in line for line in errors(adapters(port))), errors(adapters(port))


def test_a_node_may_not_be_called_as_an_adapter_of_its_air(errors: Lines) -> None:
    text = adapters("loop://").replace("channel: 12", "channel: 12, air: lab")
    assert errors(text)[0].endswith("a0.air: unknown air 'lab'; write it under `airs:`")
    text += "airs: {lab: {nodes: {a0: {mock: xbee}}}, hall: {nodes: {a0: {mock: xbee}}}}\n"
    (line,) = errors(text)
    assert "airs.lab.nodes.a0: 'a0' is an adapter in this air too; rename one" in line


def test_each_wrong_reply_of_a_node_is_named_where_it_is(errors: Lines) -> None:
    text = """version: 1
airs:
  lab:
    nodes:
      a:
        mock: uart_node
        replies:
          ping: pong
          marco: '\\xZZ'
          '\\x': polo
      b: {mock: ir_toy, replies: {a: b}}
      c: {mock: wc2ec_node, replies: {a: b}}
"""
    lines = errors(text)
    assert [line.split(": ")[:2] for line in lines] == [
        ["f:9:18", "airs.lab.nodes.a.replies.marco"],
        ["f:10:17", "airs.lab.nodes.a.replies.'\\\\x'"],
        ["f:11:38", "airs.lab.nodes.b.replies.a"],
        ["f:12:38", "airs.lab.nodes.c.replies"],
    ]
    assert "invalid escape" in lines[0]


def test_two_nodes_behind_one_link(errors: Lines) -> None:
    text = "version: 1\nairs: {lab: {nodes: {a: {mock: xbee, link: ./x}, "
    text += "b: {mock: xbee, link: x}, c: {mock: xbee, link: y}}}}\n"
    (line,) = errors(text)
    assert line.endswith("airs.lab.nodes.b.link: 'a' has this link too; use another link")


def test_a_wrong_channel_of_a_table_is_reported_at_its_place(errors: Lines) -> None:
    table = '{7: "1234", -1: "1234", -2: "xyz"}'
    (first, second) = errors(adapters(f"loop://, mapping: {{by: destination, table: {table}}}"))
    assert first.startswith("f:3:98: adapters.a0.mapping.table[-1]: -1 is not a valid channel")
    assert second.startswith("f:3:110: adapters.a0.mapping.table[-2]: -2 is not a valid channel")


def test_all_parameters_of_a_mock_are_judged(errors: Lines) -> None:
    node = "{mock: xbee, chanel: 12, pan_id: 99999, hardware: s9, api_mode: [1], ni: ok}"
    lines = errors(f"version: 1\nairs: {{lab: {{nodes: {{a: {node}}}}}}}\n")
    keys = ("chanel", "pan_id", "hardware", "api_mode")
    assert [line.split(": ")[1] for line in lines] == [f"airs.lab.nodes.a.{key}" for key in keys]
    (line,) = errors("version: 1\nairs: {lab: {nodes: {a: {mock: xbee, nonsense: 12}}}}\n")
    names = line.partition("known here: ")[2].split(", ")
    assert "replies" in names and len(names) == len(set(names))


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ("node: Emitter, range: 5, maxRange: 3", "d.range: range 5 is beyond maxRange 3"),
        ("node: Emitter, maxRange: 3", "d: range -1 is beyond maxRange"),
        ("node: Emitter, range: 3, maxRange: 3", ""),
        ("node: Emitter, channel: -1", "d.channel: channel -1 broadcasts"),
        ("node: Compass", "d: has no effect: no controller outside the gateway uses it"),
    ],
)
def test_fields_that_are_probably_not_meant(warnings: Lines, fields: str, warning: str) -> None:
    found = warnings(devices(fields, RECEIVER, "node: Emitter"))
    assert len(found) == bool(warning)
    assert all(f"robots.r0.devices.{warning}" in line and line[:4] == "f:3:" for line in found)
    with_error = devices(fields, RECEIVER, "node: Emitter, range: no")
    with pytest.raises(ConfigErrors) as caught:
        load_text(with_error, "f")
    assert list(map(str, caught.value.warnings)) == found  # beside an error, too


SENSORS = """\
version: 1
robots:
  cab:
    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:27015"}
    devices:
      ds: {node: DistanceSensor, type: laser, lookupTable: [[0, 0, 0], [2, 1000, 0.1]]}
      arm: {node: RotationalMotor, controlPID: [1, 2, 3], acceleration: -1}
      gps: {node: GPS}
"""


def test_devices_of_all_nodes_are_settings(errors: Lines, warnings: Lines) -> None:
    assert warnings(SENSORS) == []
    devices = load_text(SENSORS, "f").config.robots["cab"].devices
    assert devices["ds"] == DistanceSensorFields(
        type="laser", lookupTable=((0.0, 0.0, 0.0), (2.0, 1000.0, 0.1))
    )
    assert devices["arm"] == RotationalMotorFields(controlPID=(1.0, 2.0, 3.0))
    for old, new, line in (
        ("laser", "lasr", "devices.ds.type: 'lasr' is not one of the choices; did you mean"),
        ("[2, 1000, 0.1]", "[2, 1]", "devices.ds.lookupTable[1]: must have 3 items, has 2"),
        ("acceleration: -1", "acceleration: -2", "devices.arm.acceleration: -2 is out of range"),
        ("node: GPS", "node: Lidar", "devices.gps.node: lidar images are not carried yet"),
        ("node: GPS", "node: Gps", "devices.gps.node: unknown node 'Gps'; did you mean 'GPS'?"),
        ("node: GPS", "node: GPS, maxTorque: 1", "devices.gps.maxTorque: unknown key"),
    ):
        (found,) = errors(SENSORS.replace(old, new))
        assert f"robots.cab.{line}" in found


def test_the_stand_in_of_an_adapter_is_judged_on_mocks(
    monkeypatch: pytest.MonkeyPatch, errors: Lines, warnings: Lines
) -> None:
    parameters = {"AP": "1", "colour": "red"}
    monkeypatch.setattr(XBeeAdapter, "mock", lambda *_: MockSpec("xbee", parameters))
    text = adapters("loop://")
    assert warnings(text) == []
    for backend in ("mock", "loopback"):
        (line,) = errors(text, backend=backend)
        assert "adapters.a0: mock: 'xbee' has no such parameter; known here: " in line
    monkeypatch.setattr(XBeeAdapter, "mock", lambda *_: MockSpec("none", {}))
    assert "adapters.a0: unknown mock 'none'" in errors(text, backend="mock")[0]


def test_a_message_made_from_endless_text_is_short(errors: Lines) -> None:
    channels = ", ".join(["1"] * 5000)
    (line,) = errors(devices(f"node: Emitter, allowedChannels: [{channels}]"))
    assert line.startswith("f:3:")
    assert len(line) < 1000
