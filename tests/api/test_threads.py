"""A program around its robot: two threads, Ctrl-C in a step, and what `hilgw exec` reports."""

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hilgw.api import Robot, exec_watch
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
def slow_robot(slow: Slow) -> Iterator[Robot]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    slow_robot = robot_of(slow)
    assert slow.asked.acquire(timeout=DEADLINE_S)
    yield slow_robot
    slow.answer.release()
    slow_robot.close()
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
    call: Callable[[Robot], object], slow: Slow, slow_robot: Robot
) -> None:
    thread, results = begun(lambda: slow_robot.step(32))
    assert slow.asked.acquire(timeout=DEADLINE_S)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"MainThread steps the robot while another thread"):
            call(slow_robot)
    slow.answer.release()
    assert results.get(timeout=DEADLINE_S) == 0
    thread.join(DEADLINE_S)
    assert len(slow.requests) == 2  # the configuration, and one step
    slow.answer.release()
    assert slow_robot.step(32) == 0  # one after another they may
    assert slow_robot.getTime() == 0.064


def test_a_step_that_another_thread_begins_may_end_here(slow: Slow, slow_robot: Robot) -> None:
    _, results = begun(lambda: slow_robot.stepBegin(32))
    assert results.get(timeout=DEADLINE_S) == 0
    slow.answer.release()
    assert slow_robot.stepEnd() == 0


def test_the_end_of_a_step_that_was_not_begun_waits_for_nothing(
    slow_robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    assert slow_robot.stepEnd() == 0
    assert "wb_robot_step_end() called before wb_robot_step_begin()" in capsys.readouterr().err


def test_ctrl_c_reaches_the_main_thread_while_another_one_steps(
    slow: Slow, slow_robot: Robot
) -> None:
    thread, results = begun(lambda: slow_robot.step(32))
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
