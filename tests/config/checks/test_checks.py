"""Checks across parts, the speed of time, and warnings of what is legal and probably not meant."""

from pathlib import Path

import pytest

from hilgw.adapters.base import MockSpec
from hilgw.adapters.xbee import XBeeAdapter
from hilgw.config.line_rates import notices
from hilgw.config.load import load_config, load_text
from hilgw.config.source.text import ConfigErrors
from hilgw.devices.properties import DistanceSensorFields, RotationalMotorFields
from tests.config.cases import Lines, faults

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
    lines = warnings(devices(fields, RECEIVER, "node: Emitter"))
    assert len(lines) == bool(warning)
    assert all(f"robots.r0.devices.{warning}" in line and line[:4] == "f:3:" for line in lines)
    with_error = devices(fields, RECEIVER, "node: Emitter, range: no")
    with pytest.raises(ConfigErrors) as caught:
        load_text(with_error, "f")
    assert list(map(str, caught.value.warnings)) == lines  # beside an error, too


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
        (error,) = errors(SENSORS.replace(old, new))
        assert f"robots.cab.{line}" in error


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


SERIAL = "adapters: {arduino: {kind: uart, port: /dev/ttyS8}}"
RADIO = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12}}"
HEADER = "adapters: {xb: {kind: xbee, port: /dev/ttyS8, channel: 12, mapping: {by: header}}}"


def file(*robots: str, more: str = "") -> str:
    """robots: the fields of the one device of each."""
    lines = [f"  r{number}: {{devices: {{d: {{{text}}}}}}}" for number, text in enumerate(robots)]
    return "\n".join(["version: 1", "robots:", *lines, more, ""])


ONE_ROBOT = "node: Emitter}, e: {node: Receiver"


@pytest.mark.parametrize(
    ("robots", "more", "expected"),
    [
        (["node: Emitter"], SERIAL, "robot; arduino is serial; write type: serial"),
        (["node: Receiver, type: infra-red"], SERIAL, "infra-red, channel 0: reaches no hardware"),
        (["node: Emitter, type: serial"], SERIAL, ""),
        (["node: Emitter, channel: 13"], RADIO, "'xb' of this type: other channels"),
        (["node: Emitter, channel: 12"], RADIO, ""),
        (["node: Receiver, channel: -1"], RADIO, ""),
        (["node: Emitter, channel: 99"], HEADER, ""),
        (["node: Emitter"], "", "add an adapter, or a robot with a device of this type and cha"),
        (["node: Emitter", "node: Receiver"], "", ""),
        (["node: Emitter", "node: Receiver, channel: 1"], "", "nel 0: reaches no|nel 1: rea"),
        (["node: Emitter", "node: Emitter"], "", "channel 0: reaches no"),
        ([ONE_ROBOT], "", "channel 0: reaches no"),
        (["node: Emitter, channel: 5", "node: Receiver, channel: -1"], "", ""),
        (["node: Emitter, type: serial", "node: Receiver"], "", "serial, channel 0: rea|radio, "),
    ],
)
def test_it_reaches_nothing(warnings: Lines, robots: list[str], more: str, expected: str) -> None:
    lines = warnings(file(*robots, more=more))
    assert bool(lines) == bool(expected)
    assert all(any(part in line for part in expected.split("|")) for line in lines)
    assert all(line.startswith(("f:3:", "f:4:")) for line in lines)


