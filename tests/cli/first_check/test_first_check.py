"""The first check of a robot: its call, its dialogue with a person by script, and its terminal."""

import json
import math
import os
import shlex
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.commands.hardware import doctor
from hilgw.cli.first_check import check as checks
from hilgw.cli.first_check.motors import CheckedMotor
from hilgw.cli.first_check.results import Result, Verdict, all_passed, markdown
from hilgw.cli.first_check.terminal import Person
from hilgw.cli.main import main
from hilgw.cli.output.files import TEST_REPORT
from hilgw.cli.parser import parse
from hilgw.config.load import load_config
from hilgw.errors import HilgwError, PeerError
from hilgw.testing.sim import wait_until
from tests.cli.conftest import Command
from tests.cli.first_check.fakes import ARM, LEFT, RIGHT, FakeRobot, Script, check

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
    command = checks.command_of(args, config)
    assert command[1:6] == ["-P", "-m", "hilgw", "run", str(file)]
    started = parse(command[4:])
    loaded = load_config(started.file, started.overrides, started.backend).config
    robots = loaded.robots
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


TURNS = ["left, positive", "left, negative", "right, positive", "right, negative"]
TESTS = ["stop", "freeze", "unplug"]


def test_every_motor_turns_in_each_direction_before_the_stops_are_tested() -> None:
    robot = FakeRobot()
    results = check(robot)
    assert list(results) == TURNS + TESTS
    assert {each.verdict for each in results.values()} == {Verdict.PASSED}
    assert robot.fastest == pytest.approx(0.8)  # a tenth of its limit
    positions = results["left, positive"].positions
    assert positions[0] == 0 and positions[-1] == pytest.approx(0.4, abs=0.03)
    assert results["left, negative"].positions[-1] == pytest.approx(0, abs=0.03)
    assert results["right, positive"].sensed() == ""
    assert set(results["stop"].measured) == {"stop confirmed, ms", "stands still, ms"}
    assert list(check(FakeRobot(is_mock=True))) == [*TURNS, "stop"]
    assert check(FakeRobot(motors=(ARM, RIGHT)))["stop"].expected.startswith("right ")


def test_a_motion_begins_when_the_sensor_has_reported() -> None:
    robot = FakeRobot(motors=(LEFT,), senses_at=1.5)
    assert check(robot)["left, positive"].verdict is Verdict.PASSED
    silent = FakeRobot(motors=(ARM,), senses_at=math.inf)
    assert check(silent)["arm, positive"].verdict is Verdict.NOT_TESTED


def test_it_asks_before_each_motion_and_arms_for_this_motion_alone() -> None:
    robot = FakeRobot()
    check(robot)
    steps = " ".join(robot.log).split("arm drive")
    assert len(steps) == 1 + len(TURNS + TESTS)
    for before in steps[:-1]:
        assert before.endswith("ask ready attend ")
    for after in steps[1:]:
        assert after.index("disarm") < after.rindex("ask")
    assert not robot.armed


class WithoutStop(FakeRobot):
    def disarm(self) -> float:
        raise PeerError("stop NOT confirmed")


