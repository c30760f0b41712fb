"""docs/firmware-ci is a separate project: its CI command passes, and finds a bug."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.running import ROOT, run_program

pytestmark = pytest.mark.process

SAMPLE = ROOT / "docs" / "firmware-ci"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy, as a user has it."""
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    return Path(shutil.copytree(SAMPLE, tmp_path / "thermometer", ignore=ignored))


def ci_commands(job: str = "test") -> list[str]:
    workflow = yaml.safe_load((SAMPLE / ".github" / "workflows" / "ci.yml").read_text())
    return [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]


def in_ci(
    project: Path, options: str = "", *, job: str = "test", more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What CI runs once all is installed, in this Python."""
    commands = ci_commands(job)
    installs = [each for each in commands if " install " in each]
    assert any("pip install" in each for each in installs)
    command = " && ".join(each for each in commands if each not in installs)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "PYTEST_ADDOPTS": options} | (more or {})
    return run_program("sh", "-c", command, cwd=project, **given)


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


@pytest.mark.parametrize("job", ["test", "c"])
def test_a_variable_that_is_not_set_is_named(project: Path, job: str) -> None:
    """On GitHub an unset variable is empty."""
    (install,) = [each for each in ci_commands(job) if "pip install" in each]
    done = run_program("bash", "-e", "-c", install, cwd=project, HILGW="")
    assert done.returncode != 0
    assert "HILGW: set this variable of the repository" in done.stderr
    assert "Invalid requirement" not in done.stderr


@pytest.mark.emulated
@pytest.mark.judge("avr-gcc", "qemu-system-avr", "make")
def test_its_road_in_c(project: Path) -> None:
    """It compiles, and passes on an emulated board."""
    node = {"NODE": str(ROOT / "tools" / "firmware" / "hilgw_node")}
    done = in_ci(project, "--exitfirst", job="c", more=node)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "2 passed" in done.stdout
