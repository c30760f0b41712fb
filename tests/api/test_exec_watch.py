"""What `hilgw exec` reports of the program that it becomes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw.api import exec_watch
from tests.api.simulator import Simulator, robot_of

BECOMES = """
import os, sys
from hilgw.api.exec_watch import watch
program = sys.argv[1]
os.execve(sys.executable, [sys.executable, "-c", program], {**os.environ, **watch("brain.py", 0.0)})
"""
# The pipe of its error output ends with the process that watches.
IDLE = "import os, sys; os.close(2); sys.stdin.read()"
ROBOT = "from hilgw.api import exec_watch; exec_watch.has_robot(); "  # as Robot() does
LINE = "Warning: the program brain.py runs, and has no Robot() for 0 s\n"


def become(program: str, source: str = BECOMES) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", source, program],
        env={**os.environ, "PYTHONPATH": str(Path(exec_watch.__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
def test_a_program_without_a_robot_is_named_once_while_it_runs() -> None:
    with become(IDLE) as program:
        assert program.stderr is not None and program.stderr.read() == LINE
        assert program.poll() is None
        program.communicate()
    assert program.returncode == 0


def test_a_program_with_a_robot_that_never_steps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader):
        monkeypatch.setenv(exec_watch.VARIABLE, f"{os.getpid()}:{writer}")
        exec_watch.has_robot()
        robot = robot_of(Simulator([]))
        assert exec_watch.missing_part(reader, 0) == "not called robot.step"
        robot.step(32)
        robot.close()
        assert exec_watch.missing_part(reader, 0) == ""


@pytest.mark.process
@pytest.mark.parametrize(
    "program",
    [
        ROBOT + "exec_watch.has_stepped(); " + IDLE,
        "",  # it ends at once
        "import os, signal; signal.raise_signal(signal.SIGTERM)",
    ],
)
def test_no_other_program_is_named(program: str) -> None:
    with become(program, BECOMES.replace("0.0", "600")) as process:
        assert process.stderr is not None and process.stderr.read() == ""
        process.communicate()


def test_a_file_of_a_child_of_the_program_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w"):
        monkeypatch.setenv(exec_watch.VARIABLE, f"{os.getppid()}:{writer}")
        exec_watch.has_robot()
        exec_watch.has_stepped()
        os.fstat(writer)
        assert exec_watch.VARIABLE not in os.environ
