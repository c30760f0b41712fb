"""Control loops as a user runs them: signals, and peers that disconnect or never come."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.control_loop_peers import (
    Peer,
    RobotServer,
    configuration,
    connect,
    port_in,
    sensor_data,
    set_value,
    write_configuration,
)
from tests.e2e.running import DEADLINE_S, HOST, Gateway, free_port, report_in, run, wait_until


class Running:
    """A gateway in a process of its own, the robot it has connected to, the port it listens on."""

    def __init__(self, folder: Path, more: str = "", *arguments: str) -> None:
        self.server = RobotServer()
        config = write_configuration(folder, configuration(self.server.port, more=more))
        self.folder, options = folder, ["--config", config, "--report", "out.json", *arguments]
        self.gateway = Gateway(folder, options, ready=False)
        self.robot = self.server.accept()
        wait_until(lambda: "cab.body     up" in self.gateway.text(), what="the body")
        wait_until(lambda: port_in(self.gateway.text()), what="the listener")
        self.port = port_in(self.gateway.text())
        self._peers = [self.robot]

    def controller(self) -> Peer:
        self._peers.append(connect(self.port))
        return self._peers[-1]

    def driving(self) -> Peer:
        controller = self.controller()
        controller.send(GO)
        self.robot.wait_for(GO)
        return controller

    def signal(self, number: int) -> None:
        self.gateway.process.send_signal(number)

    def wait(self) -> int:
        return self.gateway.process.wait(DEADLINE_S)

    def end(self) -> None:
        self.gateway.stop(signal.SIGKILL)
        for peer in self._peers:
            peer.finish()
        self.server.close()


@contextmanager
def running(folder: Path, more: str = "", *arguments: str) -> Iterator[Running]:
    loop = Running(folder, more, *arguments)
    try:
        yield loop
    finally:
        loop.end()


LATCH = "    safety: {latch: true, late_s: 60}"
GO = set_value(1, 5.0)
STOP = set_value(1, 0.0) + set_value(2, 0.0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_motors(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with running(tmp_path, "    safety: {late_s: 60}") as loop:
        loop.driving()
        loop.signal(number)
        loop.robot.wait_for(STOP)
        loop.robot.wait_for_end()
        assert loop.robot.received == b""  # once, and nothing after it
        assert loop.wait() == code
    report = report_in(tmp_path)
    assert report["exit_code"] == code
    assert report["control_loops"]["cab"]["stops"] == {"gateway_ended": 1}


def test_a_robot_that_never_comes_is_waited_for_in_one_line(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, configuration(free_port(), host=HOST))
    done = run("--config", config, "--duration", "2.5s", cwd=tmp_path)
    assert done.returncode == 4, done.stdout
    assert done.stdout.count("cab.body     waiting: ") == 1
    assert "Connection refused" in done.stderr


@pytest.mark.parametrize("number", [None, signal.SIGINT])
def test_a_latched_stop_is_the_exit_code(tmp_path: Path, number: signal.Signals | None) -> None:
    with running(tmp_path, LATCH, *(() if number else ("--duration", "3s"))) as loop:
        loop.driving().finish()
        loop.robot.wait_for(STOP)
        if number:
            wait_until(lambda: "latched until" in loop.gateway.text())
            loop.signal(number)
        assert loop.wait() == 7
        text = loop.gateway.text()
    report = report_in(tmp_path)
    assert "cab: safety stop latched: disconnected" in text
    assert report["exit_code"] == 7
    assert report["control_loops"]["cab"]["latched"] == "disconnected"


@pytest.mark.wall_clock("a process is suspended for longer than the watchdog allows")
def test_a_suspended_gateway_stops_first_and_drops_waiting_bytes(tmp_path: Path) -> None:
    with running(tmp_path, "    safety: {late_s: 0.5}") as loop:
        controller = loop.driving()
        loop.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        for speed in range(1, 40):
            controller.send(set_value(1, speed / 10))
        wait_until(lambda: time.monotonic() - stopped > 1.0)
        loop.robot.send(sensor_data(0, 1.0))
        loop.signal(signal.SIGCONT)
        loop.robot.wait_for(STOP)
        controller.wait_for_end()
        # The thread and the loop may both have reported it.
        assert loop.robot.received in (b"", STOP)
        loop.signal(signal.SIGINT)
        assert loop.wait() == 130
    assert report_in(tmp_path)["control_loops"]["cab"]["stops"] == {"late": 1}


def test_arm_lets_the_motors_move_again(tmp_path: Path) -> None:
    with running(tmp_path, LATCH) as loop:
        loop.driving().finish()
        loop.robot.wait_for(STOP)
        wait_until(lambda: "latched until `hilgw arm cab`" in loop.gateway.text())
        assert run("arm", "cap", cwd=tmp_path).returncode == 1
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "cab: armed\n"), done.stderr
        loop.driving()
        loop.signal(signal.SIGINT)
        assert loop.wait() == 130
