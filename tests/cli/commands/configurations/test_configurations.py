"""`hilgw check`, `hilgw explain` and `hilgw example`: every file and error, nothing opened."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import hilgw as hilgw_package
from hilgw.cli.commands.configurations.example import examples, title
from hilgw.cli.output.diagram import ASCII, UNICODE, End, boxes, bus, glyphs_of
from hilgw.cli.output.explanation import in_words
from hilgw.config.explain import explain
from hilgw.config.explain.robots import Facts
from hilgw.config.load import load_config
from hilgw.config.schema.file import json_schema
from hilgw.config.shipped import HEADER, SCHEMA
from hilgw.control.events import StopReason
from tests.cli.conftest import Command
from tests.e2e.running import ROOT, in_process

SHIPPED = str(ROOT / "configs" / "xbee.yaml")
SET = "adapters.xbee0.channel=13x"

# Modules that a check of an XBee on mocks does not need; they take a third of its time.
UNNEEDED = {
    "asyncio",
    "firmware_mocks.air",
    "firmware_mocks.xbee.module",
    "hashlib",
    "hilgw.adapters._common.framed_line",
    "hilgw.adapters._common.routes",
    "hilgw.adapters.base",
    "hilgw.adapters.xbee.session",
    "hilgw.config.diagnose",
    "hilgw.control.events",
    "hilgw.control.safety",
    "hilgw.devices.kinds",
    "hilgw.medium.obstacles",
    "hilgw.medium.packet",
    "hilgw.protocols",
    "pydantic",
    "random",
    "serial",
    "textwrap",
}

NEEDED = """
import json, sys
schemas = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "parts_schema":
        schemas.add(frame.f_locals["title"])
from hilgw.__main__ import main
sys.argv = ["hilgw", "check", sys.argv[1]]
sys.setprofile(note)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(json.dumps([sorted(sys.modules), sorted(schemas)]))
"""

WRONG = "version: 1\nadapters:\n  a: {kind: xbee, chanel: 12}\n"


def test_all_files_and_all_errors(hilgw: Command) -> None:
    Path("wrong.yaml").write_text(WRONG)
    warned = "version: 1\nrobots: {r: {devices: {e: {node: Emitter, maxRange: 1}}}}\n"
    Path("warned.yaml").write_text(warned)
    code, out, err = hilgw(
        "check", "wrong.yaml", SHIPPED, "none.yaml", "warned.yaml", "a\nb\x1b[31m"
    )
    assert (code, out) == (3, f"{SHIPPED}: ok\nwarned.yaml: ok\n")
    lines = err.splitlines()
    assert lines[:3] == [
        "wrong.yaml:3:3: adapters.a.port: missing; "
        "write `port: /dev/serial/by-id/usb-Digi_XBee-if00-port0`",
        "wrong.yaml:3:19: adapters.a.chanel: unknown key; did you mean 'channel'?",
        "none.yaml: no such file; `hilgw example` lists the shipped ones",
    ]
    assert "warned.yaml:2:" in err
    assert "warning: robots.r.devices.e: range -1 is beyond maxRange" in err
    assert all(line.isprintable() for line in lines)
    assert hilgw("check", SHIPPED) == (0, f"{SHIPPED}: ok\n", "")
    code, _, err = hilgw("check")
    assert code == 2 and "FILE" in err
    for words in (
        ["check", SHIPPED, "--set", SET, "--backend", "real"],
        ["--set", SET, "check", SHIPPED],
    ):
        code, _, err = hilgw(*words)
        assert code == 3 and f"--set {SET}: adapters.xbee0.channel: " in err


DOUBTFUL = """\
version: 1
backend: mock
robots:
  rover:
    devices:
      tx: {node: Emitter, type: radio}
adapters:
  arduino: {kind: uart, port: COM3, baudRate: 9601}
