"""One file from end to end: loaded, overridden by options, partly real, with a scene."""

import json
import re
import shlex
from pathlib import Path

import pytest

from hilgw.adapters.base import UsbId
from hilgw.config.context import Context, Inspection
from hilgw.config.load import load_config, load_text
from hilgw.config.model import MotionFile
from hilgw.config.queries import backend_of, has_nodes, is_mocked
from hilgw.config.scene import LARGEST_FILE, read_motion
from hilgw.config.source.document import compose
from hilgw.config.source.text import ConfigErrors
from hilgw.protocols.webots.handshake import without_mock
from tests.config.cases import Lines, cases, rows

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


def test_values_of_all_kinds(xbee_yaml: str) -> None:
    overrides = [
        "adapters.xbee0.channel=13",
        "adapters.xbee0.pan_id=0x1234",
        "adapters.xbee0.relay=true",
        "adapters.xbee0.byteSize=null",
        "adapters.xbee0.port=/dev/ttyUSB7",
        "adapters.xbee0.mapping={by: destination, table: {12: '1234', 13: broadcast}}",
        "adapters.xbee0.mapping.table.12=abcd",
        "robots.rover.position=[1, 2, 3]",
        "robots.rover.position[2]=4.5",
        "robots.rover.position.0=-1",
        "robots.rover.controller.payload='a=b: {n}'",
        'robots.rover.devices."tx".baudRate=4800',
        "airs.lab.nodes.spare.hardware=s1",
        "robots.second={position: [9, 9, 9]}",
        'robots."a=b"={position: [1, 1, 1]}',
    ]
    config = load_text(xbee_yaml, "f", overrides).config
    xbee, rover = config.adapters["xbee0"], config.robots["rover"]
    assert (xbee.common.channel, xbee.settings.pan_id, xbee.common.relay) == (13, 0x1234, True)
    assert (xbee.common.byteSize, xbee.common.port) == (None, "/dev/ttyUSB7")
    assert xbee.settings.mapping.table == {12: "abcd", 13: "broadcast"}
    assert rover.position == (-1.0, 2.0, 4.5)
    assert rover.controller is not None
    assert rover.controller.settings.payload == "a=b: {n}"
    assert rover.devices["tx"].baudRate == 4800
    assert config.airs["lab"].nodes["spare"].parameters == {"hardware": "s1"}
    assert config.robots["a=b"].position == (1.0, 1.0, 1.0)
    assert config.robots["second"].position == (9.0, 9.0, 9.0)


@pytest.mark.parametrize(
    ("backend", "error"),
    [
        ("moc", "'moc' is not one of the choices; did you mean 'mock'?"),
        ("loop", "'loop' was renamed; write loopback"),
    ],
)
def test_a_wrong_back_end_is_named(xbee_yaml: str, errors: Lines, backend: str, error: str) -> None:
    assert errors(xbee_yaml, backend=backend) == [f"--backend {backend}: backend: {error}"]


def test_what_an_override_corrects_and_what_it_does_not(xbee_yaml: str, errors: Lines) -> None:
    text = xbee_yaml.replace("channel: 12   ", "channel: fast   ")
    assert text != xbee_yaml
    overrides = ["adapters.xbee0.channel=13", "adapters.xbee0.channel=15", "backend=loopback"]
    config = load_text(text, "f", [*overrides, "medium.seed=7"]).config  # not in the file
    assert config.adapters["xbee0"].common.channel == 15  # the last one wins
    assert (config.medium.seed, config.backend) == (7, "loopback")
    assert load_text(text, "f", overrides, "real").config.backend == "real"
    text = xbee_yaml.replace("    mapping: {by: module_channel}", "    #")
    config = load_text(text, "f", ["adapters.xbee0.mapping.by=header"]).config
    assert config.adapters["xbee0"].settings.mapping.by == "header"
    (line,) = errors(xbee_yaml.replace("channel: 12   ", "channel: 014   "), *overrides[:1])
    assert "adapters.xbee0.channel: a number with leading zeros" in line


