"""Ctrl-C in a program: within a step it waits for the answer, and no request follows an unanswered
one."""

import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from hilgw.api import Robot
from hilgw.protocols.webots.answers import Answer
from tests.api.simulator import Simulator


class Interrupted(Simulator):
    """A simulator during whose answer Ctrl-C is pressed `times` times. unanswered: the most
    requests that waited at once."""

    times = 0
    waiting = unanswered = 0
    press: Callable[[], None] = staticmethod(lambda: os.kill(os.getpid(), signal.SIGINT))

    def send(self, data: bytes) -> None:
        super().send(data)
        self.waiting += 1
        self.unanswered = max(self.unanswered, self.waiting)

    def receive(self) -> Answer:
        while self.times:
            self.times -= 1
            self.press()
        self.waiting -= 1
        return super().receive()


@pytest.fixture
def simulator() -> Iterator[Interrupted]:
    before, hook = signal.getsignal(signal.SIGINT), sys.excepthook
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield Interrupted()
    signal.signal(signal.SIGINT, before)
    sys.excepthook = hook


def test_ctrl_c_within_a_step_waits_for_the_answer(
    simulator: Interrupted, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    simulator.times = 1
    with pytest.raises(KeyboardInterrupt) as caught:
        robot.step(32)
    assert simulator.waiting == 0 and robot.getTime() == 0.032
    sys.excepthook(KeyboardInterrupt, caught.value, caught.tb)
    assert capsys.readouterr().err == "", "no traceback out of hilgw"
    assert robot.step(32) == 0 and robot.getTime() == 0.064, "a program that catches it goes on"
    assert simulator.unanswered == 1
    simulator.lost = True
    assert robot.step(32) == -1


def test_another_error_keeps_its_traceback(
    simulator: Interrupted, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    sys.excepthook(ValueError, ValueError("of the program"), None)
    assert "of the program" in capsys.readouterr().err


@pytest.mark.parametrize(("times", "frozen"), [(2, False), (1, True)])
def test_a_second_ctrl_c_or_a_silent_simulator_keeps_no_program(
    times: int, frozen: bool, simulator: Interrupted, robot: Robot
) -> None:
    simulator.times, simulator.frozen = times, frozen
    with pytest.raises(KeyboardInterrupt):
        robot.step(32)
    assert simulator.waiting == 1
    assert frozen or robot.step(32) == 0, "it takes the answer that is owed first"
    robot.close()
    assert simulator.waiting == 0 and simulator.unanswered == 1


def test_a_handler_of_the_program_that_raises_leaves_no_second_request(
    simulator: Interrupted, robot: Robot
) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGINT, leave)
    simulator.times = 1
    with pytest.raises(SystemExit):
        robot.step(32)
    robot.close()
    assert simulator.waiting == 0 and simulator.unanswered == 1
    assert signal.getsignal(signal.SIGINT) is leave


def test_between_steps_ctrl_c_is_python_s(simulator: Interrupted, robot: Robot) -> None:
    with pytest.raises(KeyboardInterrupt):
        simulator.press()
    robot.stepBegin(32)
    with pytest.raises(KeyboardInterrupt):
        simulator.press()
    robot.close()
    assert simulator.waiting == 0 and simulator.unanswered == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_it_leaves_does_not_keep_it(simulator: Interrupted, robot: Robot) -> None:
    simulator.times = 1
    with pytest.raises(KeyboardInterrupt):
        robot.close()
    assert simulator.left and simulator.unanswered == 1