"""
REACHES_NOTHING = "radio, channel 0: reaches no hardware and no other robot; arduino is serial"


@pytest.mark.parametrize("words", ["a.yaml --duration 1ms", "check a.yaml", "explain a.yaml"])
def test_warnings_are_shown(words: str, hilgw: Command) -> None:
    Path("a.yaml").write_text(DOUBTFUL)
    _, out, err = hilgw(*words.split())
    shown = " ".join((err + out).split())
    for warning in (REACHES_NOTHING, "did you mean 9600?", "is the name of a port on Windows"):
        assert warning in shown


def test_json(hilgw: Command) -> None:
    Path("wrong.yaml").write_text(WRONG)
    code, out, err = hilgw("check", "--json", "wrong.yaml", SHIPPED)
    assert (code, err) == (3, "")
    first, second = json.loads(out)["files"]
    assert second == {"file": SHIPPED, "ok": True, "errors": [], "warnings": []}
    assert (first["file"], first["ok"], len(first["errors"])) == ("wrong.yaml", False, 2)
    assert first["errors"][1] == {
        "file": "wrong.yaml",
        "line": 3,
        "column": 19,
        "path": "adapters.a.chanel",
        "message": "unknown key",
        "fix": "did you mean 'channel'?",
        "severity": "error",
    }


@pytest.mark.process
def test_a_check_imports_and_builds_what_the_file_uses() -> None:
    command = [sys.executable, "-c", NEEDED, SHIPPED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    modules, schemas = json.loads(done.stdout.splitlines()[-1])
    assert {"hilgw.adapters.xbee", "firmware_mocks.xbee.settings"} <= set(modules)
    assert not UNNEEDED & set(modules)
    assert {"adapter xbee", "controller beacon", "Emitter", "Receiver"} <= set(schemas)
    assert not {"adapter uart", "controller wc2ec", "DistanceSensor", "LED"} & set(schemas)


@pytest.mark.parametrize("command", ["check", "run"])
def test_settings_that_zenoh_refuses_are_found_where_they_are(hilgw: Command, command: str) -> None:
    text = "version: 1\nfederation:\n  name: bench\n  zenoh: {scouting: {nonsense: 1}}\n"
    Path("f.yaml").write_text(text)
    code, _, err = hilgw(command, "f.yaml")
    assert code == 3 and err == (
        "f.yaml:4:32: federation.zenoh.scouting.nonsense: Zenoh refuses scouting/nonsense: "
        "unknown key; see Zenoh's DEFAULT_CONFIG.json5 for its settings\n"
    )


def test_the_list(hilgw: Command) -> None:
    code, out, _ = hilgw("example")
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines] == list(examples())
    width = max(map(len, examples()))
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)
    assert all(line.endswith(".") for line in lines)  # whole sentences
    code, _, err = hilgw("example", "xbe")
    assert code == 2 and "unknown example 'xbe'; did you mean 'xbee'?" in err
    assert hilgw("example", "../pyproject")[0] == 2
    shipped = (ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8")
    for name in ("xbee", "xbee.yaml"):
        code, out, _ = hilgw("example", name)
        assert code == 0 and out.partition("\n")[2] == shipped.partition("\n")[2]


def test_the_first_line_names_a_schema_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    def named() -> str:
        return str(hilgw("example", "uart")[1].splitlines()[0].removeprefix(HEADER))

    # A path with a blank is written as an address.
    assert (tmp_path / unquote(named().removeprefix("file:"))).samefile(ROOT / "docs" / SCHEMA)
    (tmp_path / SCHEMA).write_text("{}")
    assert named() == SCHEMA
    with_blank = tmp_path / "with a blank" / "hilgw"
    (with_blank / "configs").mkdir(parents=True)
    (with_blank / "configs" / "uart.yaml").write_text(f"{HEADER}x\nversion: 1\n")
    (with_blank / SCHEMA).write_text("{}")
    (tmp_path / SCHEMA).unlink()
    monkeypatch.setattr(hilgw_package, "__file__", str(with_blank / "__init__.py"))
    assert named() == (with_blank / SCHEMA).as_uri()
    (with_blank / SCHEMA).unlink()
    assert named() == SCHEMA


def test_a_wheel_has_them_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "hilgw"
    (package / "configs").mkdir(parents=True)
    (package / "configs" / "mine.yaml").write_text(
        "# yaml-language-server: x\n#\n# Mine.\nversion: 1\n"
    )
    monkeypatch.setattr(hilgw_package, "__file__", str(package / "__init__.py"))
    assert list(examples()) == ["mine"]
    assert title(examples()["mine"]) == "Mine."
    assert title("version: 1\n") == ""


def test_an_example_is_written_with_its_program(hilgw: Command) -> None:
    code, out, _ = hilgw("example", "python-controller", "--write")
    shown = "written: python-controller.yaml, python_controller.py; hilgw python-controller.yaml"
    assert code == 0 and shown in out
    program = Path("python_controller.py")
    assert program.read_bytes() == (ROOT / "configs" / "python_controller.py").read_bytes()
    program.unlink()
    code, _, err = hilgw("example", "python-controller", "--write")
    assert code == 2 and "python-controller.yaml: this file exists" in err
    assert not program.exists()
    assert hilgw("example", "--write")[0] == 2


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_example_has_all_its_files(name: str, hilgw: Command) -> None:
    assert hilgw("example", name, "--write")[0] == hilgw("check", f"{name}.yaml")[0] == 0


def test_the_schema_is_written_beside_a_configuration(hilgw: Command) -> None:
    def written(*words: str) -> list[str]:
        code, out, _ = hilgw("schema", "--write", *words)
        assert code == 0
        return out.splitlines()

    line = f"  {HEADER}{SCHEMA}"
    first, _, last = written()
    assert (first, last) == (f"wrote {SCHEMA}", line)
    schema = json_schema()
    assert json.loads(Path(SCHEMA).read_text()) == json.loads(hilgw("schema")[1]) == schema
    Path("lab").mkdir()
    Path("lab/my.yaml").write_text("version: 1\n")
    first, next_step, last = written("lab/my.yaml")
    assert (first, last) == (f"wrote lab/{SCHEMA}", line)
    assert "the first line of lab/my.yaml" in next_step
    assert Path("lab", SCHEMA).read_text() == Path(SCHEMA).read_text()
    Path("lab/my.yaml").write_text(f"{line.strip()}\nversion: 1\n")
    assert written("lab/my.yaml") == [f"wrote lab/{SCHEMA}"]  # again, over its own


def test_what_is_not_a_schema_of_hilgw_stays(
    hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilgw.config.schema.file.json_schema", dict)  # it takes longer than a run
    for text in ("{}", "[1]", "not JSON", '{"title": "mine"}'):
        Path(SCHEMA).write_text(text)
        code, _, err = hilgw("schema", "--write")
        assert code == 1 and "this file exists and is not a schema of hilgw" in err
        assert Path(SCHEMA).read_text() == text
    code, _, err = hilgw("schema", "--write", "none.yaml")
    assert code == 2 and "none.yaml does not exist" in err


CONFIGS = sorted(
    [*(ROOT / "configs").glob("*.yaml"), *(ROOT / "tests" / "golden" / "more").glob("*.yaml")]
)
EPUCK = "epuck"

# Opens and connections of a run, in a process of its own: an audit hook stays for ever.
WATCHED = """
import sys
seen = []
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/dev/"):
        seen.append(arguments[0])
    elif event.startswith(("socket.", "subprocess.", "os.posix_spawn", "os.fork", "pty.")):
        seen.append(event)
