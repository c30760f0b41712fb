"""The dialogue of the first check, with a person by script: robots that do as they should, and
those that do not."""

import math

import pytest

from hilgw.cli.first_check.motors import Motor
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


def test_a_robot_that_was_armed_is_disarmed_and_does_not_move() -> None:
    robot = FakeRobot(motors=(LEFT,))
    robot.armed = True
    first = check(robot)["left, positive"]
    assert str(first) == "left, positive: failed; it was armed before the motion"
    assert robot.log[:3] == ["ask", "ready", "disarm"]


@pytest.mark.parametrize(
    ("robot", "note"),
    [
        (FakeRobot(sign=-1.0), "its sensor shows the opposite direction"),
        (FakeRobot(speed=0.0), "its sensor shows 0% of the way"),
        (FakeRobot(speed=4.0), "its sensor shows"),
        (FakeRobot(stops=False), "its sensor still changes after the stop"),
        (FakeRobot(refuses=True), "a command was refused: beyond limit"),
        (FakeRobot(lost_at=0.3), "the robot was lost: waiting: the device hung up"),
    ],
)
def test_a_hostile_robot_fails(robot: FakeRobot, note: str) -> None:
    result = check(robot)["left, positive"]
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


def test_a_frozen_gateway_without_a_guardian_fails() -> None:
    robot = FakeRobot(guardian=False)
    result = check(robot, Script(robot))["freeze"]
    assert "the gateway woke up, and did not treat the robot as lost" in result.notes


@pytest.mark.parametrize("step", ["freeze", "unplug"])
def test_a_robot_that_comes_back_armed_fails(step: str) -> None:
    robot = FakeRobot(comes_back_armed=True)
    assert "the robot came back, and was armed" in check(robot)[step].notes


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
    robot = FakeRobot()
    person = Script(robot)
    robot.lose = lambda: None  # type: ignore[method-assign]
    robot.guardian = False
    assert "the cable was not pulled" in check(robot, person)["unplug"].notes
    robot = FakeRobot()
    robot.plug = lambda: None  # type: ignore[method-assign]
    robot.guardian = False
    result = check(robot)["unplug"]
    assert "waiting: the device hung up" in str(result.notes[-1]) or "not sent" in str(result)


def test_a_mock_is_neither_frozen_nor_unplugged() -> None:
    assert list(check(FakeRobot(is_mock=True))) == [*TURNS, "stop"]


# --- motors with positions, and limits ------------------------------------------------------------


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
        (Motor("axis", "m", -0.1, 0.1, (0.0, 0.2)), 0.1, 1, 0.105),
    ],
)
def test_the_target_is_within_the_limits(
    motor: Motor, start: float | None, sign: int, target: float | None
) -> None:
    for slowly in (False, True):
        legs = motor.legs(sign, start, slowly=slowly)
        assert [leg.position for leg in legs[:1]] == pytest.approx(
            [] if target is None else [target]
        )
        assert all(leg.velocity <= motor.fastest * 0.1 + 1e-9 for leg in legs)


def test_a_motor_that_turns_one_way_only() -> None:
    fan = Motor("fan", "rad", 0.0, 5.0)
    assert fan.velocity(1) == pytest.approx(0.5) and fan.velocity(-1) == 0
    robot = FakeRobot(motors=(fan,))
    results = check(robot)
    assert results["fan, negative"].verdict is Verdict.NOT_TESTED
    assert results["stop"].verdict is Verdict.PASSED
    slow = Motor("slow", "rad", -0.1, 5.0)
    assert slow.velocity(-1) == pytest.approx(-0.1)  # never beyond a limit


def test_the_stop_is_tested_with_a_wheel_where_there_is_one() -> None:
    assert check(FakeRobot(motors=(ARM, RIGHT)))["stop"].expected.startswith("right ")


def test_a_stop_that_is_not_confirmed_fails() -> None:
    robot = FakeRobot()

    def disarm() -> float:
        raise PeerError("stop NOT confirmed")

    robot.disarm = disarm  # type: ignore[method-assign]
    assert "stop NOT confirmed" in str(check(robot)["left, positive"])


def test_a_key_stops_the_motion_while_the_cable_is_awaited() -> None:
    robot = FakeRobot()
    person = Script(robot)
    robot.lose = lambda: None  # type: ignore[method-assign]
    robot.guardian = False
    person.keys = lambda: person.shown[-1] == "pull the cable now"
    before = robot.time
    assert "a key stopped the motion" in check(robot, person)["unplug"].notes
    assert robot.time - before < 20 and not robot.armed


def test_a_servo_that_stays_where_it_went_fails() -> None:
    robot = FakeRobot(motors=(ARM,))
    drive = robot.drive

    def once(motor: Motor, velocity: float, position: float = math.inf) -> None:
        if robot.at["arm"] == 0:
            drive(motor, velocity, position)

    robot.drive = once  # type: ignore[method-assign]
    assert "it did not come back" in check(robot)["arm, positive"].notes
