"""The wheel has all that a user needs who has no checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from hilgw.config.shipped import HEADER
from tests.e2e.running import ROOT, run

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run([*pip, *options], check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(folder)], check=True)
    return folder


def test_an_example_and_its_schema(unpacked: Path, tmp_path: Path) -> None:
    done = run("example", "xbee", cwd=tmp_path, PYTHONPATH=str(unpacked))
    first, _, rest = done.stdout.partition("\n")
    assert rest == (ROOT / "configs" / "xbee.yaml").read_text().partition("\n")[2]
    named = tmp_path / first.removeprefix(HEADER)
    assert named.is_relative_to(unpacked)
    editor = jsonschema.Draft202012Validator(json.loads(named.read_text()))
    editor.validate(json.loads(json.dumps(yaml.safe_load(done.stdout))))
    assert not editor.is_valid({"version": 1, "adapters": {"a": {"kind": "xbe"}}})
    done = run("schema", "--write", cwd=tmp_path, PYTHONPATH=str(unpacked))
    assert done.returncode == 0
    assert json.loads((tmp_path / "hilgw.schema.json").read_text()) == editor.schema


TEST_OF_A_USER = """
from pathlib import Path

import hilgw


def test_pong(gateway):
    assert Path(hilgw.__file__).is_relative_to(UNPACKED)
    assert not Path("configs").exists()
    gateway("configs/xbee.yaml", seed=7).wait_for(b"pong 1", source="xbee0")
"""


def test_mocks_and_the_fixtures_of_pytest(unpacked: Path, tmp_path: Path) -> None:
    done = run("mock", "--list", cwd=tmp_path, PYTHONPATH=str(unpacked))
    assert "xbee" in done.stdout
    text = TEST_OF_A_USER.replace("UNPACKED", repr(str(unpacked)))
    (tmp_path / "test_mine.py").write_text(text)
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    tested = subprocess.run(
        test,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
    )
    assert tested.returncode == 0, tested.stdout