sys.addaudithook(hook)
from hilgw.cli.main import main
assert main(sys.argv[1:]) == 0
parts = ("hilgw.engine", "hilgw.assemble.gateway", "asyncio", "serial")
seen += [name for name in sys.modules if name.startswith(parts)]
sys.stderr.write(repr(seen))
"""


def facts_of(file: str, *options: str) -> dict[str, Any]:
    code, out, _ = in_process("explain", file, "--json", *options, cwd=ROOT)
    assert code == 0
    return json.loads(out)


def places_of(data: dict[str, Any]) -> Iterator[str]:
    """The ports and addresses of a loaded file."""
    robots = data.get("robots", {}).values()
    parts = [robot.get(key) or {} for robot in robots for key in ("controller", "body", "remote")]
    for part in (*parts, *data.get("adapters", {}).values()):
        for key in ("port", "connect", "listen"):
            if isinstance(part.get(key), str):
                yield part[key]


@pytest.mark.parametrize("backend", ["mock", "real"])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_it_names_every_part_of_every_configuration(config: Path, backend: str) -> None:
    loaded = load_config(str(config), (), backend)
    lines = in_words(explain(loaded), loaded.config, config.stem, 72, UNICODE)
    assert max(map(len, lines)) <= 72
    words = re.sub(r"\s|│", "", "".join(lines))  # what was wrapped is joined again
    data = loaded.data
    names = [*data.get("robots", {}), *data.get("adapters", {}), *data.get("airs", {})]
    for robot in loaded.config.robots.values():
        names += robot.devices
    missing = [each for each in [*names, *places_of(data)] if re.sub(r"\s", "", each) not in words]
    assert names and missing == []
    folder = re.sub(r"\s", "", str(config.parent))  # of a checkout that may be called so
    assert ("mock" in words.replace(folder, "")) is (backend == "mock")


BATTERY = ["robots.rover.controller.battery=[100, 100, 0]"]
ESTOP = ["estop={port: /dev/ttyS9, line: cts}"]


def _explained(config: Path, options: list[str], backend: str) -> list[Facts]:
    if options and config.stem != "webots-controller":
        return []
    return explain(load_config(str(config), options, backend))["robots"]


def test_all_reasons_of_a_stop_are_explained() -> None:
    rules = [
        rule
        for config in CONFIGS
        for options in ([], BATTERY, ESTOP)
        for backend in ("mock", "real")
        for robot in _explained(config, options, backend)
        for rule in robot["stops"]
    ]
    assert {reason for rule in rules for reason in rule["reasons"]} == set(StopReason)


@pytest.mark.process
def test_nothing_is_opened_and_no_engine_is_imported() -> None:
    for name in ("epuck", "webots-plugin"):
        command = [sys.executable, "-c", WATCHED, "explain", name, "--backend", "real"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "[]")


def test_the_options_of_a_run_change_it() -> None:
    slow = ("--set", "robots.e-puck.safety.command_timeout_s=2")
    mocked, real, armed, slower = (
        facts_of(EPUCK, *options)["robots"][0]
        for options in ((), ("--backend", "real"), ("--backend", "real", "--arm"), slow)
    )
    safeties = [robot["bodies"][0]["safety"] for robot in (mocked, real, armed, slower)]
    expected = [(True, False), (False, True), (True, True), (True, False)]
    assert [(each["armed"], each["latch"]) for each in safeties] == expected
    assert mocked["bodies"][0]["connection"]["mock"] == "epuck"
    assert real["bodies"][0]["connection"]["mock"] is None
    frozen = [rule for rule in slower["stops"] if "freezes" in rule["cause"]]
    assert [rule["after_s"] for rule in frozen] == [2.0]
    assert facts_of("swarm", "--speed", "max")["speed"] == "max"


def test_a_motor_has_the_bounds_of_the_file_and_of_the_robot() -> None:
    limits = "{left wheel motor: {min_velocity: -2, max_velocity: 5, rate: 10}}"
    (robot,) = facts_of(EPUCK, "--set", f"robots.e-puck.body.limits={limits}")["robots"]
    left, right = (each for each in robot["bodies"][0]["devices"] if each["role"] == "motor")
    velocity = {"quantity": "velocity", "unit": "rad/s"}
    assert left["bounds"] == [velocity | {"low": -2.0, "high": 5.0, "by": "configuration"}]
    assert left["rate"] == 10.0
    (own,) = right["bounds"]
    assert (own["by"], own["high"]) == ("device", pytest.approx(6.28, abs=0.01))


def test_who_meets_whom() -> None:
    """gateway.rx is on every channel; another channel than that of its type meets no hardware."""
    (meeting,) = facts_of("webots-plugin")["meetings"]
    assert meeting == {
        "type": "radio",
        "channel": 12,
        "emitters": ["gateway.tx"],
        "receivers": ["gateway.rx"],
        "adapters": ["xbee0"],
    }
    moved = facts_of("xbee", "--set", "robots.rover.devices.rx.channel=3")["meetings"]
    assert [(each["channel"], each["receivers"], each["adapters"]) for each in moved] == [
        (12, [], ["xbee0"]),
        (3, ["rover.rx"], []),
    ]


def test_errors_are_those_of_the_check(hilgw: Command) -> None:
    Path("wrong.yaml").write_text("version: 1\nadapters:\n  a: {kind: xbee, chanel: 12}\n")
    wanted = hilgw("check", "wrong.yaml")
    assert wanted[0] == 3 and hilgw("explain", "wrong.yaml") == wanted
    code, out, _ = hilgw("explain", "--json", "wrong.yaml")
    paths = [each["path"] for each in json.loads(out)["errors"]]
    assert (code, paths) == (3, ["adapters.a.port", "adapters.a.chanel"])


def test_a_diagram_has_the_characters_of_its_terminal() -> None:
    left, ends = End("<->", ["controller"]), [End("<->", ["body"]), End("->", ["remote"])]
    assert boxes(left, ["loop"], ends, 60, ASCII) == [
        "+------------+     +------+     +--------+",
        "| controller |<--->| loop |<--->| body   |",
        "|            |     |      |     +--------+",
        "|            |     |      |     +--------+",
        "|            |     |      |---->| remote |",
        "+------------+     +------+     +--------+",
    ]
    assert boxes(left, ["loop"], ends[:1], 24, UNICODE)[1:-1] == [
        "│ controller   │",
        "└──────────────┘",
        "  │",
        "┌──────────────┐",
        "│ loop         │",
        "└──────────────┘",
        "  │",
        "┌──────────────┐",
        "│ body         │",
    ]
    assert bus([("a.tx", "->"), ("b.receiver", "<-")], ["x: 1", "y: 2", "z: 3"], 60, ASCII) == [
        "a.tx       --> |<--> x: 1",
        "b.receiver <-- |<--> y: 2",
        "               |<--> z: 3",
    ]
    assert glyphs_of("utf-8") is UNICODE
    assert glyphs_of("ascii") is glyphs_of("latin-1") is glyphs_of(None) is ASCII


def test_a_robot_that_registers_its_devices_shows_how_many_the_line_carries() -> None:
    (robot,) = facts_of("wc2ec-serial")["robots"]
    load = robot["bodies"][0]["load"]
    assert load["each_device"] and 13 < load["needed_bytes"] < 20
    (on_tcp,) = facts_of("shadow")["robots"]
    assert [body["load"] is None for body in on_tcp["bodies"]] == [True, False]
    shown = " ".join(in_process("explain", "wc2ec-serial", cwd=ROOT)[1].split())
    count = load["possible_bytes"] // load["needed_bytes"]
    assert f"the line carries {load['possible_bytes']} ({count} of either)" in shown


@pytest.mark.parametrize(
    ("config", "slow"),
    [("epuck", ["period_ms=4"]), ("wc2ec-serial", ["baudRate=1200", "step_ms=10"])],
)
def test_the_load_of_a_line_is_that_of_the_check(config: str, slow: list[str]) -> None:
    (robot,) = facts_of(config)["robots"]
    load = robot["bodies"][0]["load"]
    assert load["possible_bytes"] == 11_520 * load["period_ms"] // 1000
    options = [f"--set=robots.{robot['name']}.body.{each}" for each in slow]
    code, _, refused = in_process("check", config, *options, cwd=ROOT)
    assert code == 3
    assert f"needs {load['needed_bytes']} bytes, and the line carries " in refused


def test_a_federation_has_its_network_and_its_endpoints(hilgw: Command) -> None:
    keys = "{name: bench, connect: [tcp/127.0.0.1:7447], ros2: {domain: 7}}"
    Path("f.yaml").write_text(f"version: 1\nfederation: {keys}\n")
    assert hilgw("explain", "f.yaml")[1].endswith(
        "federation, as bench in the network lab\n"
        "  mode        peer: with each gateway that it connects to or that connects to it\n"
        "  connects to tcp/127.0.0.1:7447\n"
        "  ROS 2       packets are also topics /hilgw/DEVICE of the domain 7\n"
    )
    assert json.loads(hilgw("explain", "f.yaml", "--json")[1])["federation"] == {
        "name": "bench",
        "network": "lab",
        "mode": "peer",
        "listen": [],
        "connect": ["tcp/127.0.0.1:7447"],
        "plaintext": False,
        "ros2": {"domain": 7, "namespace": "hilgw"},
    }
