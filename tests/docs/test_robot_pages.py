"""The pages of robots and docs/hardware.md: commands of the code, and honest reports of tests."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from firmware_mocks import text_module
from hilgw import plugins
from hilgw.bodies.create2 import BODY as CREATE2, Create2Settings
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL, DynamixelSettings
from hilgw.bodies.epuck import BODY as EPUCK, EPuckSettings
from hilgw.bodies.feetech import BODY as FEETECH, FeetechSettings
from hilgw.bodies.text import BODY as TEXT
from hilgw.bodies.text.settings import DeclaredMotion, DeclaredRequest, TextBodySettings, TextSensor
from hilgw.config.load import load_text
from hilgw.control.events import Connected
from hilgw.plugins import new_air
from tests.bodies.bench import BodyBench
from tests.docs.reading import blocks, pages
from tests.e2e.running import ROOT, copy_checkout

SESSIONS: dict[str, Any] = {
    "create2": lambda: CREATE2.session(Create2Settings(port="/dev/x"), "R2025a"),
    "dynamixel": lambda: DYNAMIXEL.session(DynamixelSettings(port="/dev/x"), "R2025a"),
    "epuck": lambda: EPUCK.session(EPuckSettings(port="/dev/x"), "R2025a"),
    "feetech": lambda: FEETECH.session(FeetechSettings(port="/dev/x"), "R2025a"),
}


def page_of(kind: str) -> str:
    return (ROOT / "docs" / f"{kind}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", SESSIONS)
def test_the_devices_are_those_of_the_body_in_order(kind: str) -> None:
    table = page_of(kind).split("## Devices")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w, ]+) \| (\w+) \|", table, re.M)[1:]
    named = [(name, node) for names, node in rows for name in names.split(", ")]
    devices = [(device.name, device.kind) for device in SESSIONS[kind]().devices]
    assert sorted(named) == sorted(devices) and len(named) > 2


TEXT_PAGE = pages("text-robots", "text-examples")


def text_settings(block: str, **more: Any) -> Any:
    body = {"kind": "text", "port": "/dev/x", **yaml.safe_load(block), **more}
    text = yaml.safe_dump({"version": 1, "robots": {"r": {"body": body}}})
    loaded = load_text(text, "page").config.robots["r"].body
    assert loaded is not None
    return loaded.settings


def test_the_robot_in_twenty_lines_drives_on_its_mock() -> None:
    example, _ = blocks("yaml", TEXT_PAGE)
    settings = text_settings(example)
    mock = text_module.create("robot", new_air(), TEXT.mock(settings, "R2025a").parameters)
    line = BodyBench(TEXT.session(settings, "R2025a"), mock)
    line.open(400)
    assert line.found(Connected) == [Connected("text robot 1.2")]
    line.enable("left eye")
    line.enable("front eye")
    line.command("left wheel", "velocity", 4.0)
    line.command("right wheel", "velocity", -4.0)
    line.run(200)
    assert line.values() == {"left eye": 0.2, "front eye": 0.512}
    assert line.written.count(b"M,100,-100\r") == 1 and line.events == []


def test_the_example_of_a_body_in_python_adds_nmeas_checksum() -> None:
    section = TEXT_PAGE.split("## A robot that needs more")[1]
    assert "`hilgw new-body my_robot`" in section
    names: dict[str, Any] = {}
    (example,) = blocks("python", section)
    exec(example, names)
    line = names["with_checksum"](b"GPGLL,5300.97914,N,00259.98174,E,125926,A")
    assert line.endswith(b",A*28\r\n")  # of the receiver's manual


def test_every_key_of_the_tables_exists() -> None:
    tables = TEXT_PAGE.split("## Lines")[1].split("## The Khepera")[0]
    first = re.findall(r"^\| (`.*?`) \|", tables, re.M)
    keys = {key for cell in first for key in re.findall(r"`(\w+)", cell)}
    known = {
        field
        for part in (TextBodySettings, TextSensor, DeclaredMotion, DeclaredRequest)
        for field in part.__dataclass_fields__
    }
    assert keys - {"mode"} <= known and len(keys) > 12


DATA = yaml.safe_load((ROOT / "docs" / "hardware.yaml").read_text(encoding="utf-8"))
FORM = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/hardware-report.yml").read_text("utf-8"))
FIELDS = {part["id"]: part for part in FORM["body"] if part["type"] != "markdown"}
REPORT = {
    "device": "HC-12, bought 2024",
    "firmware": "v2.6",
    "date": date(2026, 12, 1),
    "by": "a laboratory",
    "report": "https://example.org/issues/1",
}


def rows(page: Path) -> dict[str, list[str]]:
    """Kind -> the other columns of its last row."""
    lines = re.findall(r"^\| `(\w+)` \|(.*)\|$", page.read_text(encoding="utf-8"), re.M)
    return {kind: [cell.strip() for cell in rest.split("|")] for kind, rest in lines}


def test_every_kind_of_hardware_has_a_row() -> None:
    robots = {kind for kind, load in plugins.find(plugins.BODIES).items() if not load().simulated}
    assert set(rows(ROOT / "docs" / "hardware.md")) == {*plugins.find(plugins.ADAPTERS), *robots}


def test_a_kind_without_a_report_states_it() -> None:
    reported = {report["kind"] for report in DATA["reports"]}
    for kind, cells in rows(ROOT / "docs" / "hardware.md").items():
        if kind not in reported:
            assert cells[:4] == ["", "", "", ""]
            assert re.match("mock (only|and independent programs only)", cells[4]), kind


@pytest.mark.process
def test_a_report_is_shown_in_the_table_and_on_the_page_of_its_kind(tmp_path: Path) -> None:
    options = FIELDS["result"]["attributes"]["options"]
    results = dict(zip(("hc12", "uart", "xbee"), options, strict=True))
    copy_checkout(tmp_path, "hilgw", "firmware_mocks", "tools", "docs", "configs")
    reports = [{"kind": kind, "result": result, **REPORT} for kind, result in results.items()]
    data = yaml.safe_dump({"reports": reports, "independent": {}})
    (tmp_path / "docs" / "hardware.yaml").write_text(data)
    command = [sys.executable, str(tmp_path / "tools" / "generate_docs")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shown, address = rows(tmp_path / "docs" / "hardware.md"), REPORT["report"]
    for kind, result in results.items():
        assert shown[kind] == [*map(str, [*REPORT.values()][:4]), f"[{result}]({address})"]
        page = (tmp_path / "docs" / "adapters" / f"{kind}.md").read_text(encoding="utf-8")
        worked = "all worked" in result
        assert (f"Tested on hardware: [yes]({address})." in page) == worked
        assert ("Tested on hardware: no." in page) != worked