class Armed(FakeRobot):
    """It was armed before, and does not move: it is disarmed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.armed = True

    def drive(self, *_: Any) -> None:
        raise AssertionError("it moves")


@pytest.mark.parametrize(
    ("robot", "step", "note"),
    [
        (FakeRobot(sign=-1.0), TURNS[0], "its sensor shows the opposite direction"),
        (FakeRobot(speed=0.0), TURNS[0], "its sensor shows 0% of the way"),
        (FakeRobot(speed=4.0), TURNS[0], "its sensor shows"),
        (FakeRobot(stops=False), TURNS[0], "its sensor still changes after the stop"),
        (FakeRobot(refuses=True), TURNS[0], "a command was refused: beyond limit"),
        (FakeRobot(lost_at=0.3), TURNS[0], "the robot was lost: waiting: the device hung up"),
        (WithoutStop(), TURNS[0], "stop NOT confirmed"),
        (Armed(motors=(LEFT,)), TURNS[0], "it was armed before the motion"),
        (FakeRobot(guardian=False), "freeze", "woke up, and did not treat the robot as lost"),
        (FakeRobot(comes_back_armed=True), "freeze", "the robot came back, and was armed"),
        (FakeRobot(comes_back_armed=True), "unplug", "the robot came back, and was armed"),
    ],
)
def test_a_hostile_robot_fails(robot: FakeRobot, step: str, note: str) -> None:
    if isinstance(robot, Armed):
        with pytest.raises(AssertionError, match="it moves"):  # in the next step, once disarmed
            check(robot)
        assert robot.log[:3] == ["ask", "ready", "disarm"]
        return
    result = check(robot)[step]
    assert result.verdict is Verdict.FAILED and note in str(result)


def test_after_a_robot_that_was_lost_nothing_is_tested() -> None:
    robot = FakeRobot(lost_at=0.3)
    first, *others = check(robot).values()
    assert "stop not sent: body down" in first.notes  # no stop is reported that was not sent
    assert {str(each.verdict) for each in others} == {"not tested"}
    assert robot.log.count("arm") == 1


@pytest.mark.parametrize("step", [*TURNS, "stop", "freeze", "unplug"])
def test_any_key_stops_a_motion_at_once(step: str) -> None:
    robot = FakeRobot()
    person = Script(robot)

    def pressed() -> bool:
        return f"\n{step}\n" in "".join(person.shown[-3:]) and robot.armed

    person.keys = pressed
    result = check(robot, person)[step]
    assert "a key " in str(result) and result.verdict is Verdict.FAILED
    assert not robot.armed and not robot.goals


@pytest.mark.parametrize("step", [*TURNS, *TESTS])
def test_a_step_that_is_skipped_moves_nothing(step: str) -> None:
    robot = FakeRobot()
    results = check(robot, Script(robot, {f"\n{step}\n": "s"}))
    assert results[step].verdict is Verdict.SKIPPED and not results[step].answers
    assert robot.log.count("arm") == len(results) - 1


@pytest.mark.parametrize(("key", "verdict"), [("n", Verdict.FAILED), ("s", Verdict.SKIPPED)])
def test_what_was_not_seen_did_not_pass(key: str, verdict: Verdict) -> None:
    robot = FakeRobot()
    result = check(robot, Script(robot, {"Did left move in its negative": key}))["left, negative"]
    assert result.verdict is verdict
    assert list(result.answers.values()) == [{"n": "no", "s": "skipped"}[key]]


def test_the_process_is_frozen_while_the_motor_turns_and_woken_in_any_case() -> None:
    robot = FakeRobot(motors=(LEFT,))
    check(robot)
    step = robot.log.index("freeze")
    assert robot.log[step - 2 : step + 4] == [
        "arm",
        "drive left",
        "freeze",
        "thaw",
        "ready",
        "disarm",
    ]
    robot = FakeRobot(motors=(LEFT,))
    person = Script(robot)

    def interrupted() -> bool:
        if robot.log[-1] == "freeze":
            raise KeyboardInterrupt
        return False

    person.keys = interrupted
    with pytest.raises(KeyboardInterrupt):
        check(robot, person)
    assert robot.log[-2:] == ["thaw", "disarm"] or robot.log[-1] == "thaw"


def test_whether_it_drives_on_without_the_cable_is_found() -> None:
    answers = {"Without the cable, did left stop": "n"}
    result = check(robot := FakeRobot(), Script(robot, answers))["unplug"]
    assert result.verdict is Verdict.PASSED  # this robot has no watchdog, as its page states
    assert "/dev/ttyUSB7 DOWN: waiting: the device hung up" in result.notes
    assert "it drives on without the cable" in result.notes
    robot = FakeRobot(has_watchdog=True)
    result = check(robot, Script(robot, answers))["unplug"]
    assert result.notes[-1] == "its watchdog did not stop it" and result.verdict is Verdict.FAILED


def test_a_cable_that_is_not_pulled_or_not_plugged_in_again() -> None:
    robot = FakeRobot(guardian=False)
    robot.lose = lambda: None  # type: ignore[method-assign]
    assert "the cable was not pulled" in check(robot)["unplug"].notes
    person, before = Script(robot), robot.time
    person.keys = lambda: person.shown[-1] == "pull the cable now"
    assert "a key stopped the motion" in check(robot, person)["unplug"].notes
    assert robot.time - before < 40 and not robot.armed
    robot = FakeRobot(guardian=False)
    robot.plug = lambda: None  # type: ignore[method-assign]
    result = check(robot)["unplug"]
    assert "waiting: the device hung up" in str(result.notes[-1]) or "not sent" in str(result)


def test_a_servo_moves_by_five_degrees_and_back() -> None:
    robot = FakeRobot(motors=(ARM,))
    results = check(robot)
    start, there, back, still = results["arm, negative"].positions
    assert (start, there, back, still) == pytest.approx((0, -math.radians(5), 0, 0), abs=1e-6)
    assert {each.verdict for each in results.values()} == {Verdict.PASSED}
    assert robot.fastest == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("motor", "start", "sign", "target"),
    [
        (ARM, 0.0, 1, math.radians(5)),
        (ARM, 0.95, 1, 1.0),
        (ARM, 1.0, 1, None),
        (ARM, 1.0, -1, 1.0 - math.radians(5)),
        (ARM, None, 1, None),
        (CheckedMotor("axis", "m", -0.1, 0.1, (0.0, 0.2)), 0.1, 1, 0.105),
    ],
)
def test_the_target_is_within_the_limits(
    motor: CheckedMotor, start: float | None, sign: int, target: float | None
) -> None:
    for slowly in (False, True):
        legs = motor.legs(sign, start, slowly=slowly)
        positions = [] if target is None else [target]
        assert [leg.position for leg in legs[:1]] == pytest.approx(positions)
        assert all(leg.velocity <= motor.fastest * 0.1 + 1e-9 for leg in legs)


def test_a_motor_that_turns_one_way_only() -> None:
    fan = CheckedMotor("fan", "rad", 0.0, 5.0)
    assert fan.velocity(1) == pytest.approx(0.5) and fan.velocity(-1) == 0
    robot = FakeRobot(motors=(fan,))
    results = check(robot)
    assert results["fan, negative"].verdict is Verdict.NOT_TESTED
    assert results["stop"].verdict is Verdict.PASSED
    slow = CheckedMotor("slow", "rad", -0.1, 5.0)
    assert slow.velocity(-1) == pytest.approx(-0.1)  # never beyond a limit


def test_a_servo_that_stays_where_it_went_fails() -> None:
    robot = FakeRobot(motors=(ARM,))
    drive = robot.drive

    def once(motor: CheckedMotor, velocity: float, position: float = math.inf) -> None:
        if robot.at["arm"] == 0:
            drive(motor, velocity, position)

    robot.drive = once  # type: ignore[method-assign]
    assert "it did not come back" in check(robot)["arm, positive"].notes


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    outside, inside = os.openpty()
    yield outside, inside
    os.close(inside)
    os.close(outside)


class Typed(Person):
    """What is typed while the question is shown."""

    keys = b""
    outside = -1

    def attend(self) -> None:
        super().attend()
        os.write(self.outside, self.keys)


def test_a_question_takes_its_keys(
    ends: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    outside, inside = ends
    person = Typed(inside)
    person.outside, person.keys = outside, b"x?Y"
    with person.at_the_keys():
        os.write(outside, b"n")  # before the question: it does not count
        wait_until(person.pressed)
        assert person.ask("seen\x1b[2J?", "yns") == "y"
        person.keys = b"\r"
        assert person.ask("go?", "\ns") == "\n"  # ENTER
    assert capsys.readouterr().out == "seen?[2J?\ngo?\n"


def test_any_key_is_seen_ctrl_z_too(ends: tuple[int, int]) -> None:
    outside, inside = ends
    person = Person(inside)
    for key in (b" ", b"\x1a", b"\x1c", b"\x1b[A"):
        with person.at_the_keys():
            assert not person.pressed()
            os.write(outside, key)
            wait_until(person.pressed)
            person.attend()
            assert not person.pressed()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_the_terminal_is_as_before(ends: tuple[int, int], error: type[BaseException]) -> None:
    _, inside = ends
    before = termios.tcgetattr(inside)
    with pytest.raises(error), Person(inside).at_the_keys():
        local = termios.tcgetattr(inside)[3]
        assert not local & termios.ICANON and not local & termios.ECHO
        assert local & termios.ISIG
        raise error
    assert termios.tcgetattr(inside) == before


def test_a_terminal_that_is_closed_ends_the_question() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    person = Person(reader)
    person.attend = lambda: None  # type: ignore[method-assign]
    with pytest.raises(HilgwError, match="the terminal was closed"):
        person.ask("seen?", "yn")
    os.close(reader)
