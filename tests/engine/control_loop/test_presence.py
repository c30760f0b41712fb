"""A controller that is not there: the program that hilgw dismissed, and what the user learns."""

import asyncio
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.control.events import MotorCommand
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device
from hilgw.engine.observer import Observer, State
from hilgw.engine.processes.processes import ProgramState
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.control_loop.running import RunningLoop, robot_of
from tests.engine.control_loop.scripted import ScriptedLoop

NONE_RUNS = "no controller runs: start one"
WHEEL = Device(name="wheel", kind="RotationalMotor", index=0)


class FakeProgram:
    """What the control loop reports to a program."""

    state, reason, dismissals = ProgramState.RUNNING, "", 0

    def dismissed(self) -> None:
        self.dismissals += 1

    def enter(self, state: ProgramState, reason: str) -> None:
        self.state, self.reason = state, reason


def with_program() -> tuple[FakeLoop, FakeProgram]:
    loop, program = FakeLoop(), FakeProgram()
    loop.controller.supervisor.program = program
    loop.loop.start()
    loop.robot_comes()
    loop.run(200)
    return loop, program


def status_of(loop: FakeLoop) -> bool:
    """Whether the next status has a controller."""
    loop.run(1000)
    return loop.observer.statuses[-1].controller


def test_a_program_is_dismissed_by_the_loss_of_its_body_alone() -> None:
    loop, program = with_program()
    loop.controller_comes()
    loop.controller.dismiss("the gateway was late")
    assert program.dismissals == 0
    loop.controller_comes()
    loop.robot_leaves()
    assert program.dismissals == 1 and loop.controller.transport is None


def test_a_program_that_has_left_is_not_dismissed() -> None:
    loop, program = with_program()
    loop.controller_comes()
    loop.controller_leaves()
    loop.robot_leaves()
    loop.robot_comes()
    loop.run(200)
    loop.loop.end()
    loop.robot_leaves()
    assert program.dismissals == 0


def test_a_switch_to_a_body_that_is_not_there_dismisses_the_program() -> None:
    run, program = ScriptedLoop((WHEEL,), remote=(WHEEL,), mode=RobotMode.REMOTE), FakeProgram()
    run.controller.supervisor.program = program
    run.body.detach()
    assert program.dismissals == 0  # it has the other one
    run.loop.modes.switch(RobotMode.SIMULATION)
    assert program.dismissals == 1


@pytest.mark.parametrize("moves", [False, True])
def test_a_real_shadow_is_disarmed_when_the_first_body_is_lost(moves: bool) -> None:
    """Or the program that starts again with the first body would move it."""
    run = ScriptedLoop((WHEEL,), remote=(WHEEL,), mode=RobotMode.SHADOW, latch=True)
    if moves:
        run.controller_sends(MotorCommand(0, "velocity", 1.0))
    run.body.detach()
    remote = run.loop.report()["bodies"]["remote"]
    assert (remote["armed"], remote["latched"]) == (False, "disconnected" if moves else None)


def test_a_shadow_that_does_not_latch_stays_armed() -> None:
    run = ScriptedLoop((WHEEL,), remote=(WHEEL,), mode=RobotMode.SHADOW)
    run.body.detach()
    assert run.loop.report()["bodies"]["remote"]["armed"]


def test_a_program_that_stays_down_is_named_by_the_replug_and_the_status() -> None:
    loop, program = with_program()
    assert status_of(loop)  # it runs, and will connect
    program.enter(ProgramState.DOWN, "the program ended with exit code 0; start hilgw again")
    assert not status_of(loop)
    loop.robot_leaves()
    assert loop.observer.notices == []
    loop.robot_comes()
    loop.run(200)
    why = "no controller runs: the program ended with exit code 0; start hilgw again"
    assert loop.observer.notices == [why]
    loop.loop.arm()
    assert loop.observer.notices == [why, why]


def test_a_program_that_starts_again_with_its_body_needs_no_notice() -> None:
    loop, program = with_program()
    program.enter(ProgramState.WAITING, "the program starts again once the body is up")
    loop.robot_leaves()
    assert not status_of(loop)
    loop.loop.arm()
    notice = "no controller runs: the program starts again once the body is up"
    assert loop.observer.notices == [notice]
    loop.robot_comes()
    loop.run(200)
    assert loop.observer.notices == [notice]
    program.enter(ProgramState.RUNNING, "")
    assert status_of(loop)


def test_the_start_does_not_count_as_a_replug(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        running.advance(2.0)
        assert not running.log.statuses[-1].controller
        assert not any(NONE_RUNS in each for each in running.log.notices)


@pytest.mark.parametrize("controlled", [False, True])
def test_the_replug_names_a_controller_that_stays_away(tmp_path: Path, controlled: bool) -> None:
    with RunningLoop(tmp_path) as running:
        running.controller()
        running.until(lambda: running.log.saw("cab.controller", State.UP))
        running.advance(1.0)
        assert running.log.statuses[-1].controller
        robot_of(running).finish()
        running.until(lambda: running.log.saw("cab.controller", State.WAITING) == 2)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        running.advance(1.0)
        assert not any(NONE_RUNS in each for each in running.log.notices)  # one may be on its way
        if controlled:
            running.controller()
        running.advance(1.5)
        assert running.log.statuses[-1].controller is controlled
        where = f"{NONE_RUNS}; hilgw is listening on 127.0.0.1:{running.port}"
        assert running.log.notices.count(where) == (not controlled)
        absences = running.gateway.control_loops.notes("cab")
        assert absences == ({} if controlled else {"cab": where})


def test_a_body_that_comes_and_goes_gives_only_one_notice(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        for times in (2, 3):
            robot_of(running).finish()
            running.robot = running.accept()
            running.until(lambda times=times: running.log.saw("cab.body", State.UP) == times)
            running.advance(0.3)
        running.advance(5.0)
        assert sum(NONE_RUNS in each for each in running.log.notices) == 1


def test_a_robot_that_has_no_controller_reports_it(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, controller=False) as running:
        where = "no controller runs: the configuration has none"
        assert running.gateway.control_loops.notes("cab") == {"cab": where}


SERIAL = """
version: 1
backend: {backend}
robots:
  cab:
    controller: {{kind: {controller}}}
"""
WC2EC, WEBOTS = "wc2ec, port: /dev/ttyUSB0", 'webots, listen: "tcp://127.0.0.1:0"'


@pytest.mark.parametrize(
    ("backend", "controller", "fix"),
    [
        ("real", WC2EC, "connect or reset the one on /dev/ttyUSB0"),
        ("loopback", WC2EC, "its mock connects again"),
        ("loopback", WEBOTS, "its mock connects once; start the gateway again"),
    ],
)
async def test_a_controller_on_a_line_or_a_mock(backend: str, controller: str, fix: str) -> None:
    config = load_text(SERIAL.format(backend=backend, controller=controller), "f").config
    gateway = build(config, asyncio.get_running_loop(), Observer())
    found = gateway.control_loops.notes("cab")
    gateway.close()
    assert found == {"cab": f"no controller runs: {fix}"}
