"""The steps of the first check on hardware: what is announced, moved, asked and judged.

Pure: the robot and the person are arguments, and the robot's clock counts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hilgw.cli.first_check.motors import CheckedMotor, Leg
from hilgw.cli.first_check.results import Result, Verdict
from hilgw.errors import HilgwError

if TYPE_CHECKING:
    from hilgw.cli.first_check.gateway import GatewayRobot
    from hilgw.cli.first_check.terminal import Person

PLAUSIBLE = (0.3, 2.0)  # of the way that was commanded
STILL_S, STILL_SHARE = 0.2, 0.25  # a motor stands that moves less than this share of its motion
SENSE_S = 2.0
STOP_S = 1.0
FROZEN_S = 1.2
LOST_S = 3.0
CABLE_S = 60.0
LOOK_S = 0.05
ANSWERS = {"y": "yes", "n": "no", "s": "skipped"}
GO, SKIP = "\n", "s"
NO_ROOM = "its limits leave no room in this direction, or it reports no position"


class CheckStep(NamedTuple):
    """A motion of one motor. during: what is tested while it moves; None: nothing."""

    name: str
    expected: str
    question: str
    motor: CheckedMotor
    sign: int
    during: Callable[[Result], object] | None = None


class FirstCheck:
    """The steps, one after the other. The motors are armed for each motion alone."""

    def __init__(self, robot: "GatewayRobot", person: "Person") -> None:
        self._robot, self._person = robot, person

    def results(self) -> Iterator[Result]:
        """Yield the result of each step, when it is over.

        After an error of the robot or the gateway the others are not tested.
        """
        broken = False
        for step in self._steps():
            result = Result(step.name, step.expected, sensor=step.motor.sensor)
            try:
                if broken:
                    result.leave_out(Verdict.NOT_TESTED, "an earlier step ended with an error")
                else:
                    self._run(step, result)
            except HilgwError as error:
                broken = True
                result.fail(str(error))
            self._person.show(str(result))
            yield result

    def _steps(self) -> Iterator[CheckStep]:
        motors = self._robot.motors
        for motor in motors:
            way = "turns for half a second"
            if motor.positions is not None:
                way = f"moves by 5 {'degrees' if motor.unit == 'rad' else 'mm'}, and back"
            for sign, word in ((1, "positive"), (-1, "negative")):
                question = f"Did {motor.name} move in its {word} direction, and stop?"
                expected = f"{motor.name} {way}, slowly, in its {word} direction, and stops"
                yield CheckStep(f"{motor.name}, {word}", expected, question, motor, sign)
        endless = (motor for motor in motors if motor.positions is None)
        motor = next(endless, motors[0])  # one that is seen for longest
        turns, port = f"{motor.name} moves slowly;", self._robot.port
        tests: list[tuple[str, str, Callable[[Result], object]]] = [
            ("stop", f"{turns} hilgw disarms it, and it stops at once", self._go_on),
            (
                "freeze",
                f"{turns} hilgw is frozen, and its guardian stops the motor within half a second; "
                "nothing moves since",
                self._freeze,
            ),
            (
                "unplug",
                f"{turns} you pull the cable of {port}, or switch its radio off; plugged in again, "
                "it stands still",
                partial(self._unplug, motor),
            ),
        ]
        sign = 1 if motor.velocity(1) else -1
        # A mock is in the process that is frozen, and has no cable.
        for name, expected, during in tests[:1] if self._robot.is_mock else tests:
            yield CheckStep(
                name,
                expected,
                f"Did {motor.name} do that, and does it stand still now?",
                motor,
                sign,
                during,
            )

    # --- one step -----------------------------------------------------------------------------

    def _run(self, step: CheckStep, result: Result) -> None:
        robot, person = self._robot, self._person
        person.show(f"\n{step.name}\n  expected: {step.expected}")
        if person.ask("ENTER starts it, and any key stops it; s: skip", GO + SKIP) == SKIP:
            return result.leave_out(Verdict.SKIPPED)
        robot.ready()
        if robot.is_armed():
            robot.disarm()
            return result.fail("it was armed before the motion")
        start = self._first_position(step.motor)
        legs = step.motor.legs(step.sign, start, slowly=step.during is not None)
        if not legs:
            return result.leave_out(Verdict.NOT_TESTED, NO_ROOM)
        result.positions.append(start)
        self._move(step, legs, result)
        self._stands_still(step.motor, legs[0].velocity, result)
        result.positions.append(robot.position(step.motor))
        if step.during is None and step.motor.sensor and result.verdict is Verdict.PASSED:
            self._judge_way(step, legs[0], result)
        person.show(f"  {result.sensed() or 'no position sensor'}")
        return self._ask(step.question, result)

    def _first_position(self, motor: CheckedMotor) -> float | None:
        """Return what its sensor reports before the motion.

        A slow robot or machine has SENSE_S for the first value. None: nothing.
        """
        robot = self._robot
        end = robot.now() + SENSE_S
        while (position := robot.position(motor)) is None and motor.sensor and robot.now() < end:
            if not robot.step():
                break
        return position

    def _move(self, step: CheckStep, legs: Sequence[Leg], result: Result) -> None:
        """Arm for this motion; disarm at its end, however it ends, which the gateway confirms.

        A refused command fails the step.
        """
        robot = self._robot
        refused = robot.refusals()
        self._person.attend()
        try:
            robot.arm()
            for velocity, position, seconds in legs:
                robot.drive(step.motor, velocity, position)
                if not self._go_on(result, seconds):
                    break
                result.positions.append(robot.position(step.motor))
            else:
                if step.during is not None:
                    step.during(result)
        finally:
            result.measured["stop confirmed, ms"] = robot.disarm() * 1000
        if more := [why for why, n in robot.refusals().items() if n > refused.get(why, 0)]:
            result.fail(f"a command was refused: {', '.join(more).replace('_', ' ')}")

    def _go_on(self, result: Result, seconds: float = 0) -> bool:
        end = self._robot.now() + seconds
        while self._robot.now() < end:
            if self._person.pressed():
                result.fail("a key stopped the motion")
                return False
            if not self._robot.step():
                result.fail(f"the robot was lost: {self._robot.link()[1] or 'disconnected'}")
                return False
        return True

    def _stands_still(self, motor: CheckedMotor, velocity: float, result: Result) -> None:
        robot, began = self._robot, self._robot.now()
        since, reference = began, robot.position(motor)
        while reference is not None and robot.now() - since < STILL_S:
            if robot.now() - began > STOP_S:
                return result.fail("its sensor still changes after the stop")
            if not robot.step():
                return result.fail("the robot was lost after the stop")
            position = robot.position(motor)
            if position is not None and abs(position - reference) > abs(
                velocity * STILL_S * STILL_SHARE
            ):
                reference, since = position, robot.now()
        if reference is not None:
            result.measured["stands still, ms"] = (since - began) * 1000
        return None

    def _judge_way(self, step: CheckStep, leg: Leg, result: Result) -> None:
        before, after, *_, last = result.positions
        if before is None or after is None or last is None:
            return result.fail("its sensor reports nothing")
        way = leg.velocity * leg.seconds if math.isinf(leg.position) else leg.position - before
        share = (after - before) / way
        if share < -PLAUSIBLE[0]:
            result.fail("its sensor shows the opposite direction")
        elif not PLAUSIBLE[0] <= share <= PLAUSIBLE[1]:
            result.fail(f"its sensor shows {share:.0%} of the way")
        elif step.motor.positions is not None and abs(last - before) > abs(way) * PLAUSIBLE[0]:
            result.fail("it did not come back")
        return None

    def _ask(self, question: str, result: Result) -> None:
        answer = self._person.ask(f"{question} (y/n/s: skip)", "".join(ANSWERS))
        result.answers[question] = ANSWERS[answer]
        if answer == "n":
            result.fail("not seen as expected")
        elif answer == "s":
            result.leave_out(Verdict.SKIPPED)

    # --- what is tested while a motor moves ---------------------------------------------------

    def _freeze(self, result: Result) -> None:
        robot = self._robot
        before = robot.link()
        robot.freeze()
        try:
            if self._wait(self._person.pressed, FROZEN_S):
                result.fail("a key ended the freeze")
        finally:
            robot.thaw()
        if not self._wait(lambda: robot.link() != before, LOST_S):
            result.fail("the gateway woke up, and did not treat the robot as lost")
        self._is_back_disarmed(result)

    def _unplug(self, motor: CheckedMotor, result: Result) -> None:
        robot, person = self._robot, self._person
        before = robot.link()
        person.show("pull the cable now")
        end = robot.now() + CABLE_S
        while (link := robot.link()) == before and robot.now() < end:
            if person.pressed():
                return result.fail("a key stopped the motion")
            if not robot.step():
                robot.pause(LOOK_S)
        if link == before:
            return result.fail("the cable was not pulled")
        person.show(f"{robot.port} DOWN: {link[1] or 'and up again'}")
        result.notes.append(f"{robot.port} DOWN: {link[1] or 'and up again'}")
        question = f"Without the cable, did {motor.name} stop by itself?"
        result.answers[question] = ANSWERS[person.ask(f"{question} (y/n/s)", "".join(ANSWERS))]
        if result.answers[question] == "no":
            result.notes.append("it drives on without the cable")
            if robot.has_watchdog:
                result.fail("its watchdog did not stop it")
        person.show("plug the cable in again; any key gives up")
        person.attend()
        self._wait(lambda: not robot.link()[1] or person.pressed(), CABLE_S)
        return self._is_back_disarmed(result)

    def _is_back_disarmed(self, result: Result) -> None:
        self._robot.ready()
        if self._robot.is_armed():
            result.fail("the robot came back, and was armed")

    def _wait(self, until: Callable[[], bool], seconds: float) -> bool:
        end = self._robot.now() + seconds
        while not (holds := until()) and self._robot.now() < end:
            self._robot.pause(LOOK_S)
        return holds
