"""docs/report.md has every key of real reports, and no other."""

import json
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hilgw.medium.ledger import Ledger
from hilgw.reasons import ExpiredReason
from tests.e2e.running import ROOT, Gateway, report_in, report_of, run_program

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
KEYS = re.findall(r"^\| `([\w.]+)` \|", PAGE, re.M)
# The names of what these hold are those of the device or the protocol.
OPEN = ("sensors.DEVICE", "units.DEVICE", "motors.DEVICE", "counts.END", "exit_codes")
Path_ = tuple[str, ...]


def frozen() -> dict[str, Any]:
    """The reports of the shipped configurations and of more, by name."""
    folder = ROOT / "tests" / "golden"
    found = {}
    for path in (*folder.glob("*.txt"), *folder.glob("more/*.txt")):
        _, _, rest = path.read_text(encoding="utf-8").partition("=== report\n")
        if rest:
            found[path.stem] = json.loads(rest.split("\n\n=== ended")[0])
    return found


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if not isinstance(value, Mapping):
        yield path
        return
    for key, inner in value.items():
        yield from leaves(inner, (*path, key))


def pattern(key: str) -> re.Pattern[str]:
    """Parts are separated by a NUL: names have dots. A part in capitals is any name."""
    parts = [r"[^\0]+" if re.fullmatch("[A-Z]+", part) else part for part in key.split(".")]
    if key.startswith("NAME.program."):
        parts = [r"[^\0]+\.program", parts[-1]]
    more = r"(\0.+)?" if key.endswith(OPEN) else ""
    return re.compile(r"\0".join(parts) + more)


PATTERNS = {key: pattern(key) for key in KEYS}


def matched(report: Mapping[str, Any]) -> set[str]:
    """The keys of the page that this report has. All of the report must be on the page."""
    found = set()
    for path in leaves(report):
        text = "\0".join(path)
        named = {key for key, known in PATTERNS.items() if known.fullmatch(text)}
        assert len(named) == 1, (path, named)
        found |= named
    return found


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


def test_every_key_of_a_report_is_on_the_page_and_no_other(reports: dict[str, Any]) -> None:
    assert len(KEYS) == len(set(KEYS)) > 80
    found = set().union(*(matched(report) for report in (*reports.values(), rare_counts())))
    assert set(KEYS) - found == {
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


def test_the_equations_of_the_page_hold(reports: dict[str, Any]) -> None:
    table = PAGE.split("The equations of the ledger:")[1].split("\n## ")[0]
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


def test_its_example_is_what_its_command_writes(reports: dict[str, Any]) -> None:
    """At another speed."""
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    assert "    hilgw --config configs/xbee.yaml --duration 2.8s --report out.json\n" in PAGE
    shown, real = json.loads(example), reports["xbee, now"]
    matched(shown)
    for group in ("emitters", "stations"):
        for name, counts in shown[group].items():
            assert counts == real[group][name]
    assert shown["received_by"].items() <= real["received_by"].items()


def test_its_check_passes_in_a_ci_job(reports: dict[str, Any], tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "out.json").write_text(json.dumps(reports["xbee, now"]))
    done = run_program(sys.executable, "-c", program, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
