"""`hilgw new-body`: four files whose test passes; installed as a distribution of its own, too."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import ROOT, copy_checkout, python

pytestmark = pytest.mark.process

FILES = [
    "hilgw/bodies/trolley.py",
    "firmware_mocks/trolley.py",
    "configs/trolley.yaml",
    "tests/bodies/test_trolley.py",
]
SIMULATED = ("--speed", "max", "--duration", "3s", "--report", "out.json")


def require_passed(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def require_driven_and_stopped(report: Path) -> None:
    loop: dict[str, Any] = json.loads(report.read_text())["control_loops"]["rover"]
    assert loop["body"] == "trolley v1"
    assert loop["commands_out"] == 2
    assert loop["sensors"]["left_sensor"] > 3.0  # rad
    assert loop["stops"] == {"gateway_ended": 1}
    assert loop["counts"]["body"]["stops"] == 1
    assert [each["velocity"] for each in loop["motors"].values()] == [0.0, 0.0]


def test_four_files_of_a_checkout_pass_at_once(tmp_path: Path) -> None:
    copy_checkout(tmp_path, "hilgw", "firmware_mocks", "configs", "docs")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    made = python(tmp_path, "-m", "hilgw", "new-body", "trolley")
    require_passed(made)
    assert made.stdout.splitlines()[:4] == FILES
    sources = [file for file in FILES if file.endswith(".py")]
    require_passed(python(tmp_path, "-m", "ruff", "check", "-q", *sources))
    require_passed(python(tmp_path, "-m", "ruff", "format", "-q", "--diff", *sources))
    require_passed(python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILES[3]))
    require_passed(python(tmp_path, "-m", "hilgw", "--config", FILES[2], *SIMULATED))
    require_driven_and_stopped(tmp_path / "out.json")
    again = python(tmp_path, "-m", "hilgw", "new-body", "trolley")
    assert again.returncode == 2
    assert "these files exist already: hilgw/bodies/trolley.py" in again.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Written outside a checkout and installed by pip; the folder with its packages."""
    require_passed(python(tmp_path, "-m", "hilgw", "new-body", "trolley", path=ROOT))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    command = [*pip, "--disable-pip-version-check", "--target", str(tmp_path / "site"), "."]
    subprocess.run(command, cwd=tmp_path / "hilgw-trolley", check=True, timeout=60)
    return tmp_path / "site"


def test_a_gateway_loads_drives_and_stops_a_body_of_another_distribution(
    tmp_path: Path, installed: Path
) -> None:
    config = str(tmp_path / "hilgw-trolley/trolley.yaml")
    require_passed(python(tmp_path, "-m", "hilgw", "--config", config, *SIMULATED, path=installed))
    require_driven_and_stopped(tmp_path / "out.json")
    test = str(tmp_path / "hilgw-trolley/tests")
    options = ("-q", "-p", "no:cacheprovider", "-k", "stop or silence or declared")
    require_passed(python(tmp_path, "-m", "pytest", *options, test, path=installed))

    # Made for another version of the interface, it does not load.
    body = installed / "hilgw_trolley/body.py"
    body.write_text(body.read_text().replace("INTERFACE: ClassVar[int] = 2", "INTERFACE = 3"))
    refused = python(tmp_path, "-m", "hilgw", "check", config, path=installed)
    assert refused.returncode == 3
    assert "kind 'trolley' of hilgw-trolley is made for interface 3, this hilgw has 2" in (
        refused.stderr
    )
    assert "install a version of hilgw-trolley for this hilgw" in refused.stderr
