"""One file from end to end: the shipped one as it is, and with one thing wrong at a time."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.adapters.base import UsbId
from hilgw.config.line_rates import notices
from hilgw.config.load import load_config, load_text
from hilgw.config.model import Backend
from hilgw.config.queries import backend_of, has_nodes, is_mocked
from hilgw.config.source.positions import ConfigErrors
from hilgw.devices.fields import EmitterFields, ReceiverFields
from tests.config.cases import cases

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


# --- Ends of a link whose rates differ are named, once each ---------------------------------------


XBEE = str(Path(__file__).parents[2] / "configs" / "xbee.yaml")
TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"


def reported(*overrides: str) -> list[str]:
    return list(notices(load_config(XBEE, overrides).config))


def test_an_emitter_faster_than_the_line_is_named_with_both_rates() -> None:
    (line,) = reported(f"{TX}.baudRate=115200")
    assert "rover.tx sends at 115200 bit/s" in line
    assert "xbee0 carries 9600 bit/s" in line


def test_an_emitter_without_a_rate_is_faster_than_any_line() -> None:
    (line,) = reported(f"{TX}.baudRate=-1")
    assert "an unlimited rate" in line


def test_slower_or_on_another_channel_is_not_worth_a_word() -> None:
    assert reported(f"{TX}.baudRate=4800") == []
    assert reported(f"{TX}.baudRate=115200", f"{TX}.channel=3") == []


def test_a_receiver_that_expects_another_rate_is_named() -> None:
    (line,) = [line for line in reported(f"{RX}.baudRate=4800") if "rover.rx" in line]
    assert "expects 4800" in line
    assert "9600" in line


def test_an_emitter_and_a_receiver_set_differently_are_named_with_what_differs() -> None:
    other = {"node": "Receiver", "channel": 12, "baudRate": 4800, "byteSize": 9}
    (line,) = [
        line
        for line in reported(f"robots.other={{devices: {{rx: {json.dumps(other)}}}}}")
        if "rover.tx to other.rx" in line
    ]
    assert "baudRate 9600 at the emitter but 4800 at the receiver" in line
    assert "byteSize 8 at the emitter but 9 at the receiver" in line


# --- Parts that stay real beside mocks ------------------------------------------------------------


FILE = """\
version: 1
backend: {backend}
real: {real}
robots:
  rover:
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:27015"}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}
  other:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: webots_proxy}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12}}
"""
PARTS = ["rover.body", "rover.controller", "other.controller", "other.webots", "x0"]


def text(real: str, backend: str = "mock") -> str:
    return FILE.format(real=real, backend=backend)


@pytest.mark.parametrize("backend", ["mock", "loopback", "real"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_listed_is_real(part: str, backend: str) -> None:
    config = load_text(text(f"[{part}]", backend), "f").config
    mocked = [] if backend == "real" else [each for each in PARTS if each != part]
    assert [each for each in PARTS if is_mocked(config, each)] == mocked


@pytest.mark.parametrize(
    ("real", "message"),
    [
        ("[rover.controler]", "f:3:8: real[0]: there is no part 'rover.controler'; did you mean"),
        ("[x0, rover.webots]", "f:3:12: real[1]: there is no part 'rover.webots'"),
        ("[tx]", "f:3:8: real[0]: there is no part 'tx'"),
        ("x0", "f:3:7: real: must be a list"),
        ("[1]", "f:3:8: real[0]: must be text"),
    ],
)
def test_a_wrong_name_is_reported_where_it_is(errors: Lines, real: str, message: str) -> None:
    (error,) = errors(text(real))
    assert error.startswith(message)


def test_what_is_real_runs_in_real_time(errors: Lines) -> None:
    robot = text("[x0, rover.body, rover.controller]").split("  other:")[0] + "adapters:\n"
    robot += "  x0: {kind: xbee, port: /dev/ttyS8, channel: 12}\n"
    found = errors(robot + "speed: max\n")
    assert [each.split(" runs in")[0].split(": ", 1)[1] for each in found] == [
        "robots.rover.body.connect: a body outside this process",
        "adapters.x0.port: a real port",
    ]
    load_text(robot.replace("x0, rover.body, ", "") + "speed: max\n", "f")


def test_a_part_has_its_own_back_end() -> None:
    own = text("[]", "real").replace("channel: 12", "channel: 12, backend: mock")
    own = own.replace('1234"', '1234", backend: loopback')
    for backend in (None, "real", "mock"):
        config = load_text(own, "f", (), backend).config
        assert backend_of(config, "x0") is Backend.MOCK
        assert backend_of(config, "rover.controller") is Backend.LOOPBACK
        assert backend_of(config, "rover.body") is Backend(backend or "real")
        assert backend_of(config, "other.webots") is Backend(backend or "real")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            "x0: {kind: xbee, port: /dev/ttyS8, channel: 12, backend: mock}",
            "f:12:60: adapters.x0.backend: `real:` lists 'x0', too; delete one of them",
        ),
        (
            "x1: {kind: xbee, port: /dev/ttyS8, channel: 12, backend: moc}",
            "f:12:60: adapters.x1.backend: 'moc' is not one of the choices; did you mean 'mock'?",
        ),
    ],
)
def test_a_wrong_back_end_is_reported_where_it_is(errors: Lines, part: str, message: str) -> None:
    file = text("[x0]").split("  x0:")[0] + f"  {part}\n"
    assert message in errors(file)


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        ("{kind: beacon, emitter: tx, backend: real}", "the controller runs in the gateway"),
        ("{kind: python, file: a.py, backend: mock}", "hilgw starts the program itself"),
    ],
)
def test_a_controller_without_a_port_has_no_back_end(
    errors: Lines, controller: str, message: str
) -> None:
    devices = "devices: {tx: {node: Emitter}}"
    found = errors(f"version: 1\nrobots:\n  r: {{{devices}, controller: {controller}}}\n")
    assert any("robots.r.controller.backend: " in each and message in each for each in found)


def test_a_real_part_among_mocks_runs_in_real_time(errors: Lines) -> None:
    file = "version: 1\nbackend: mock\nspeed: max\nadapters:\n  u: {kind: uart, port: /dev/ttyS8, "
    load_text(file + "channel: 1}\n", "f")
    (error,) = errors(file + "channel: 1, backend: real}\n")
    assert "adapters.u.port: a real port runs in real time" in error


def test_the_mocks_of_an_air_exist_beside_one_mocked_module() -> None:
    file = """\
version: 1
adapters:
  a: {kind: xbee, port: /dev/ttyS8, channel: 12, air: lab, backend: mock}
  b: {kind: hc12, port: /dev/ttyS9, channel: 12}
airs:
  lab: {nodes: {other: {mock: xbee}}}
  field: {nodes: {another: {mock: hc12}}}
"""
    config = load_text(file, "f").config
    assert [has_nodes(config, air) for air in ("lab", "field")] == [True, False]
    config = load_text(file, "f", (), "mock").config
    assert [has_nodes(config, air) for air in ("lab", "field")] == [True, True]


def test_the_mock_of_a_webots_beside_a_real_controller_is_checked(errors: Lines) -> None:
    robot = (
        "{devices: {tx: {node: Emitter}}, controller: {kind: webots_proxy, simulator: {bogus: 1}"
    )
    file = f"version: 1\nbackend: mock\nrobots:\n  r: {robot}, backend: real}}}}\n"
    assert any("bogus: simulator: 'webots_simulator' has no such" in each for each in errors(file))
