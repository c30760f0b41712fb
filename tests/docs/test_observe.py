"""docs/observe.md, status.md, nothing-arrives.md and report.md, beside gateways that they name."""

import asyncio
import errno
import fcntl
import json
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from hilgw.engine.control_socket.listener import control_folder
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.protocols.gateway.metrics import FAMILIES
from hilgw.reasons import ExpiredReason
from hilgw.testing.sim import DEADLINE_S
from hilgw.transports.base import LineSettings
from hilgw.transports.open_errors import port_error
from hilgw.transports.serial.port import open_serial
from tests.client.several import running, with_robots
from tests.client.test_gateway import Reporting
from tests.docs.reading import blocks, pages
from tests.e2e.running import COMMAND, ROOT, Gateway, report_in, report_of, run, run_program, start
from tests.golden.running import run_config

PAGE = pages("observe", "scripts", "status")
EXAMPLES = re.findall(r"```text\n\$ hilgw (watch.*?)(?: \| .*?)?\n(.*?)```", PAGE, re.S)


@pytest.mark.process
def test_each_command_shows_what_the_page_shows(tmp_path: Path) -> None:
    """Ctrl-C ends it without a word, and not the gateway."""
    assert len(EXAMPLES) == 4
    with Gateway(tmp_path, ["--config", "uart"]):
        for command, shown in EXAMPLES:
            words = [*COMMAND, *shlex.split(command)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            process = start(tmp_path, *words, **pipes)
            wanted = [pattern(line) for line in shown.splitlines()] or [re.compile(r'"packet"')]
            while wanted:
                line = process.stdout.readline()
                assert line, command
                wanted = [each for each in wanted if not each.search(line)]
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=DEADLINE_S)
            assert (process.returncode, errors) == (130, "")


def pattern(line: str) -> re.Pattern[str]:
    """Of a line of the page, whatever the time and the number of the packet are."""
    line = re.sub(r"\b6 (B|bytes)", r"N \1", re.sub(r"(ping|pong) \d+", r"\1 N", line))
    _, *words = line.split()
    text = re.sub(r"( [0-9a-f]{2})+(?= |$)", " HEX", " ".join(words))
    text = r" +".join(map(re.escape, text.split()))
    return re.compile(text.replace("HEX", "[0-9a-f ]+").replace("N", r"\d+"))


STATUS_PAGE = pages("status")


