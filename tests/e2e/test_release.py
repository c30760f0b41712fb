"""Ports handed to another program and back, and robots that are unplugged and come back."""

from __future__ import annotations

import math
import os
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.testing.sim import wait_until
from hilgw.transports.serial import tty
from tests.bridge.rig import Device
from tests.e2e.control_loop_peers import Peer, RobotServer, set_value, write_configuration
from tests.e2e.running import COMMAND, DEADLINE_S, Gateway, run, start
from tests.e2e.test_bridge import BootLoader, running
from tests.e2e.test_guardian import bench, driving

__all__ = ["bench"]
READS = "import sys; print('began', flush=True); sys.stdin.read(1)"
PROGRAM = [sys.executable, "-c", READS]


@pytest.fixture
def gateway(tmp_path: Path, device: Device) -> Iterator[Gateway]:
    config = tmp_path / "gateway.yaml"
    config.write_text(
        "version: 1\nadapters:\n  uart0: {kind: uart, baudRate: 115200, byteSize: 10, channel: 5,"
        f" framing: lines, bufferSize: 8, port: {device.link}}}\n"
    )
    with Gateway(tmp_path, ["--config", str(config)]) as gateway:
        yield gateway


def release(folder: Path, *words: str) -> subprocess.Popen[str]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return start(folder, *COMMAND, "release", *words, text=True, **pipes)


def begun(process: subprocess.Popen[str]) -> None:
    assert process.stdout.readline() == "began\n", process.communicate()[1]


def state(gateway: Gateway) -> str:
    port = gateway.report()["ports"]["uart0"]
    return f"{port['state']} {port['reason']}"


def is_up(gateway: Gateway) -> bool:
    return state(gateway).startswith("up")


@pytest.mark.judge("avrdude")
def test_avrdude_reads_the_signature_on_the_gateways_port(gateway: Gateway, device: Device) -> None:
    with running(BootLoader(device).work):
        avrdude = shlex.split("avrdude -c arduino -p m328p -P {port}")
        done = run("release", "uart0", "--", *avrdude, cwd=gateway.cwd)
    assert "0x1e950f" in done.stderr and done.returncode == 0, done.stderr
    assert f"uart0: {device.link} is handed over to avrdude" in done.stderr
    assert re.search(r"uart0 is up again after \d+\.\d s", done.stderr)


def test_packets_wait_while_another_program_has_the_port(gateway: Gateway, device: Device) -> None:
    with release(gateway.cwd, "uart0", "--", *PROGRAM) as process:
        begun(process)
        assert state(gateway) == f"released to {Path(sys.executable).name} (process {process.pid})"
        assert not [each for each in tty.holders(str(device.link)) if each.pid != os.getpid()]
        second = run("release", "uart0", "--", "true", cwd=gateway.cwd)
        assert second.returncode == 1 and f"(process {process.pid}) already" in second.stderr
        sent = [run("send", "uart0", text, cwd=gateway.cwd) for text in ("one", "two", "three")]
        assert [each.returncode for each in sent] == [0, 0, 1]
        assert "refused: down" in sent[2].stderr
        report = gateway.report()
        count = report["stations"]["uart0"]
        assert report["ledger"]["adds_up"] and (count["queued"], count["delivered"]) == (2, 0)
        assert device.read() == b""
        _, errors = process.communicate("x", timeout=DEADLINE_S)
    assert process.returncode == 0 and "uart0 is up again after" in errors
    data = bytearray()
    wait_until(lambda: (data.extend(device.read()), data == b"one\ntwo\n")[1])


def test_what_a_program_leaves_on_the_line_does_not_stay(gateway: Gateway, device: Device) -> None:
    """Another rate, a cooked line that echoes; and the device is another one under this name."""
    left = "import os, subprocess; subprocess.run(['stty', '-F', os.environ['HILGW_PORT'], "
    done = run(
        "release", "uart0", "--", sys.executable, "-c", f"{left}'300', 'sane'])", cwd=gateway.cwd
    )
    assert "uart0 is up again" in done.stderr
    assert tty.baud_rate(device.slave) == 115200
    replug = f"{READS}; sys.exit(3)"
    with release(gateway.cwd, "uart0", "--", sys.executable, "-c", replug) as process:
        begun(process)
        device.unplug()
        device.plug()
        process.communicate("x", timeout=DEADLINE_S)
    assert process.returncode == 3 and is_up(gateway)
    assert run("send", "uart0", "on", cwd=gateway.cwd).returncode == 0
    wait_until(lambda: device.read() == b"on\n")


def test_the_gateway_takes_the_port_back_from_a_client_that_is_killed(gateway: Gateway) -> None:
    with release(gateway.cwd, "uart0", "--", *PROGRAM) as process:
        begun(process)
        process.send_signal(signal.SIGSTOP)  # it hangs: the program goes on
        assert state(gateway).startswith("released to")
        process.kill()
        wait_until(lambda: is_up(gateway))