@pytest.mark.parametrize(
    ("kind", "rate", "message"),
    [
        ("uart", 9601, "9601 is not a usual rate; did you mean 9600?"),
        ("xbee", 100, "does not support 100 baud; use 1200, 2400"),
        ("xbee", 1000000, "does not support 1000000 baud"),
        ("hc12", 9601, "does not support 9601 baud; did you mean 9600?"),
        ("rylr998", 9601, "did you mean 9600?"),
        ("irda_sir", 9601, "did you mean 9600?"),
        ("uart", 250000, ""),
        ("uart", 74880, ""),
        ("xbee", 9600, ""),
    ],
)
def test_a_rate_that_is_unusual_or_not_of_the_module(kind: str, rate: int, message: str) -> None:
    channel = {"xbee": 12, "hc12": 1, "rylr998": 3}.get(kind, 0)
    line = f"a: {{kind: {kind}, channel: {channel}, port: /dev/ttyS8, baudRate: {rate}}}"
    text = f"version: 1\nadapters:\n  {line}\n"
    problems = faults(text) or load_text(text, "f").warnings
    assert len(problems) == bool(message) and message in "".join(map(str, problems))


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("com3", "'com3' is the name of a port on Windows; `hilgw ports`"),
        (r"\\.\COM10", "is the name of a port on Windows; `hilgw ports`"),
        ("/dev/tty.usbmodem1101", "is the name of a port on macOS; `hilgw ports`"),
        ("ttyACM99", "did you mean /dev/ttyACM99?"),
        ("tty" + 300 * "x", "did you mean /dev/tty"),
        ("serial/by-id/usb-x", "did you mean /dev/serial/by-id/usb-x?"),
        ("192.168.1.5:8080", "did you mean socket://192.168.1.5:8080?"),
        ("~/port", "write the whole path"),
        ("${PORT}", "'${PORT}' has ${PORT}, which only a shell expands; write the whole path"),
        ("$(cat port)", "has $(cat port), which only a shell expands; write the whole path"),
        ("%PORT%", "has %PORT%, which only a shell expands; write the whole path"),
        ("\u201c/dev/ttyUSB0\u201d", "has a U+201C; write a plain quote, or none"),
        ("/dev/ttyACM99", ""),
        ("./xbee-a", ""),
        ("comport", ""),
        ("ttyA", ""),  # which is in this folder
    ],
)
def test_the_port_of_another_machine_is_questioned(
    warnings: Lines, port: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of hardware, and of a robot."""
    monkeypatch.chdir(tmp_path)
    Path("ttyA").touch()
    for place in (
        f"adapters: {{a: {{kind: uart, port: '{port}'}}}}",
        f"robots: {{a: {{body: {{kind: create2, port: '{port}'}}}}}}",
    ):
        lines = [line for line in warnings(f"version: 1\n{place}\n") if ".port: " in line]
        assert len(lines) == bool(message)
        assert all(message in line and line.startswith("f:2:") for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "adapters:\n  a:\n    kind: uart\n    baudRate:9600\n    port: x\n",
        "adapters:\n  a:\n    kind: uart\n    port: x\n    baudRate:9600\n",
        "adapters:\n  a: {kind: uart, port: x, baudRate:9600}\n",
        "adapters:\n  a:\n    baudRate:9600\n",
    ],
)
def test_a_colon_without_a_space(errors: Lines, text: str) -> None:
    (error,) = errors(f"version: 1\n{text}")
    assert error.endswith("a key without ':'; write a space after the colon: `baudRate: 9600`")


# Ends of a link whose rates differ are named, once each.
XBEE = str(Path(__file__).parents[3] / "configs" / "xbee.yaml")


def reported(*overrides: str) -> list[str]:
    return list(notices(load_config(XBEE, overrides).config))


TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"
OTHER = "robots.other={devices: {rx: {node: Receiver, channel: 12, baudRate: 4800, byteSize: 9}}}"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([f"{TX}.baudRate=115200"], "rover.tx sends at 115200 bit/s"),
        ([f"{TX}.baudRate=115200"], "xbee0 carries 9600 bit/s"),
        ([f"{TX}.baudRate=-1"], "an unlimited rate"),
        ([f"{RX}.baudRate=4800"], "rover.rx expects 4800"),
        ([OTHER], "rover.tx to other.rx: baudRate 9600 at the emitter but 4800 at the receiver"),
        ([OTHER], "byteSize 8 at the emitter but 9 at the receiver"),
        ([f"{TX}.baudRate=4800"], ""),
        ([f"{TX}.baudRate=115200", f"{TX}.channel=3"], ""),
    ],
)
def test_rates_that_differ_are_named_with_both_rates(overrides: list[str], words: str) -> None:
    lines = reported(*overrides)
    assert any(words in line for line in lines) if words else not lines


SEVEN = "version: 1\nadapters:\n  a: {{kind: {kind}, port: /dev/x, data_bits: 7, {more}}}\n"


@pytest.mark.parametrize("kind", ["xbee", "rylr998", "hc12"])
def test_a_module_has_eight(kind: str) -> None:
    more = "channel: 12, baudRate: 9600, mapping: {by: header}"
    message = "".join(faults(SEVEN.format(kind=kind, more=more)))
    assert f"the line of kind {kind} has no 7 data bits" in message


FILE = """\
version: 1
speed: {speed}
backend: {backend}
robots:
  rover:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: beacon, emitter: tx}}
  cab:
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:27016"}}
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:27015"}}
  chip:
    controller: {{kind: wc2ec, port: /dev/ttyS7, baudRate: 115200}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12}}
