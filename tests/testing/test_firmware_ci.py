"""docs/firmware-ci is a separate project: its CI command passes, and finds a bug."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.running import ROOT, environment, run

pytestmark = pytest.mark.process

SAMPLE = ROOT / "docs" / "firmware-ci"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy, as a user has it."""
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    return Path(shutil.copytree(SAMPLE, tmp_path / "thermometer", ignore=ignored))


def ci_commands() -> list[str]:
    workflow = yaml.safe_load((SAMPLE / ".github" / "workflows" / "ci.yml").read_text())
    return [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]


def in_ci(project: Path, options: str = "") -> subprocess.CompletedProcess[str]:
    """What CI runs once all is installed, in this Python."""
    install, command = ci_commands()
    assert install.startswith("pip install")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=project,
        env={**environment(project), "PATH": path, "PYTEST_ADDOPTS": options},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_its_ci_passes(project: Path) -> None:
    done = in_ci(project)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "7 passed" in done.stdout


def test_its_ci_finds_a_bug_and_shows_the_frames(project: Path) -> None:
    firmware = project / "firmware" / "thermometer.py"
    text = firmware.read_text()
    firmware.write_text(text.replace("(crc >> 8, crc & 255)", "(crc & 255, crc >> 8)"))
    done = in_ci(project, "--exitfirst")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert re.search(r"<- 08 74 65 6d 70 3f 76 c4 00 +\| cobs-crc16: packet of 5 B", done.stdout)
    assert re.search(r"-> 0c 74 .* \| cobs-crc16: 1 x wrong CRC", done.stdout)


def test_what_its_page_names_is_there(project: Path) -> None:
    page = (project / "README.md").read_text()
    named = re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)
    assert len(named) == 6
    for name in named:
        assert (project / name).is_file(), name
    for command in ("pytest",):
        assert command in page
    done = run("check", str(project / "gateway.yaml"), cwd=project)
    assert done.returncode == 0, done.stderr