def test_signals_go_to_the_command(gateway: Gateway) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        waits = (
            f"import signal, sys; signal.signal({number}, lambda *_: sys.exit(9)); "
            "print('began', flush=True); signal.pause()"
        )
        with release(gateway.cwd, "uart0", "--", sys.executable, "-c", waits) as process:
            begun(process)
            process.send_signal(number)
            _, errors = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 9 and "uart0 is up again" in errors


def test_without_a_command_it_is_free_until_enter_or_ctrl_c(gateway: Gateway) -> None:
    for ends in ("\n", ""):
        with release(gateway.cwd, "uart0") as process:
            assert "Enter or Ctrl-C gives it back" in process.stderr.readline()
            if not ends:
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(ends or None, timeout=DEADLINE_S)
        assert process.returncode == (0 if ends else 130) and "uart0 is up again" in errors


def test_what_cannot_be_handed_over_is_refused_and_changes_nothing(gateway: Gateway) -> None:
    broken = gateway.cwd / "broken"
    broken.write_text("no program")
    broken.chmod(0o700)
    locked = gateway.cwd / "locked"  # as a folder of root in the PATH of an ordinary user
    locked.mkdir(mode=0, exist_ok=True)
    path = f"{locked}:{os.environ['PATH']}"
    for words, code, text in (
        (("uart1",), 1, "no port 'uart1' here; did you mean 'uart0'?"),
        (("uart0", "--", "no-such-tool"), 2, "cannot start no-such-tool: No such file"),
        (("uart0", "--", str(broken)), 2, "uart0 is up again"),
    ):
        done = run("release", *words, cwd=gateway.cwd, PATH=path)
        assert done.returncode == code and text in done.stderr, done.stderr
    assert is_up(gateway)


