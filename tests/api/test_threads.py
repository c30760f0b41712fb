"""Two threads with one Robot: the second one is refused at once, and the first one goes on."""

import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from hilgw.api import Robot
from hilgw.api.connection import Connection
from hilgw.api.session import Session
from hilgw.protocols.webots.answers import Answer, encode_answer
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.api.simulator import Simulator, motor, robot_of


class Slow(Simulator):
    """Answers a step when the test lets it."""

    def __init__(self) -> None:
        super().__init__([("RotationalMotor", "motor", motor)])
        self.asked = threading.Semaphore(0)
        self.answer = threading.Semaphore(1)  # the configuration

    def receive(self) -> Answer:
        self.asked.release()
        assert self.answer.acquire(timeout=DEADLINE_S)
        return super().receive()


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def robot(slow: Slow) -> Iterator[Robot]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    robot = robot_of(slow)
    assert slow.asked.acquire(timeout=DEADLINE_S)
    yield robot
    slow.answer.release()
    robot.close()
    signal.signal(signal.SIGINT, before)


def begun(work: Callable[[], object]) -> tuple[threading.Thread, queue.Queue[object]]:
    """A thread that does this, and its result."""
    results: queue.Queue[object] = queue.Queue()
    thread = threading.Thread(target=lambda: results.put(work()), daemon=True)
    thread.start()
    return thread, results


BLOCKING: list[Callable[[Robot], object]] = [
    lambda robot: robot.step(32),
    lambda robot: robot.stepBegin(32),
    lambda robot: robot.stepEnd(),
    lambda robot: robot.getUrdf(),
    lambda robot: robot.wwiSendText("x"),
    lambda robot: robot.waitForUserInputEvent(Robot.EVENT_KEYBOARD, 1000),
    lambda robot: robot.getDevice("motor").getBrake(),
]


@pytest.mark.parametrize("call", BLOCKING)
def test_what_would_wait_is_refused_while_another_thread_steps(
    call: Callable[[Robot], object], slow: Slow, robot: Robot
) -> None:
    thread, results = begun(lambda: robot.step(32))
    assert slow.asked.acquire(timeout=DEADLINE_S)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"MainThread steps the robot while another thread"):
            call(robot)
    slow.answer.release()
    assert results.get(timeout=DEADLINE_S) == 0
    thread.join(DEADLINE_S)
    assert len(slow.requests) == 2  # the configuration, and one step
    slow.answer.release()
    assert robot.step(32) == 0  # one after another they may
    assert robot.getTime() == 0.064


def test_a_step_that_another_thread_begins_may_end_here(slow: Slow, robot: Robot) -> None:
    _, results = begun(lambda: robot.stepBegin(32))
    assert results.get(timeout=DEADLINE_S) == 0
    slow.answer.release()
    assert robot.stepEnd() == 0


def test_the_end_of_a_step_that_was_not_begun_waits_for_nothing(
    robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    assert robot.stepEnd() == 0
    assert "wb_robot_step_end() called before wb_robot_step_begin()" in capsys.readouterr().err


def test_ctrl_c_reaches_the_main_thread_while_another_one_steps(slow: Slow, robot: Robot) -> None:
    thread, results = begun(lambda: robot.step(32))
    assert slow.asked.acquire(timeout=DEADLINE_S)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    slow.answer.release()
    assert results.get(timeout=DEADLINE_S) == 0
    thread.join(DEADLINE_S)


def test_closing_wakes_a_thread_that_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """The program ends in one thread while another one waits for a simulator that is silent."""
    ours, theirs = socket.socketpair()
    codec = Codec("R2025a")
    theirs.sendall(
        encode_answer(
            0, codec.encode_messages([RobotConfiguration(name="rover", basicTimeStep=32.0)]), []
        )
    )
    with theirs:
        robot = Robot(session=Session(Connection(ours, local=False)))
        thread, results = begun(lambda: robot.step(32))
        step = b"\x08\0\0\0\x20\0\0\0"
        wait_until(lambda: theirs.recv(1000, socket.MSG_PEEK).endswith(step))
        robot.close()
        assert results.get(timeout=DEADLINE_S) == -1
        thread.join(DEADLINE_S)
    assert capsys.readouterr().err == ""
