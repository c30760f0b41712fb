"""Control loops as a user runs them: shipped files, signals, peers that disconnect."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from tests.e2e.running import (
    COMMAND,
    DEADLINE_S,
    HOST,
    ROOT,
    Gateway,
    environment,
    free_port,
    in_process,
    patient,
    run,
    wait_until,
)

FULL = ("--status", "full")
WC2EC = str(ROOT / "configs" / "wc2ec.yaml")
FIRMWARE = str(ROOT / "configs" / "firmware-in-the-loop.yaml")
GO = set_value(1, 5.0)
STOP = set_value(1, 0.0) + set_value(2, 0.0)
PATIENT = "    safety: {late_s: 60}"  # a busy machine drops no controller
LATCH = "    safety: {latch: true, late_s: 60}"


class Running:
    """A gateway in a process of its own, the robot it has connected to, the port it listens on."""

    def __init__(self, folder: Path, more: str = "", *arguments: str) -> None:
        self.server = RobotServer()
        config = write_configuration(folder, configuration(self.server.port, more=more))
        report = folder / "out.json"
        self.gateway = Gateway(
            folder, ["--config", config, "--report", str(report), *arguments], ready=False
        )
        self.robot = self.server.accept()
        wait_until(lambda: "cab.body     up" in self.gateway.text(), what="the body")
        wait_until(lambda: port_in(self.gateway.text()), what="the listener")
        self.port = port_in(self.gateway.text())
        self._report = report
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
        """Its exit code."""
        return self.gateway.process.wait(DEADLINE_S)

    def report(self) -> dict[str, Any]:
        """Of the run that has ended."""
        report: dict[str, Any] = json.loads(self._report.read_text())
        return report

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


@contextmanager
def mock(folder: Path, kind: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`hilgw mock`, until it reports that it is ready."""
    command = [*COMMAND, "mock", kind, *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        while (line := process.stdout.readline()) and not line.startswith("ready"):
            process.reported = line  # type: ignore[attr-defined]
        assert line, f"{kind} ended"
        yield process
    finally:
        process.kill()
        process.communicate()


# --- the files as they come -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "robot", "backend"), [(WC2EC, "cab", "mock"), (FIRMWARE, "mouse", "loopback")]
)
def test_a_shipped_file_moves_its_robot_and_its_packets_are_answered(
    tmp_path: Path, config: str, robot: str, backend: str
) -> None:
    keys = ["controller.silence_s"] if robot == "mouse" else []
    arguments = ["--config", config, "--backend", backend, "--report", "report.json", *FULL]
    arguments += patient(robot, *keys)

    def has_driven() -> bool:
        report = gateway.report()
        near = report["control_loops"][robot]["sensors"].get("ds_front", 1000) < 800
        return near and report["stations"][f"{robot}.rx"]["delivered"] >= 2

    with Gateway(tmp_path, arguments) as gateway:
        wait_until(has_driven, what="the wall and two answers")
        wait_until(lambda: gateway.text().count("values/s") >= 2, what="two lines")
        assert gateway.stop() == 130
        text = gateway.text()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ledger"] == {"adds_up": True, "violations": []}
    loop = report["control_loops"][robot]
    assert loop["values_in"] > loop["commands_out"] > 0
    assert set(loop["refused"]) <= {"gateway_ended"}
    assert loop["stops"] == {"gateway_ended": 1}
    assert loop["motors"] == {"left_wheel": {"velocity": 0.0}, "right_wheel": {"velocity": 0.0}}
    assert set(loop["sensors"]) == {"ds_left", "ds_front", "ds_right"}
    assert loop["sensor_to_motor"]["p50_ms"] > 0
    assert report["emitters"][f"{robot}.tx"]["departed"] >= 2
    # The terminal shows sensors, motors, rates and latency.
    words = " ".join(text.split())
    for word in ("ds_front ", "left_wheel ", "commands/s", "sensor to motor p50 "):
        assert word in words, text
    if robot == "cab":
        assert "left_wheel 5" in words, text
        assert "cab.body     up: WC2EC robot" in text
        assert "controller wc2ec: listens on tcp://127.0.0.1:" in text
    assert "motors stopped: the gateway ends" in text


def test_two_gateways_run_the_same_file_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    port = free_port()  # the file's own may be another test's at this instant
    text = Path(WC2EC).read_text()
    assert "tcp://127.0.0.1:27016" in text
    file = tmp_path / "wc2ec.yaml"
    file.write_text(text.replace("tcp://127.0.0.1:27016", f"tcp://{HOST}:{port}"))
    arguments = ["--config", str(file)]
    with Gateway(tmp_path, arguments) as first, Gateway(folder, arguments) as second:
        assert f"listens on tcp://{HOST}:{port}" in first.text()
        assert "listening on another port" in second.text()


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_motors_on_the_wire(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with running(tmp_path, PATIENT) as loop:
        loop.driving()
        loop.signal(number)
        loop.robot.wait_for(STOP)
        loop.robot.wait_for_end()
        assert loop.robot.received == b""  # once, and nothing after it
        assert loop.wait() == code
        report = loop.report()
    assert report["exit_code"] == code
    assert report["control_loops"]["cab"]["stops"] == {"gateway_ended": 1}


@pytest.mark.parametrize("number", [None, signal.SIGINT])
def test_a_latched_stop_is_the_exit_code_of_any_end(
    tmp_path: Path, number: signal.Signals | None
) -> None:
    with running(tmp_path, LATCH, *(() if number else ("--duration", "3s"))) as loop:
        loop.driving().finish()
        loop.robot.wait_for(STOP)
        if number:
            wait_until(lambda: "latched until" in loop.gateway.text())
            loop.signal(number)
        assert loop.wait() == 7
        text = loop.gateway.text()
        report = loop.report()
    assert "cab: safety stop latched: disconnected" in text
    assert report["exit_code"] == 7
    assert report["control_loops"]["cab"]["latched"] == "disconnected"


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


# --- peers that go, freeze, or are one too many -----------------------------------------------


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
        assert loop.robot.received in (
            b"",
            STOP,
        )  # the thread and the loop may both have reported it
        loop.signal(signal.SIGINT)
        assert loop.wait() == 130
        assert loop.report()["control_loops"]["cab"]["stops"] == {"late": 1}


def test_a_listener_on_a_taken_port_ends_with_4(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = configuration(1).replace("127.0.0.1:0", f"127.0.0.1:{taken.getsockname()[1]}")
        code, _, errors = in_process("--config", write_configuration(tmp_path, text), cwd=tmp_path)
    assert code == 4 and "in use" in errors


def test_a_robot_that_never_comes_is_waited_for_in_one_line(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, configuration(free_port(), host=HOST))
    done = run("--config", config, "--duration", "2.5s", cwd=tmp_path)
    assert done.returncode == 4, done.stdout
    assert done.stdout.count("cab.body     waiting: ") == 1
    assert "Connection refused" in done.stderr


# --- our mocks as processes of their own ------------------------------------------------------