@pytest.mark.parametrize(
    ("override", "line"),
    [
        *rows(
            """
        adapters.xbee0.channel => is not an override; write KEY.KEY=VALUE
        =5 => is not an override; write KEY.KEY=VALUE
        a..b=5 => is not an override; write KEY.KEY=VALUE
        adapters.xbee0.chanel=5 => adapters.xbee0.chanel: unknown key; did you mean 'channel'?
        adapters.xbee1.channel=5 => adapters.xbee1.channel: adapters has no entry 'xbee1'; did
        adapter.xbee0.channel=5 => adapter: unknown key; did you mean 'adapters'?
        airs.lab.nodes.remot.ni=x => airs.lab.nodes.remot.ni: airs.lab.nodes has no entry 'remot'
        robots.rover.position[3]=1 => robots.rover.position[3]: robots.rover.position has no item
        robots.rover.position.x=1 => robots.rover.position.x: robots.rover.position has no item
        backend.x=1 => backend.x: backend is not a mapping; set the whole value
        adapters.xbee0.channel=13x => adapters.xbee0.channel: must be a whole number, not the text
        adapters.xbee0.channel=30 => adapters.xbee0.channel: 30 is not a valid XBee channel
        adapters.xbee0.channel=013 => adapters.xbee0.channel: a number with leading zeros is octal
        adapters.xbee0.channel= => adapters.xbee0.channel: must be a whole number, not the text ''
        adapters.xbee0.destination=0013 => adapters.xbee0.destination: a number with leading zeros
        adapters.xbee0.destination=1320 => adapters.xbee0.destination: must be text, not the number
        adapters.xbee0.mapping={by: [ => adapters.xbee0.mapping: '[' is not closed; close it
        adapters.xbee0.mapping=a: b: c => adapters.xbee0.mapping: a ':' where a key is not allowed
        adapters.xbee0.mapping={by: hedder} => adapters.xbee0.mapping.by: unknown by 'hedder'; did
        adapters.xbee0.air=lob => adapters.xbee0.air: unknown air 'lob'; did you mean
        adapters.new={kind: xbee} => adapters.new.port: missing; write `port: /dev
        version=3 => version: 3 is not one of the choices
        """
        ),
        ("robots.rover.position." + "9" * 5000 + "=5", "robots.rover.position.'9999"),
        (
            "robots.rover.devices.ty.channel=5",
            "robots.rover.devices.ty.channel: robots.rover.devices has no entry 'ty'",
        ),
        ("adapters.xbee0.air=\x1b[1m", "adapters.xbee0.air: has unprintable characters"),
    ],
)
def test_errors_name_the_option(xbee_yaml: str, errors: Lines, override: str, line: str) -> None:
    reported = errors(xbee_yaml, override)
    place = "--set " + override.replace("\x1b", "\\x1b")
    assert any(one.startswith(place[:40]) and f": {line}" in one for one in reported), reported
    assert all(one.isprintable() for one in reported)


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


def with_adapter(adapter: str) -> str:
    return text("[x0]").split("  x0:")[0] + f"  {adapter}\n"


def with_robot(controller: str) -> str:
    devices = "devices: {tx: {node: Emitter}}"
    return f"version: 1\nbackend: mock\nrobots:\n  r: {{{devices}, {controller}}}\n"


