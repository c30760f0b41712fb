"""Programs whose robot is unplugged and comes back, on a gateway of its own."""

from __future__ import annotations

import math
import select
import signal
import struct
import time
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.testing.sim import wait_until
from tests.e2e.control_loop_peers import Peer, RobotServer, write_configuration
from tests.e2e.running import Gateway, run

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
