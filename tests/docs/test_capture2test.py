"""docs/replay.md, from a fault to a failing test: its commands, in their order."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.docs.reading import pages
from tests.e2e.running import in_process, run, run_program

PAGE = pages("replay")
PART = PAGE.partition("## From a fault to a failing test")[2].partition("\n## ")[0]
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", PART, re.S)
            for line in block.splitlines()]  # fmt: skip


def do(command: str, folder: Path) -> tuple[int, str]:
    program, *words = shlex.split(command)
    if program == "hilgw" and "--record" not in words:
        code, out, err = in_process(*words, cwd=folder)
        return code, out + err
    if program == "hilgw":
        done = run(*words, "--speed", "max", cwd=folder)  # the same, in less time
    else:
        command_line = [sys.executable, "-m", "pytest"] if program == "pytest" else [program]
        done = run_program(*command_line, *words, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.process
def test_a_fault_becomes_a_test_that_fails(tmp_path: Path) -> None:
    results = [do(each, tmp_path) for each in COMMANDS]
    codes = [code for code, _ in results]
    assert codes == [0, 0, 0, 0, 0, 1], results
    assert "b'a mended ping'" in results[-1][1] and "b'ping 2'" in results[-1][1]
    written = (tmp_path / "test_fault.py").read_text()
    shown = re.findall(r"```python\n(.*?)```", PART, re.S)[0]
    lines = [line for line in shown.splitlines() if "ping" not in line]
    assert [line for line in lines if line.strip() and line not in written] == []