@pytest.mark.parametrize("backend", ["mock", "loopback", "real"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_listed_is_real(part: str, backend: str) -> None:
    config = load_text(text(f"[{part}]", backend), "f").config
    mocked = [] if backend == "real" else [each for each in PARTS if each != part]
    assert [each for each in PARTS if is_mocked(config, each)] == mocked


@pytest.mark.parametrize("backend", ["mock", "loopback", "real", "[1]"])
def test_a_file_with_errors_has_the_same_back_ends(backend: str) -> None:
    """A value that is not valid counts as real."""
    own = text("[x0, rover.body]", backend).replace("kind: webots,", "kind: webots, backend: mock,")
    inspection = Inspection(compose(own, "f"), Context())
    config = load_text(own.replace("[1]", "real"), "f").config
    for part in PARTS:
        assert backend_of(inspection, part) is backend_of(config, part)
    assert backend_of(inspection, "absent.body") is config.backend


X0 = "x0: {kind: xbee, port: /dev/ttyS8, channel: 12, backend: %s}"
X1 = X0.replace("x0", "x1")
BEACON = "controller: {kind: beacon, emitter: tx, backend: real}"
BOGUS = "controller: {kind: webots_proxy, simulator: {bogus: 1}, backend: real}"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (text("[rover.controler]"), "f:3:8: real[0]: there is no part 'rover.controler'; did you"),
        (text("[x0, rover.webots]"), "f:3:12: real[1]: there is no part 'rover.webots'"),
        (text("[tx]"), "f:3:8: real[0]: there is no part 'tx'"),
        (text("x0"), "f:3:7: real: must be a list"),
        (text("[1]"), "f:3:8: real[0]: must be text"),
        (with_adapter(X0 % "mock"), "f:12:60: adapters.x0.backend: `real:` lists 'x0', too; del"),
        (with_adapter(X1 % "moc"), "f:12:60: adapters.x1.backend: 'moc' is not one of the choices"),
        (with_robot(BEACON), "runs in the gateway"),
        (with_adapter(X1 % "real") + "speed: max\n", "x1.port: a real port runs in real time"),
        (with_robot("controller: {kind: python, file: a.py, backend: mock}"), "starts the program"),
        (with_robot(BOGUS), "bogus: simulator: 'webots_simulator' has no such"),
    ],
)
def test_a_wrong_name_or_back_end_is_at_its_place(errors: Lines, file: str, message: str) -> None:
    assert any(message in each for each in errors(file))


@pytest.mark.parametrize(
    ("written", "mock"),
    [("uart", "uart_node"), ("text", "text_module"), ("uart-node", "uart_node"), ("xbee", "xbee")],
)
def test_a_node_of_an_air_takes_its_mock_by_the_name_of_an_adapter(written: str, mock: str) -> None:
    file = f"version: 1\nairs: {{lab: {{nodes: {{n: {{mock: {written}, baudRate: 19200}}}}}}}}\n"
    node = load_text(file, "f").config.airs["lab"].nodes["n"]
    assert (node.mock, node.parameters) == (mock, {"baudRate": 19200})


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


WORLD = """
version: 1
backend: mock
medium: {step_ms: 32, mocap: {listen: "127.0.0.1:9763"}}
robots:
  rover:
    motion: {kind: circle, center: [0, 0, 0], radius: 2, period_s: -8}
  scout:
    motion: {kind: waypoints, points: [[0, 0, 0], [4, 0, 0]], speed: 0.25, closed: false}
  buoy: {position: [1, 2, 3], rotation: [0, 0, 1, 1.57]}
obstacles:
  wall: {shape: box, size: [0.1, 4, 1], position: [2, 0, 0.5]}
  mast: {shape: capsule, radius: 0.1, height: 1, attached_to: rover, owner: scout}
adapters:
  xbee0: {kind: xbee, port: "loop://", channel: 12, attached_to: rover, position: [0, 0, 1]}
"""


def changed(old: str, new: str) -> str:
    assert old in WORLD
    return WORLD.replace(old, new)


@pytest.mark.parametrize(("old", "new", "line"), cases("wrong_scene.txt"))
def test_a_mistake_is_reported_at_its_place(old: str, new: str, line: str, errors: Lines) -> None:
    lines = errors(changed(old, new))
    assert any(line in each and re.match(r"f:\d+:\d+: ", each) for each in lines)


def test_a_rotation_without_a_position_is_worth_a_word(warnings: Lines) -> None:
    (line,) = warnings(changed("position: [1, 2, 3], ", ""))
    assert "warning: robots.buoy.rotation: has no effect without a position" in line


