"""How `hilgw doctor` is called for a robot, and what the gateway of the check is started with."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw.cli.commands.hardware import doctor
from hilgw.cli.first_check import check
from hilgw.cli.first_check.results import Result, Verdict, all_passed, markdown
from hilgw.cli.main import main
from hilgw.cli.output.files import TEST_REPORT
from hilgw.cli.parser import parse
from hilgw.config.load import load_config
from hilgw.testing.sim import wait_until
from tests.cli.conftest import Command

CALL = "doctor --config create2 create --wheels-up"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("doctor create --wheels-up", "--config FILE is missing"),
        ("doctor --wheels-up", "--config FILE is missing"),
        ("doctor --config create2 --wheels-up", "ROBOT is missing"),
        ("doctor --config create2 create", "the motors of the robot will turn"),
        (CALL, "the first check asks a person, and needs a terminal"),
    ],
)
def test_an_invalid_call(hilgw: Command, call: str, words: str) -> None:
    code, _, error = hilgw(*call.split())
    assert code == 2 and words in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("doctor --config create2 crate --wheels-up", "no robot crate in this file; did you mean"),
        ("doctor --config shadow rover --wheels-up", "is for a robot with one body"),
        (f"{CALL} --report /nowhere/x.md", "no such folder"),
        (f"{CALL} --report '{__file__}'", "this file exists and is not a test report of hilgw"),
    ],
)
def test_a_robot_that_cannot_be_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, call: str, words: str
) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(getattr(doctor.sys, stream), "isatty", lambda: True, raising=False)
    assert main(shlex.split(call)) in (1, 2)
    assert words in capsys.readouterr().err


def test_its_gateway_has_all_robots_disarmed_and_another_controller(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(
        """version: 1
robots:
  cab:
    body: {kind: create2, port: /dev/a}
    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}
    safety: {armed: true, latch: false}
  c:
    body: {kind: create2, port: /dev/c}
    safety: {armed: true}
  tower: {}
"""
    )
    call = ["doctor", "--config", str(file), "cab", "--wheels-up", "--backend", "real"]
    args = parse([*call, "--set", "robots.cab.body.port=/dev/x"])
    config = load_config(str(file), [], None).config
    command = check.command_of(args, config)
    assert command[1:6] == ["-P", "-m", "hilgw", "run", str(file)]
    started = parse(command[4:])
    found = load_config(started.file, started.overrides, started.backend).config
    robots = found.robots
    assert [robots[name].safety.armed for name in ("cab", "c")] == [False, False]
    assert robots["cab"].safety.latch is True and robots["cab"].body is not None
    assert robots["cab"].body.settings.port == "/dev/x"
    assert robots["cab"].controller is not None and robots["cab"].controller.kind == "webots"
    assert robots["cab"].controller.settings.ipc


CHILD = """
import signal, sys, time
from pathlib import Path
def end(*_):
    sys.exit(Path(sys.argv[1]).write_text("ended in order"))
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, end)
Path(sys.argv[1]).write_text("runs")
while True: time.sleep(0.05)  # a signal may come just before a sleep begins
"""
PARENT = """
import signal, sys, time
from hilgw.cli.first_check.gateway import start_child
with open(sys.argv[2] + ".out", "wb") as output:
    child = start_child([sys.executable, "-c", sys.argv[1], sys.argv[2]], output)
print(child.pid, flush=True)
if sys.stdin.readline():
    child.send_signal(signal.SIGSTOP)
time.sleep(60)
"""


@pytest.mark.process
@pytest.mark.parametrize("is_frozen", [False, True])
def test_the_gateway_of_a_killed_check_ends_in_order(tmp_path: Path, is_frozen: bool) -> None:
    state, pipe = tmp_path / "state", subprocess.PIPE
    command = [sys.executable, "-c", PARENT, CHILD, str(state)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        child = int(parent.stdout.readline())
        wait_until(lambda: state.exists() and state.read_text() == "runs")
        assert os.getpgid(child) == child  # Ctrl-C is for the check alone
        if is_frozen:
            parent.stdin.write("freeze it\n")
            parent.stdin.flush()
            wait_until(lambda: "\nState:\tT" in Path(f"/proc/{child}/status").read_text())
        parent.kill()
    wait_until(lambda: state.read_text() == "ended in order")


# The test report: all that was found, for people and for programs.
def found() -> Result:
    result = Result("left, positive", "left turns", sensor="left encoder")
    result.answers["Did left turn?"] = "yes"
    result.positions = [0.0, 0.41234, None]
    result.measured["stop confirmed, ms"] = 0.84
    return result


def test_the_report_has_all_that_was_found() -> None:
    text = markdown({"robot": "rover", "USB ids": "0403:6015"}, [found()])
    assert text.encode().startswith(TEST_REPORT)
    people, block = text.split("```json\n")
    for words in (
        "# Test report on hardware: all steps passed",
        "* USB ids: 0403:6015",
        "* left, positive: passed",
        "  * expected: left turns",
        "  * Did left turn? yes",
        "  * stop confirmed, ms: 0.84",
        "  * left encoder: before 0, then 0.4123, then unknown",
    ):
        assert f"{words}\n" in people
    data = json.loads(block.removesuffix("```\n"))
    assert data["facts"] == {"robot": "rover", "USB ids": "0403:6015"}
    assert data["results"][0]["verdict"] == "passed"
    assert data["results"][0]["positions"] == [0.0, 0.41234, None]


def test_what_a_device_wrote_makes_no_markup_and_no_line() -> None:
    hostile = "x\n# all passed\n```\n<img src=x>\x1b[2J"
    text = markdown({"identity": hostile}, [])
    people, block = text.split("```json\n")
    assert "\n# all" not in people and "`" not in people and "<img" not in people
    assert "\x1b" not in text
    assert block.count("`") == 3
    assert json.loads(block.removesuffix("```\n"))["facts"]["identity"] == hostile


def test_only_what_was_seen_to_work_has_passed() -> None:
    assert all_passed([found()]) and not all_passed([])
    for verdict in (Verdict.SKIPPED, Verdict.NOT_TESTED):
        result = found()
        result.leave_out(verdict)
        assert result.verdict is verdict and not all_passed([found(), result])
        assert "not all steps passed" in markdown({}, [found(), result])
    result = found()
    result.fail("it smokes")
    result.leave_out(Verdict.SKIPPED)
    assert str(result) == "left, positive: failed; it smokes" and not all_passed([result])
