"""The page about testing: its examples run, its names exist."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.docs.reading import pages
from tests.e2e.running import ROOT, run, run_program

PAGE = pages("testing", "conformance")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.process
def test_its_examples_pass(tmp_path: Path) -> None:
    for at, example in enumerate(EXAMPLES):
        (tmp_path / f"test_example_{at}.py").write_text(example)
    for folder in ("configs", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider"]
    files = sorted(file.name for file in tmp_path.glob("*.py"))
    done = run_program(*command, *files, cwd=tmp_path, timeout_s=240)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.findall(r"^test_example_(\d)\.py \.+ ", done.stdout, re.MULTILINE) == list("0123")


@pytest.mark.process
def test_its_commands_run_faster_than_real_time(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    section = PAGE.split("## CI faster than real time")[1].split("\n## ")[0]
    commands = re.findall(r"^    hilgw (.*)$", section, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = run(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "of simulated time, in " in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["ledger"]["adds_up"]