@pytest.mark.process
def test_status_and_metrics_show_what_the_page_shows(tmp_path: Path) -> None:
    arguments = ["--config", "uart", "--metrics", "127.0.0.1:0"]
    with Gateway(tmp_path, arguments) as gateway:
        done = run("status", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown = re.search(r"\$ hilgw status\n(.*?)```", STATUS_PAGE, re.S)
        assert shown is not None
        for line in shown[1].splitlines():
            assert re.search(pattern_status(line), done.stdout), (line, done.stdout)
        (status,) = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        hops = [row.split("`")[1] for row in STATUS_PAGE.split("| hop |")[1].splitlines()[2:9]]
        assert hops == list(status["latency"])
        printed = run("metrics", cwd=tmp_path)
        assert printed.returncode == 0
        url = re.search(r"metrics at (http://\S+)", gateway.text())
        assert url is not None
        with urllib.request.urlopen(url[1]) as answer:
            served = answer.read().decode()
    for text in (printed.stdout, served):
        names = {family.name for family in text_string_to_metric_families(text)}
        assert names == {name.removesuffix("_total") for name, *_ in FAMILIES} | {
            "hilgw_latency_seconds"
        }


def pattern_status(line: str) -> str:
    """Of a line of the page, whatever its numbers are."""
    words = [re.sub(r"^[\d.]+(,?)$", r"NUMBER\1", word) for word in line.split()]
    return r" +".join(map(re.escape, words)).replace("NUMBER", r"[\d.e+]+")


SCRIPT = Path(__file__).parent.parent.parent / "docs" / "examples" / "plot_sensor.py"


def run_script(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
    runpy.run_path(str(SCRIPT))


def test_it_plots_what_the_sensor_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    pyplot: Any = ModuleType("matplotlib.pyplot")
    pyplot.plot = lambda times, values: drawn.update(times=list(times), values=list(values))
    pyplot.xlabel = pyplot.ylabel = lambda text: drawn.setdefault("labels", []).append(text)
    pyplot.show = lambda: drawn.update(shown=True)
    package: Any = ModuleType("matplotlib")
    package.pyplot = pyplot
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with running(control_folder(), a=with_robots("cab")) as gateways:
        with Reporting(gateways, 1.5, 2.5):
            run_script(monkeypatch, "cab.gps", "1")
        with pytest.raises(SystemExit, match=r"no value of cab\.gps in 0\.01 s"):
            run_script(monkeypatch, "cab.gps", "0.01")
        with pytest.raises(SystemExit, match=r"did you mean 'cab'"):
            run_script(monkeypatch, "caab", "1")
    assert drawn["values"] == [1.5, 2.5] and drawn["shown"] and len(drawn["times"]) == 2
    assert drawn["labels"][0] == "time (s)"


def test_without_matplotlib_the_fix_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        run_script(monkeypatch, "cab.gps")


NOTHING_ARRIVES_PAGE = pages("nothing-arrives")
TABLES = NOTHING_ARRIVES_PAGE.split("## Before the run")[1]
SYMPTOMS = re.findall(r"^\| `([^`]+)`.* \| .+ \| .+ \|$", TABLES, re.M)


def mocked(name: str, *edits: tuple[str, Any], seconds: float = 2.2) -> Callable[[], str]:
    """A shipped configuration with a fault, in virtual time. edits: a path of keys, a value."""

    def shown() -> str:
        content = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text("utf-8"))
        for path, value in edits:
            *parts, last = path.split(".")
            node = content
            for part in parts:
                node = node.setdefault(part, {})
            node[last] = value
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "faulty.yaml"
            file.write_text(yaml.safe_dump(content))
            return run_config(str(file), seconds, terminal=True).split("=== events")[0]

    return shown


TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"
NODE = "adapters.uart0.mock"
WALL = {"wall": {"shape": "box", "position": [0.25, 0, 0], "size": [0.02, 2, 2]}}
PROVOKED: dict[str, Callable[[], str]] = {
    "reaches no hardware and no other robot": mocked("xbee", (f"{TX}.channel", 13)),
    "the module does not answer, in API mode or in command mode": mocked(
        "xbee-transparent", ("adapters.stream0.mock", {"baudRate": 57600}), seconds=9
    ),
    "the module sends API frames but does not answer commands": mocked(
        "xbee", ("adapters.xbee0.mock", {"baudRate": 57600}), seconds=5
    ),
    "not received: no listener": mocked("xbee", (f"{TX}.type", "serial")),
    "not received: disabled": mocked(
        "webots-controller",
        ("robots.rover.controller.mock.script", "step 32 x 10; send tx ping 1; step 32 x 30"),
    ),
    "not received: channel": mocked("xbee", (f"{TX}.channel", 13)),
    "not received: range": mocked("xbee", (f"{TX}.range", 0.5)),
    "not received: cone": mocked("irda_sir", ("robots.rover.rotation", [0, 0, 1, 1.57])),
    "not received: obstacle": mocked("irda_sir", ("obstacles", WALL)),
    "refused (overflow)": mocked(
        "uart",
        ("robots.rover.controller.period_ms", 20),
        ("adapters.uart0.baudRate", 1200),
        ("adapters.uart0.bufferSize", 64),
    ),
    "refused (too long)": mocked("xbee", ("robots.rover.controller.payload", "x" * 200)),
    "refused (no ack) not delivered": mocked(
        "xbee", ("adapters.xbee0.destination", "0013A20040A1B2C3")
    ),
    "received 0, delivered 0": mocked("xbee", ("airs.lab.nodes.remote.channel", 13)),
    "not received: air": mocked("xbee", (f"{RX}.channel", 13)),
    "refused (own echo) the local echo of a packet just sent": mocked("irda_sir"),
    "refused (own echo) sent by a module of this gateway": mocked("swarm"),
    "refused (bad crc)": mocked("uart", (NODE, {"mode": "flood", "framing": "cobs-xmodem"})),
    "which has no channel here": mocked(
        "ir_toy", ("adapters.ir0.mapping.table", {4: {"address": 9}}), seconds=4
    ),
    "no frame yet": mocked("uart", (NODE, {"mode": "flood", "framing": "lines"}), seconds=3),
    "refused (no frame) not delivered": mocked(
        "uart", (NODE, {"mode": "flood", "framing": "lines"}), seconds=4
    ),
    "this adapter takes": mocked("ir_toy", ("adapters.ir0.code", "rc5"), seconds=3),
    "the robot is not armed": mocked("create2", ("robots.create.safety", {"armed": False})),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("symptom", PROVOKED)
def test_the_fault_of_a_row_shows_its_words(symptom: str) -> None:
    assert symptom in SYMPTOMS
    assert symptom in " ".join(PROVOKED[symptom]().split())


async def refusal(port: str) -> str:
    """The words with which a real port is not opened."""
    timer = Timer(asyncio.get_running_loop())
    try:
        with pytest.raises(PortError) as caught:
            await open_serial(port, LineSettings(baudRate=9600), timer)
    finally:
        timer.close()
    return caught.value.what


async def test_ports_that_cannot_be_opened(tmp_path: Path) -> None:
    absent, denied, used = SYMPTOMS[1:4]
    assert absent == await refusal(str(tmp_path / "none"))
    assert denied == port_error(PermissionError(errno.EACCES, ""), "/dev/ttyUSB0").what
    master, slave = os.openpty()
    try:
        fcntl.flock(slave, fcntl.LOCK_EX)
        assert (await refusal(os.ttyname(slave))).startswith(used)
    finally:
        os.close(master)
        os.close(slave)
    assert set(SYMPTOMS) == {absent, denied, used, *PROVOKED}


REPORT_PAGE = pages("report")
KEYS = re.findall(r"^\| `([\w.]+)` \|", REPORT_PAGE, re.M)
# The names of what these hold are those of the device or the protocol.
OPEN = ("sensors.DEVICE", "units.DEVICE", "motors.DEVICE", "counts.END", "exit_codes")
Path_ = tuple[str, ...]


def frozen() -> dict[str, Any]:
    """The reports of the shipped configurations and of more, by name."""
    folder = ROOT / "tests" / "golden"
    statuses = {}
    for path in (*folder.glob("*.txt"), *folder.glob("more/*.txt")):
        _, _, rest = path.read_text(encoding="utf-8").partition("=== report\n")
        if rest:
            statuses[path.stem] = json.loads(rest.split("\n\n=== ended")[0])
    return statuses


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if not isinstance(value, Mapping):
        yield path
        return
    for key, inner in value.items():
        yield from leaves(inner, (*path, key))


def report_pattern(key: str) -> re.Pattern[str]:
    """Parts are separated by a NUL: names have dots. A part in capitals is any name."""
    parts = [r"[^\0]+" if re.fullmatch("[A-Z]+", part) else part for part in key.split(".")]
    if key.startswith("NAME.program."):
        parts = [r"[^\0]+\.program", parts[-1]]
    more = r"(\0.+)?" if key.endswith(OPEN) else ""
    return re.compile(r"\0".join(parts) + more)


PATTERNS = {key: report_pattern(key) for key in KEYS}


def matched(report: Mapping[str, Any]) -> set[str]:
    """The keys of the page that this report has. All of the report must be on the page."""
    keys = set()
    for path in leaves(report):
        text = "\0".join(path)
        named = {key for key, known in PATTERNS.items() if known.fullmatch(text)}
        assert len(named) == 1, (path, named)
        keys |= named
    return keys


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The frozen ones have no times: three runs add these, and what needs real time."""
    folder = tmp_path_factory.mktemp("reports")

    def report(name: str, *more: str) -> dict[str, Any]:
        return report_of(folder, "--config", str(ROOT / "configs" / f"{name}.yaml"), *more)

    unlinked = ("--set", "airs.lab.nodes.spare.link=null")
    mocap = ("--set", 'medium.mocap={listen: "127.0.0.1:0"}')
    robot, switch = socket.create_server(("127.0.0.1", 0)), folder / "switch.yaml"
    switch.write_text(
        "{version: 1, webots: R2020a, estop: {port: /dev/absent, line: cts}, robots: "
        '{cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:PORT"}}}}'.replace(
            "PORT", str(robot.getsockname()[1])
        )
    )
    with robot:
        switched = report_of(folder, "--config", str(switch), "--duration", "300ms")
    return {
        **frozen(),
        "xbee, now": report("xbee", "--speed", "max", "--duration", "2.8s", *unlinked),
        "shadow, now": report(
            "shadow", "--speed", "max", "--duration", "1s", "--record", "shadow.pcapng"
        ),
        "program": until_ready(folder, str(ROOT / "configs" / "python-controller.yaml"), *mocap),
        "switch": switched,
    }


def until_ready(folder: Path, config: str, *more: str) -> dict[str, Any]:
    with Gateway(folder, ["--config", config, "--report", "out.json", *more]) as gateway:
        assert gateway.stop() == 130
    return report_in(folder)


@pytest.mark.process
def test_every_key_of_a_report_is_on_the_page_and_no_other(reports: dict[str, Any]) -> None:
    assert len(KEYS) == len(set(KEYS)) > 80
    keys = set().union(*(matched(report) for report in (*reports.values(), rare_counts())))
    assert set(KEYS) - keys == {
        "control_loops.ROBOT.shadow.refused.REASON",
        "control_loops.ROBOT.commands_superseded",  # test_refused_commands
        "control_loops.ROBOT.commands_dropped",
        "control_loops.ROBOT.late_ends",
        "control_loops.ROBOT.standstill_stops",  # test_standstill
        "replays.NAME",  # tests/assemble/test_replays.py
    }


def rare_counts() -> dict[str, Any]:
    """Of packets that no run here has."""
    ledger = Ledger()
    ledger.emitter("rover.tx").expire(1, ExpiredReason.STOPPED)
    ledger.station("rover.rx").carry()
    return ledger.as_dict()


@pytest.mark.process
def test_the_equations_of_the_page_hold(reports: dict[str, Any]) -> None:
    table = REPORT_PAGE.split("The equations of the ledger:")[1].split("\n## ")[0]
    equations = re.findall(r"^\| an? (Emitter|station) \| `(\w+) = (.*)` \|$", table, re.M)
    assert len(equations) == 4
    compared = 0
    for report in reports.values():
        for kind, whole, parts in equations:
            for count in report["emitters" if kind == "Emitter" else "stations"].values():
                values = (count[part] for part in parts.split(" + "))
                total = sum(v if isinstance(v, int) else sum(v.values()) for v in values)
                assert count[whole] == total
                compared += total > 0
    assert compared > 100


@pytest.mark.process
def test_its_example_is_what_its_command_writes(reports: dict[str, Any]) -> None:
    """At another speed."""
    (example,) = blocks("json", REPORT_PAGE)
    assert "    hilgw --config configs/xbee.yaml --duration 2.8s --report out.json\n" in REPORT_PAGE
    shown, real = json.loads(example), reports["xbee, now"]
    matched(shown)
    for group in ("emitters", "stations"):
        for name, counts in shown[group].items():
            assert counts == real[group][name]
    assert shown["received_by"].items() <= real["received_by"].items()


@pytest.mark.process
def test_its_check_passes_in_a_ci_job(reports: dict[str, Any], tmp_path: Path) -> None:
    (program,) = blocks("python", REPORT_PAGE)
    (tmp_path / "out.json").write_text(json.dumps(reports["xbee, now"]))
    done = run_program(sys.executable, "-c", program, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