airs:
  lab: {{nodes: {{{nodes}}}}}
"""
LINK = "spare: {mock: xbee, link: ./s}"
INSIDE = "run with --backend mock, or leave speed out"


def text(speed: object, backend: str = "real", nodes: str = "") -> str:
    return FILE.format(speed=speed, backend=backend, nodes=nodes)


@pytest.mark.parametrize("speed", [0.5, 2, "max"])
def test_real_hardware_runs_in_real_time(errors: Lines, speed: object) -> None:
    def line(place: str, key: str, part: str) -> str:
        return f"f:{place}: {key}: {part} runs in real time, not at speed {speed}; {INSIDE}"

    outside = "a controller outside this process"
    assert errors(text(speed, nodes=LINK)) == [
        line("9:39", "robots.cab.controller.listen", outside),
        line("10:34", "robots.cab.body.connect", "a body outside this process"),
        line("12:37", "robots.chip.controller.port", outside),
        line("14:26", "adapters.x0.port", "a real port"),
    ]


@pytest.mark.parametrize("backend", ["mock", "loopback"])
def test_mocks_run_at_any_speed_but_not_their_links(errors: Lines, backend: str) -> None:
    assert load_text(text(2, backend), "f").config.speed == 2
    assert load_text(text("max", backend), "f").config.speed == "max"
    (error,) = errors(text("max", backend, LINK))
    assert error == (
        "f:16:43: airs.lab.nodes.spare.link: a port for another program runs in real time, not at "
        "speed max; delete it, or run with --set airs.lab.nodes.spare.link=null"
    )
    loaded = load_text(text("max", backend, LINK), "f", ["airs.lab.nodes.spare.link=null"])
    assert loaded.config.airs["lab"].nodes["spare"].link is None


BRAIN = "  brain: {controller: {kind: webots, %s}}\n"


def test_what_has_no_time_of_its_own_runs_at_any_speed(errors: Lines) -> None:
    robots = text("max").split("  cab:")[0]
    for more in ("", BRAIN % 'listen: "tcp://127.0.0.1:1234"'):
        assert load_text(robots + more, "f").config.speed == "max"
    assert load_text(text(1.0, nodes=LINK), "f").config.speed == 1
    mocked = robots.replace("backend: real", "backend: mock")
    (error,) = errors(mocked + BRAIN % "ipc: true")
    assert error.startswith("f:8:43: robots.brain.controller.ipc: a local socket runs in real time")
    (error,) = errors(text("max", "mock") + 'medium: {mocap: {listen: "127.0.0.1:0"}}\n')
    assert error.startswith("f:17:17: medium.mocap: motion capture runs in real time")


@pytest.mark.parametrize(
    ("speed", "message"),
    [
        ("0", "0 is out of range; allowed: more than 0, up to 1000000"),
        ("-2", "-2 is out of range; allowed: more than 0, up to 1000000"),
        ("fast", "'fast' is not valid here; write it like 2, or max"),
        ("Max", "'Max' is not valid here; write it like 2, or max"),
        (".nan", "must be a finite number; write a number"),
        (".inf", "must be a finite number; write a number"),
        ("true", 'must be a number or text, not true; put it in quotes: "true"'),
    ],
)
def test_a_wrong_speed_is_the_only_error(errors: Lines, speed: str, message: str) -> None:
    assert errors(text(speed, nodes=LINK)) == [f"f:2:8: speed: {message}"]


def test_the_option_replaces_the_value_of_the_file() -> None:
    assert load_text(text(2), "f", speed="1").config.speed == 1
    assert load_text(text(1, "mock"), "f", ["speed=2"], speed="max").config.speed == "max"
    assert load_text(text(1), "f", backend="mock", speed="0.5").config.speed == 0.5