MOVING = "version: 1\nrobots: {rover: {motion: {kind: file, path: poses.csv}}}\n"
POSES = "0,rover,0,0,0,0,0,0,1\n2,rover,4,0,0,0,0,0,1\n"


def refused(path: Path) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        load_config(str(path))
    return str(caught.value).splitlines()


@pytest.mark.parametrize("folder", ["", "FOLDER/"])
def test_a_motion_file_is_looked_for_beside_the_configuration(tmp_path: Path, folder: str) -> None:
    path = folder.replace("FOLDER", str(tmp_path)) + "poses.csv"
    (tmp_path / "c.yaml").write_text(MOVING.replace("poses.csv", path))
    (tmp_path / "poses.csv").write_text(POSES)
    motion = load_config(str(tmp_path / "c.yaml")).config.robots["rover"].motion
    assert isinstance(motion, MotionFile)
    assert read_motion(motion, "rover").at(10**9, 2).position == (2, 0, 0)


FAR = b"0,rover,0,0,2e9,0,0,0,1\n"


@pytest.mark.parametrize(
    ("path", "content", "reported"),
    [
        ("poses.csv", b"0,rover,0,0\n", "poses.csv:1:1: not a timed pose: '0,rover,0,0'; write t"),
        ("poses.csv", 2 * POSES.encode(), "poses.csv:3:1: rover: times do not ascend"),
        ("poses.csv", b"\xff\xfe", "poses.csv: is not UTF-8 text"),
        ("poses.csv", b"#" * (LARGEST_FILE + 1), "poses.csv: is larger than 16 MiB"),
        ("poses.csv", FAR, "poses.csv:1:9: position [0.0, 0.0, 2000000000.0] is not a valid pos"),
        ("poses.csv, name: rovr", POSES.encode(), "has no object 'rovr'; did you mean 'rover'?"),
        ("none.csv", b"", "cannot be read: No such file or directory"),
        (".", b"", "this is not a file"),
        ("/dev/zero", b"", "this is not a file"),
        ('"a\\0b"', b"", "has no NUL"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_file_that_holds_none(tmp_path: Path, path: str, content: bytes, reported: str) -> None:
    (tmp_path / "c.yaml").write_text(MOVING.replace("poses.csv", path))
    (tmp_path / "poses.csv").write_bytes(content)
    (line,) = refused(tmp_path / "c.yaml")
    assert "c.yaml:2:" in line and "robots.rover.motion." in line and reported in line


MOCKED = [  # what makes the controller a mock: of the file, of the part, of the command line
    ("backend: mock", "", None),
    ("backend: mock\nreal: [xbee0]", "", None),
    ("", "backend: mock, ", None),
    ("", "", "mock"),
    ("backend: mock", "backend: mock, ", "mock"),
]
ODD = ["rover", "r 1", "it's", "7", "[x]", "a/b", "no, yes", "{x}", "#1", "a=b"]


@pytest.mark.parametrize(("top", "own", "backend"), MOCKED)
@pytest.mark.parametrize("name", ODD)
def test_a_shell_reads_what_makes_room_for_a_controller_of_ones_own(
    name: str, top: str, own: str, backend: str | None
) -> None:
    text = (
        f"version: 1\n{top}\n"
        "adapters: {xbee0: {kind: xbee, port: /dev/x, channel: 12}}\nrobots:\n"
        f"  {json.dumps(name)}: {{devices: {{tx: {{node: Emitter}}}}, "
        f'controller: {{kind: webots, {own}listen: "tcp://127.0.0.1:1234"}}}}\n'
    )
    part, words = f"{name}.controller", shlex.split(without_mock(name).partition("--set ")[2])
    before = load_text(text, "f", (), backend).config
    after = load_text(text, "f", words, backend).config
    assert is_mocked(before, part) and len(words) == 1 and not is_mocked(after, part)
    assert is_mocked(after, "xbee0") == is_mocked(before, "xbee0")
