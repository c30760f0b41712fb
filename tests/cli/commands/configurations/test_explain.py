"""`hilgw explain`: everything is named, nothing is opened, errors are those of `hilgw check`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.main import main
from hilgw.cli.output.diagram import ASCII, UNICODE, End, boxes, bus, glyphs_of
from hilgw.cli.output.explanation import in_words
from hilgw.config.explain import explain
from hilgw.config.explain.robots import Facts
from hilgw.config.load import load_config
from hilgw.control.events import StopReason

ROOT = Path(__file__).parents[4]
CONFIGS = sorted(
    [*(ROOT / "configs").glob("*.yaml"), *(ROOT / "tests" / "golden" / "more").glob("*.yaml")]
)
EPUCK = str(ROOT / "configs" / "epuck.yaml")

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


def facts_of(file: Path | str, *options: str, capsys: Any) -> dict[str, Any]:
    assert main(["explain", str(file), "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def text_of(*arguments: str, capsys: Any) -> str:
    assert main(["explain", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return str(out)


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
    robots: list[Facts] = explain(load_config(str(config), options, backend))["robots"]
    return robots


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


def test_the_options_of_a_run_change_it(capsys: Any) -> None:
    (mocked,) = facts_of(EPUCK, capsys=capsys)["robots"]
    (real,) = facts_of(EPUCK, "--backend", "real", capsys=capsys)["robots"]
    (armed,) = facts_of(EPUCK, "--backend", "real", "--arm", capsys=capsys)["robots"]
    (slower,) = facts_of(EPUCK, "--set", "robots.e-puck.safety.command_timeout_s=2", capsys=capsys)[
        "robots"
    ]
    safeties = [robot["bodies"][0]["safety"] for robot in (mocked, real, armed, slower)]
    assert [(each["armed"], each["latch"]) for each in safeties] == [
        (True, False),
        (False, True),
        (True, True),
        (True, False),
    ]
    assert mocked["bodies"][0]["connection"]["mock"] == "epuck"
    assert real["bodies"][0]["connection"]["mock"] is None
    frozen = [rule for rule in slower["stops"] if "freezes" in rule["cause"]]
    assert [rule["after_s"] for rule in frozen] == [2.0]
    assert facts_of("swarm", "--speed", "max", capsys=capsys)["speed"] == "max"


def test_limits_and_what_the_robot_itself_can_do(capsys: Any) -> None:
    limits = "robots.e-puck.body.limits={left wheel motor: {min_velocity: -2, max_velocity: 5, "
    limits += "rate: 10}}"
    (robot,) = facts_of(EPUCK, "--set", limits, capsys=capsys)["robots"]
    left, right = (each for each in robot["bodies"][0]["devices"] if each["role"] == "motor")
    velocity = {"quantity": "velocity", "unit": "rad/s"}
    assert left["bounds"] == [velocity | {"low": -2.0, "high": 5.0, "by": "configuration"}]
    assert left["rate"] == 10.0
    (own,) = right["bounds"]
    assert (own["by"], round(own["high"], 2)) == ("device", 6.28)


def test_the_load_of_the_line_is_that_of_the_check(capsys: Any) -> None:
    (robot,) = facts_of(EPUCK, capsys=capsys)["robots"]
    load = robot["bodies"][0]["load"]
    assert main(["check", EPUCK, "--set", "robots.e-puck.body.period_ms=4"]) == 3
    refused = capsys.readouterr().err
    assert f"needs {load['needed_bytes']} bytes, and the line carries 46" in refused
    assert load["possible_bytes"] == 11_520 * load["period_ms"] // 1000


def test_errors_are_those_of_the_check(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("version: 1\nadapters:\n  a: {kind: xbee, chanel: 12}\n")
    assert main(["check", str(file)]) == 3
    wanted = capsys.readouterr()
    assert main(["explain", str(file)]) == 3
    assert capsys.readouterr() == wanted
    assert main(["explain", "--json", str(file)]) == 3
    found = json.loads(capsys.readouterr().out)
    assert [each["path"] for each in found["errors"]] == ["adapters.a.port", "adapters.a.chanel"]


def test_warnings_and_rates_that_differ_are_noted(capsys: Any) -> None:
    text = text_of("xbee", "--set", "robots.rover.devices.rx.channel=3", capsys=capsys)
    noted = " ".join(text.partition("\nto note\n")[2].split())
    assert "rover.tx sends at 9600 bit/s (8 bit a byte), xbee0 carries 9600 bit/s" in noted
    assert "warning: robots.rover.devices.rx: radio, channel 3: reaches no hardware" in noted


def test_who_meets_whom(capsys: Any) -> None:
    meetings = facts_of("webots-plugin", capsys=capsys)["meetings"]
    assert meetings == [
        {
            "type": "radio",
            "channel": 12,
            "emitters": ["gateway.tx"],
            "receivers": ["gateway.rx"],  # its channel is -1: every channel
            "adapters": ["xbee0"],
        }
    ]


# --- diagrams -------------------------------------------------------------------------------------


def test_boxes_in_a_row_and_one_below_the_other() -> None:
    left, ends = End("<->", ["controller"]), [End("<->", ["body"]), End("->", ["remote"])]
    assert boxes(left, ["loop"], ends, 60, ASCII) == [
        "+------------+     +------+     +--------+",
        "| controller |<--->| loop |<--->| body   |",
        "|            |     |      |     +--------+",
        "|            |     |      |     +--------+",
        "|            |     |      |---->| remote |",
        "+------------+     +------+     +--------+",
    ]
    narrow = boxes(left, ["loop"], ends[:1], 24, UNICODE)
    assert narrow == [
        "┌──────────────┐",
        "│ controller   │",
        "└──────────────┘",
        "  │",
        "┌──────────────┐",
        "│ loop         │",
        "└──────────────┘",
        "  │",
        "┌──────────────┐",
        "│ body         │",
        "└──────────────┘",
    ]


def test_a_bus_with_names_on_both_sides() -> None:
    assert bus([("a.tx", "->"), ("b.receiver", "<-")], ["x: 1", "y: 2", "z: 3"], 60, ASCII) == [
        "a.tx       --> |<--> x: 1",
        "b.receiver <-- |<--> y: 2",
        "               |<--> z: 3",
    ]


def test_the_characters_are_those_that_the_output_has() -> None:
    assert glyphs_of("utf-8") is UNICODE
    assert glyphs_of("ascii") is glyphs_of("latin-1") is glyphs_of(None) is ASCII


def test_a_robot_that_registers_its_devices_shows_how_many_the_line_carries(capsys: Any) -> None:
    serial = str(ROOT / "configs" / "wc2ec-serial.yaml")
    (robot,) = facts_of(serial, capsys=capsys)["robots"]
    load = robot["bodies"][0]["load"]
    assert load["each_device"] and 13 < load["needed_bytes"] < 20
    assert load["possible_bytes"] == 11_520 * load["period_ms"] // 1000
    (on_tcp,) = facts_of("shadow", capsys=capsys)["robots"]
    assert [body["load"] is None for body in on_tcp["bodies"]] == [True, False]
    assert main(["explain", serial]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    count = load["possible_bytes"] // load["needed_bytes"]
    assert f"the line carries {load['possible_bytes']} ({count} of either)" in shown
    body = f"robots.{robot['name']}.body"
    slow = ["--set", f"{body}.baudRate=1200", "--set", f"{body}.step_ms=10"]
    assert main(["check", serial, *slow]) == 3
    assert (
        f"needs {load['needed_bytes']} bytes, and the line carries 1 at" in capsys.readouterr().err
    )


def test_a_federation_has_its_network_and_its_endpoints(tmp_path: Path, capsys: Any) -> None:
    text = (
        "version: 1\nfederation: {name: bench, connect: [tcp/127.0.0.1:7447], ros2: {domain: 7}}\n"
    )
    (tmp_path / "f.yaml").write_text(text)
    assert text_of(str(tmp_path / "f.yaml"), capsys=capsys).endswith(
        "federation, as bench in the network lab\n"
        "  mode        peer: with each gateway that it connects to or that connects to it\n"
        "  connects to tcp/127.0.0.1:7447\n"
        "  ROS 2       packets are also topics /hilgw/DEVICE of the domain 7\n"
    )
    assert facts_of(tmp_path / "f.yaml", capsys=capsys)["federation"] == {
        "name": "bench",
        "network": "lab",
        "mode": "peer",
        "listen": [],
        "connect": ["tcp/127.0.0.1:7447"],
        "plaintext": False,
        "ros2": {"domain": 7, "namespace": "hilgw"},
    }
