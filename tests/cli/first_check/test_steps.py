"""The dialogue of the first check, with a person by script: robots that do as they should, and
those that do not."""

import math
from typing import Any

import pytest

from hilgw.cli.first_check.motors import CheckedMotor
from hilgw.cli.first_check.results import Verdict
from hilgw.errors import PeerError
from tests.cli.first_check.fakes import ARM, LEFT, RIGHT, FakeRobot, Script, check

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
    at = robot.log.index("freeze")
    assert robot.log[at - 2 : at + 4] == ["arm", "drive left", "freeze", "thaw", "ready", "disarm"]
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
    found = check(robot := FakeRobot(), Script(robot, answers))["unplug"]
    assert found.verdict is Verdict.PASSED  # this robot has no watchdog, as its page states
    assert "/dev/ttyUSB7 DOWN: waiting: the device hung up" in found.notes
    assert "it drives on without the cable" in found.notes
    robot = FakeRobot(has_watchdog=True)
    found = check(robot, Script(robot, answers))["unplug"]
    assert found.notes[-1] == "its watchdog did not stop it" and found.verdict is Verdict.FAILED


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
