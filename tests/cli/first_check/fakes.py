"""A robot with two wheels and a person with a script, on a clock that they share."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hilgw.cli.first_check.motors import CheckedMotor
from hilgw.cli.first_check.results import Result
from hilgw.cli.first_check.steps import FirstCheck
from hilgw.errors import PeerError

STEP_S = 0.032
LEFT = CheckedMotor("left", "rad", -8.0, 8.0, sensor="left encoder")
RIGHT = CheckedMotor("right", "rad", -8.0, 8.0)
ARM = CheckedMotor("arm", "rad", -2.0, 2.0, (-1.0, 1.0), "arm angle")


@dataclass
class FakeRobot:
    """A robot that does what is commanded; a test makes it hostile. log: what was done, in order.
    sign: of its wiring; speed: of its motors, as a share of what is commanded. senses_at: when its
    sensors report first."""

    motors: tuple[CheckedMotor, ...] = (LEFT, RIGHT)
    is_mock: bool = False
    has_watchdog: bool = False
    port: str = "/dev/ttyUSB7"
    sign: float = 1.0
    speed: float = 1.0
    stops: bool = True
    comes_back_armed: bool = False
    guardian: bool = True
    refuses: bool = False
    lost_at: float = math.inf
    senses_at: float = 0.0
    unplugged: bool = False
    log: list[str] = field(default_factory=list)
    fastest: float = 0.0

    def __post_init__(self) -> None:
        self.time, self.ups, self.armed, self.frozen = 0.0, 1, False, False
        self.at = {motor.name: 0.0 for motor in self.motors}
        self.goals: dict[str, tuple[float, float]] = {}
        self.refused: Counter[str] = Counter()

    def now(self) -> float:
        return self.time

    def pause(self, seconds: float) -> None:
        self.time += seconds
        for name, (velocity, goal) in self.goals.items():
            way = self.sign * self.speed * velocity * seconds
            if math.isfinite(goal):
                way = max(-abs(way), min(abs(way), (goal - self.at[name]) * self.sign))
            self.at[name] += way

    def ready(self) -> None:
        self.log.append("ready")
        if self.link()[1]:
            raise PeerError(self.link()[1])

    def step(self) -> bool:
        self.pause(STEP_S)
        return not self.link()[1]

    def drive(self, motor: CheckedMotor, velocity: float, position: float = math.inf) -> None:
        self.log.append(f"drive {motor.name}")
        self.fastest = max(self.fastest, abs(velocity))
        if self.refuses:
            self.refused["beyond_limit"] += 1
        elif self.armed:
            self.goals[motor.name] = velocity, position

    def position(self, motor: CheckedMotor) -> float | None:
        return self.at[motor.name] if motor.sensor and self.time >= self.senses_at else None

    def arm(self) -> None:
        self.log.append("arm")
        self.armed = True

    def disarm(self) -> float:
        self.log.append("disarm")
        if self.link()[1]:
            raise PeerError("stop not sent: body down")
        self.armed = False
        self._stop()
        return 0.001

    def is_armed(self) -> bool:
        return self.armed

    def refusals(self) -> dict[str, int]:
        return dict(self.refused)

    def link(self) -> tuple[int, str]:
        gone = self.unplugged or self.time > self.lost_at
        return self.ups, "waiting: the device hung up" if gone else ""

    def freeze(self) -> None:
        self.log.append("freeze")
        if self.guardian:
            self._stop()

    def thaw(self) -> None:
        self.log.append("thaw")
        if self.guardian:
            self.lose()
        self.plug()

    def lose(self) -> None:
        """The gateway finds its robot lost."""
        self.unplugged = True
        self.armed = self.comes_back_armed

    def plug(self) -> None:
        """The robot is there, and gets the stop first."""
        self.ups += self.unplugged
        self.unplugged = False
        self._stop()

    def _stop(self) -> None:
        if self.stops:
            self.goals.clear()


class Script:
    """A person: starts everything and has seen everything, but for what `answers` has by a part of
    the question. keys: asked at each look whether one is pressed. asked: what was on the screen at
    each question."""

    def __init__(self, robot: FakeRobot, answers: dict[str, str] | None = None) -> None:
        self.robot, self.answers = robot, answers or {}
        self.keys: Callable[[], bool] = lambda: False
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)
        if text == "pull the cable now":
            self.robot.lose()
        if text.startswith("plug the cable in"):
            self.robot.plug()

    def ask(self, question: str, keys: str) -> str:
        self.shown.append(question)
        self.robot.log.append("ask")
        usual = "\n" if "\n" in keys else "y"
        screen = "\n".join(self.shown[-3:])
        return next((key for part, key in self.answers.items() if part in screen), usual)

    def attend(self) -> None:
        self.robot.log.append("attend")

    def pressed(self) -> bool:
        return self.keys()


def check(robot: FakeRobot, person: Script | None = None) -> dict[str, Result]:
    """All results by the names of their steps."""
    first: Any = FirstCheck(robot, person or Script(robot))  # type: ignore[arg-type]
    return {result.step: result for result in first.results()}