def test_a_mock_has_no_port_to_hand_over(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", "uart"]):
        done = run("release", "uart0", "--", "true", cwd=tmp_path)
    assert done.returncode == 1 and "there is no real port to hand over" in done.stderr


def test_a_robot_stops_first_and_the_guardian_lets_go(bench: ModuleType, tmp_path: Path) -> None:
    """Another robot drives on. Killed meanwhile, the gateway's guardian stops that one alone."""
    with driving(bench, tmp_path, "create2", "epuck") as gateway:
        create, epuck = gateway.robots.values()
        with release(tmp_path, "create2.body", "--", *PROGRAM) as process:
            begun(process)
            assert create.stopped_ns and not create.moves()
            port = create.address.partition(": ")[2]
            assert not [each for each in tty.holders(port) if each.pid != os.getpid()]
            refused = run("arm", "create2", cwd=tmp_path)
            assert refused.returncode == 7 and "its body is released to" in refused.stderr
            assert epuck.moves() and not epuck.stopped_ns
            create.mark()
            gateway.process.kill()
            assert epuck.wait_for(lambda: epuck.stopped_ns, DEADLINE_S)
            gateway.process.wait(DEADLINE_S)
            process.communicate("x", timeout=DEADLINE_S)
        assert process.returncode == 0 and not create.stopped_ns


def test_a_robot_stays_disarmed_when_its_port_is_back(bench: ModuleType, tmp_path: Path) -> None:
    with driving(bench, tmp_path, "create2") as gateway:
        (robot,) = gateway.robots.values()
        done = run("release", "create2.body", "--", "true", cwd=tmp_path)
        assert "create2 is stopped, and disarmed" in done.stderr
        assert "create2.body is up again" in done.stderr
        robot.mark()
        loop = gateway.report()["control_loops"]["create2"]
        assert loop["stops"] == {"released": 1} and not loop["armed"]
        assert loop["disarmed_by"] == "released"
        gateway.controllers[0].send(*(set_value(each, 2.0) for each in (0, 1, 2)))
        assert not robot.wait_for(robot.moves, 0.3)


# A busy machine makes neither the gateway late (also to its guardian) nor the program silent.
ROBOT = """version: 1
backend: real
guardian_ms: 10000
webots: R2025a
medium: {{step_ms: 16}}
robots:
  cab:
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:{port}", simulated: false}}
    controller: {{kind: python, file: brain.py, {restart}}}
    safety: {{command_timeout_s: 60, late_s: {late_s}{safety}}}
"""
BRAIN = """
import math
from controller import Robot
robot = Robot()
wheel = robot.getDevice("left")
wheel.setPosition(math.inf)
wheel.setVelocity(5)
while robot.step() != -1:
    wheel.setVelocity(5)
"""
LEAVES = "from controller import Robot; Robot().step()"
WHEEL = wire.types_of("R2025a").rotational_motor
STANDS = wire.value(wire.SET_VALUE, WHEEL, 0, 0.0)
GO = struct.pack("<dd", math.inf, 5.0)  # position and velocity, in a message of all settings


def received(robot: Peer) -> bytes:
    while select.select([robot.connection], [], [], 0)[0]:
        robot.read(time.monotonic())
    return bytes(robot.received)


class Unplugged:
    """A gateway with a real robot that the test plays; `with`."""

    def __init__(
        self, folder: Path, *, restart: str = "", safety: str = "", late_s: float = 20, brain: str
    ) -> None:
        self.folder = folder
        self.server = RobotServer()
        self.robots: list[Peer] = []
        port = self.server.port
        text = ROBOT.format(port=port, restart=restart, safety=safety, late_s=late_s)
        (folder / "brain.py").write_text(brain)
        config = write_configuration(folder, text)
        self.gateway = Gateway(folder, ["--config", config, "--arm"], ready=False)

    def __enter__(self) -> Unplugged:
        return self

    def __exit__(self, *_: object) -> None:
        self.gateway.stop()
        for robot in self.robots:
            robot.finish()
        self.server.close()

    def plug(self) -> Peer:
        self.robots.append(self.server.accept(((WHEEL, "left"),)))
        return self.robots[-1]

    def program(self) -> dict[str, object]:
        return self.gateway.report()["cab.controller.program"]

    def shows(self, text: str) -> None:
        wait_until(lambda: text in self.gateway.text(), text)


def test_a_program_starts_again_with_its_body_and_moves_nothing_unarmed(tmp_path: Path) -> None:
    with Unplugged(tmp_path, brain=BRAIN) as running:
        robot = running.plug()
        robot.wait_for(GO)
        robot.finish()
        running.shows("the program ended with exit code 0; starts again once the body is up")
        assert running.program()["runs"] == 1
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (5, "")
        assert "cab: not armed: its body is down; connect it, then arm" in done.stderr
        assert "cab: not armed: its body" in run("arm", "--all", cwd=tmp_path).stderr
        done = run("disarm", "cab", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (5, "cab: disarmed\n")
        assert "cab: stop not sent: body down" in done.stderr  # the robot may move

        robot = running.plug()
        running.shows("`hilgw arm cab` lets the motors move")  # a command was refused
        assert running.program()["state"] == "running" and running.program()["runs"] == 2
        assert GO not in received(robot)
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("cab: armed\n", "")
        robot.wait_for(GO)


@pytest.mark.wall_clock("the gateway is frozen")
def test_a_program_starts_again_after_a_late_hilgw_and_moves_nothing_unarmed(
    tmp_path: Path,
) -> None:
    restart = "restart: on-failure"
    with Unplugged(tmp_path, restart=restart, late_s=1.5, brain=BRAIN) as running:
        robot = running.plug()
        robot.wait_for(GO)
        running.gateway.process.send_signal(signal.SIGSTOP)
        time.sleep(2.0)  # less than guardian_ms
        running.gateway.process.send_signal(signal.SIGCONT)
        running.shows("(safety.late_s: 1.5 s); commands sent meanwhile are out of date")
        robot.wait_for(STANDS)
        running.shows("the program ended with exit code 0; starts again in 0.5 s")
        running.shows("`hilgw arm cab` lets the motors move")  # a command was refused
        assert running.program()["state"] == "running" and running.program()["runs"] == 2
        assert GO not in received(robot)
        loop = running.gateway.report()["control_loops"]["cab"]
        assert loop["late_ends"] == loop["stops"]["late"] == 1 and not loop["armed"]
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("cab: armed\n", "")
        robot.wait_for(GO)


@pytest.mark.parametrize(
    ("restart", "safety", "brain", "why"),
    [
        ("", "", LEAVES + "; raise SystemExit(1)", "the program ended with exit code 1"),
        ("restart: never", "", BRAIN, "stays down: `restart: never`"),
        ("", ", latch: false", BRAIN, "stays down: the body is real, with `latch: false`"),
    ],
)
def test_a_program_that_stays_down_is_named_by_replug_arm_and_status(
    tmp_path: Path, restart: str, safety: str, brain: str, why: str
) -> None:
    with Unplugged(tmp_path, restart=restart, safety=safety, brain=brain) as running:
        robot = running.plug()
        if brain is BRAIN:
            robot.wait_for(GO)
        else:
            running.shows(why)
        robot.finish()
        running.shows(why)
        running.plug()
        running.shows("cab          no controller runs: the program ended with exit code")
        running.shows("no controller | ")  # the status
        done = run("arm", "cab", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "cab: armed\n"), done.stderr
        assert done.stderr.startswith("cab: no controller runs: the program ended with exit code")
        assert "start hilgw again" in done.stderr
        assert (running.program()["state"], running.program()["runs"]) == ("down", 1)
