"""The commands of CONTRIBUTING.md run, and what it names exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import ROOT, run

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINES = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()
]
TOOLS = [line for line in LINES if line.startswith("tools/")]
COMMANDS = [line for line in LINES if line.startswith("hilgw ")]


def test_every_line_is_of_a_kind_that_is_run() -> None:
    assert [*TOOLS, *COMMANDS] == LINES and COMMANDS
    # tests/e2e/test_readme.py runs tools/run; this is a run of tools/test, with or without --fast.
    assert TOOLS[:3] == ["tools/run", "tools/test", "tools/test --fast"]


@pytest.mark.process
def test_a_part_of_the_tests_can_be_selected() -> None:
    for line in TOOLS[3:]:
        program, *arguments = shlex.split(line)
        assert (ROOT / program).exists()
        collect = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*collect, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.process
def test_the_commands_run(tmp_path: Path) -> None:
    for line in COMMANDS:
        done = run(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert [file for file in tmp_path.rglob("test_buzz.py") if file.is_file()]


def test_the_files_that_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / target).exists(), target
    for target in re.findall(r"`(t(?:ools|ests)/[^` ]*)[^`]*`", PAGE):
        assert (ROOT / target).exists(), target
