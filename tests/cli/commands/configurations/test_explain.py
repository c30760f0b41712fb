"""`hilgw explain`: everything is named, nothing is opened, errors are those of `hilgw check`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.output.diagram import ASCII, UNICODE, End, boxes, glyphs_of
from hilgw.cli.output.explanation import in_words
from hilgw.config.explain import explain
from hilgw.config.explain.robots import Facts
from hilgw.config.load import load_config
from hilgw.control.events import StopReason
from tests.cli.conftest import Command
from tests.e2e.running import ROOT, in_process

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
parts = ("hilgw.engine", "hilgw.assemble", "asyncio", "serial")
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


def test_a_federation_has_its_network_and_its_endpoints(hilgw: Command) -> None:
    keys = "{name: bench, connect: [tcp/127.0.0.1:7447], ros2: {domain: 7}}"
    Path("f.yaml").write_text(f"version: 1\nfederation: {keys}\n")
    assert hilgw("explain", "f.yaml")[1].endswith(
        "federation, as bench in the network lab\n"
        "  mode        peer: with each gateway that it connects to or that connects to it\n"
        "  connects to tcp/127.0.0.1:7447\n"
        "  ROS 2       packets are also topics /hilgw/DEVICE of the domain 7\n"
    )
