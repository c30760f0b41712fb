"""The first minute: tools/run with options runs the example; it and tools/test end with a hint."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.e2e.running import ROOT, run_program

HINT = "(from now on: hilgw)"


def tool(name: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_program(str(ROOT / "tools" / name), *arguments, cwd=cwd, timeout_s=300, **env)


def activated(line: str, cwd: Path) -> str:
    """The hilgw of a shell that has obeyed the hint, or the error."""
    command = line.removesuffix(HINT).strip().replace("source ", ". ", 1)
    shell = ["sh", "-c", f"cd {shlex.quote(str(cwd))} && {command} && command -v hilgw"]
    done = subprocess.run(shell, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


def test_tools_run_takes_options_for_the_example_and_ends_with_the_hint(tmp_path: Path) -> None:
    done = tool("run", "--duration", "4s", "--report", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "configs/xbee.yaml" in done.stdout and "ready" in done.stdout
    assert (tmp_path / "out.json").exists()
    last = done.stderr.splitlines()[-1]
    assert last.startswith("source ") and last.endswith(HINT)
    hilgw = activated(last, tmp_path)
    assert Path(hilgw).is_relative_to(ROOT) and os.access(hilgw, os.X_OK)


def test_tools_test_ends_with_the_hint(tmp_path: Path) -> None:
    done = tool("test", "--version", cwd=ROOT)
    assert done.returncode == 0 and "pytest" in done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.endswith(HINT) and Path(activated(last, ROOT)).is_relative_to(ROOT)
    done = tool("test", "-q", "tests/no_such_folder", cwd=tmp_path)
    assert done.returncode == 4 and done.stderr.splitlines()[-1].endswith(HINT)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--duration 8s", True),
        ("-q --set adapters.xbee0.channel=13 --log out.log", True),
        ("--speed max --arm", True),
        ("--duration 8s my.yaml", False),
        ("--config my.yaml --duration 8s", False),
        ("--config=my.yaml", False),
        ("-q watch --full", False),
        ("--help --all", False),
    ],
)
def test_which_arguments_are_options_alone(line: str, expected: bool) -> None:
    script = '. tools/setup.sh; only_options "$@"'
    done = run_program("sh", "-c", script, "sh", *line.split(), cwd=ROOT)
    assert (done.returncode == 0) is expected


def test_a_tool_ends_with_the_hint_without_the_folder_of_its_user(tmp_path: Path) -> None:
    """tools/docs, tools/soak and tools/bench/all, too, end well after the first set-up."""
    command = ("sh", "-euc", ". tools/setup.sh; hint")
    done = run_program(*command, cwd=ROOT, PATH="/usr/bin:/bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(activated(done.stdout.strip(), tmp_path)).is_relative_to(ROOT)
