"""docs/hardware.md is honest: each kind has a report of a test, or states that there is none."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import yaml

from hilgw import plugins
from tests.e2e.running import ROOT, copy_checkout

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
