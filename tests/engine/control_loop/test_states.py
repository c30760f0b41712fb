"""`Gateway.states`: how everything is now, and controllers that are not there."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.output.live_table import LiveTable
from hilgw.cli.output.text import Style
from hilgw.config.load import load_text
from hilgw.config.shipped import folder
from hilgw.control.events import Accepted, MotorCommand, Outcome, SensorValue
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits, Refusal
from hilgw.engine.control_loop.bodies import body_end
from hilgw.engine.control_loop.devices import readings
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import CommandEvent, ControlLoopStatus, Observer, State, ValueEvent
from hilgw.engine.processes.processes import ProgramState
from hilgw.events.kinds import Armed, Cell, Command, Mode, Placed, Port, Stopped, Value, cell_of
from hilgw.medium.pose import Pose
from hilgw.protocols.gateway.messages import keys_of
from tests.e2e.control_loop_peers import sensor_data, set_value
from tests.engine.control_loop.fakes import MS, FakeLoop, ScriptedLoop
from tests.engine.control_loop.running import STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.test_modes import FORWARD, REAL, SIMULATED


def of(gateway: Gateway, kind: type[Any], name: str) -> Any:
    (state,) = (each for each in gateway.states() if type(each) is kind and name in cell_of(each))
    return state


def table_of(states: list[Cell], now: int) -> LiveTable:
    """What `hilgw watch` shows of these states and of nothing else."""
    table = LiveTable("hilgw watch", Style(on=False), ("-", "o"), "EVENTS")
    for state in states:
        kind = type(state).__name__.lower()
        times = {"mono_ns": state.since_ns, "time_ns": state.since_ns, "wall_s": 0.0}
        table.take({"event": kind, **times, **keys_of(state)})
    return table


def row(running: RunningLoop, name: str) -> list[str]:
    now = running.clock.now()
    screen = table_of(list(running.gateway.states()), now).screen(80, 24, now)
    return next(line for line in screen if line.startswith(name)).split()


def test_a_motor_that_was_commanded_once_is_shown_to_one_who_looks_later(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        driving(running)
        commanded = running.clock.now()
        running.advance(3.0)
        left = of(running.gateway, Command, "left")
        assert (left.given, left.applied, left.outcome) == ({"velocity": 5.0},) * 2 + ("sent",)
        assert (left.units, left.since_ns) == ({"velocity": "rad/s"}, commanded)
        assert [each.since_ns for each in running.gateway.states() if each.since_ns is None] == []
        assert row(running, "cab.left")[1:5] == ["5", "5", "rad/s", "3.0"]


def test_a_motor_that_was_stopped_is_shown_as_stopped_with_what_is_applied(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        running.advance(1.0)
        controller.finish()
        robot_of(running).wait_for(STOP)
        stopped_ns = running.clock.now()
        running.advance(2.0)
        left, stop = of(running.gateway, Command, "left"), of(running.gateway, Stopped, "cab")
        assert (left.given, left.applied) == ({"velocity": 5.0}, {"velocity": 0.0})
        assert (stop.reason, stop.since_ns) == ("disconnected", stopped_ns)
        assert left.since_ns < stop.since_ns
        assert of(running.gateway, Port, "cab.controller").state == "waiting"  # it has ended
        assert "STOPPED" in row(running, "cab.left")
        driving(running)
        assert row(running, "cab.left")[1:4] == ["5", "5", "rad/s"]


def test_a_robot_that_was_disarmed_has_been_so_since_then(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        driving(running)
        running.cab.disarm(running.clock.now())
        armed = of(running.gateway, Armed, "cab")
        assert (armed.armed, armed.since_ns) == (False, running.clock.now())
        assert of(running.gateway, Command, "left").applied == {"velocity": 0.0}


def test_the_newest_value_of_a_sensor_has_its_time(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        running.controller()
        for number in (0.25, 0.5):
            robot_of(running).send(sensor_data(0, number))
            running.until(lambda number=number: running.report()["sensors"] == {"ds": number})
        reported_ns = running.clock.now()
        running.advance(7.0)
        ds = of(running.gateway, Value, "ds")
        assert (ds.value, ds.fields, ds.since_ns) == (0.5, ["value"], reported_ns)


def test_the_states_of_parts_come_before_those_of_devices(tmp_path: Path) -> None:
    """A page of a gateway with very many devices shows its robots first."""
    with RunningLoop(tmp_path) as running:
        driving(running)
        robot_of(running).send(sensor_data(0, 0.5))
        running.until(lambda: running.report()["sensors"] == {"ds": 0.5})
        running.gateway.place("cab", Pose((1.0, 2.0, 3.0)))
        states = list(running.gateway.states())
        assert [*dict.fromkeys(map(type, states))] == [Port, Armed, Placed, Command, Value]
        assert of(running.gateway, Placed, "cab").position == [1.0, 2.0, 3.0]


async def test_a_robot_with_two_bodies_has_its_mode_among_the_states() -> None:
    shipped = folder()
    assert shipped is not None
    config = load_text((shipped / "shadow.yaml").read_text(), "shadow.yaml").config
    gateway = build(config, asyncio.get_running_loop(), Observer())
    assert of(gateway, Mode, "rover").mode == "shadow"
    gateway.close()


def test_each_body_has_its_commands_and_its_values() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(RobotMode.SHADOW)
    run.controller_sends(FORWARD)
    run.body_reports(SensorValue(1, 7.0))
    run.remote_reports(SensorValue(1, 6.0))
    states = list(run.loop.newest())
    commands = [each for each in states if isinstance(each, CommandEvent)]
    assert [(each.body, each.device, each.applied) for each in commands] == [
        ("body", "wheel", {"velocity": 1.0}),
        ("remote", "wheel", {"velocity": 1.0}),
    ]
    values = [each for each in states if isinstance(each, ValueEvent)]
    assert [(each.device, each.value) for each in values] == [
        ("eye", 7.0),  # that the controller has
        ("eye", 7.0),  # of both bodies, as they are compared
        ("eye", 6.0),
    ]
    assert len({each.robot for each in values}) == 3
    run.loop.disarm(run.scheduler.now())
    assert [each.applied for each in run.loop.newest() if isinstance(each, CommandEvent)] == [
        {"velocity": 0.0}
    ] * 2


def test_a_command_to_no_motor_of_the_robot_is_not_kept() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    for index in range(9, 500):
        run.controller_sends(MotorCommand(index, "velocity", 1.0))
    assert list(run.loop.newest()) == []


def moved() -> FakeLoop:
    loop = FakeLoop()
    loop.loop.start()
    loop.robot_comes()
    loop.run(200)
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 5.0))
    loop.body.data_received(sensor_data(0, 0.75))
    return loop


def last(loop: FakeLoop) -> ControlLoopStatus:
    loop.run(1000)
    return loop.observer.statuses[-1]


def test_while_the_body_is_gone_its_values_are_of_the_past() -> None:
    loop = moved()
    status = last(loop)
    assert status.body_down_s is None and status.motors == {"left": {"velocity": 5.0}}
    assert status.sensors == {"ds": 0.75}
    loop.robot_leaves()
    loop.run(3000)
    status = loop.observer.statuses[-1]
    assert status.body_down_s is not None and 2 < status.body_down_s <= 3
    assert status.motors == {} and status.past_motors == {"left": {"velocity": 5.0}}
    assert status.sensors == {} and status.past_sensors == {"ds": 0.75}
    assert loop.loop.report()["motors"] == {"left": {"velocity": 5.0}}
    assert loop.loop.report()["sensors"] == {"ds": 0.75}


def test_the_body_that_returns_was_given_nothing_yet() -> None:
    loop = moved()
    loop.robot_leaves()
    loop.robot_comes()
    status = last(loop)
    assert status.body_down_s is None and status.motors == {}
    assert status.past_motors == {"left": {"velocity": 5.0}}
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 2.0))
    status = last(loop)
    assert status.motors == {"left": {"velocity": 2.0}} and status.past_motors == {}


def test_a_command_that_the_connection_did_not_take_was_not_applied() -> None:
    loop = moved()
    loop.robot.full = True
    loop.controller.data_received(set_value(1, -3.0))
    assert loop.statistics.motors == {"left": {"velocity": 5.0}}
    assert loop.loop.report()["commands_out"] == 1


WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=2.0))
GYRO = Device(name="gyro", kind="DistanceSensor", index=1)
SLOW, FAST, UNKNOWN = (
    MotorCommand(index, "velocity", value) for index, value in ((0, 1.0), (0, 9.0), (7, 1.0))
)


class Watched:
    """A control loop, and the events of its commands and values."""

    def __init__(self, run: ScriptedLoop) -> None:
        self.run = run
        self.commands: list[CommandEvent] = []
        self.values: list[ValueEvent] = []
        run.observer.motor_command = self.commands.append
        run.observer.sensor_value = self.values.append

    def outcomes(self) -> list[tuple[str, str, Outcome]]:
        return [(each.body, each.device, each.outcome) for each in self.commands]


def reasons(watched: Watched) -> list[str]:
    outcomes = [each.outcome for each in watched.commands]
    return [each.reason if isinstance(each, Refusal) else each for each in outcomes]


def test_each_command_is_an_event_with_its_outcome() -> None:
    watched = Watched(ScriptedLoop([WHEEL]))
    watched.run.controller_sends(SLOW)
    now = watched.run.scheduler.now()
    assert watched.commands == [
        CommandEvent("cab", "", "wheel", SLOW, Accepted.SENT, {"velocity": 1.0}, now)
    ]
    watched.run.controller_sends(FAST, UNKNOWN)
    assert reasons(watched) == ["sent", "beyond_limit", "unknown_device"]
    watched.run.loop.end()
    watched.run.controller_sends(SLOW)
    assert reasons(watched)[3:] == ["gateway_ended"]


def test_a_shadow_reports_its_own_outcome() -> None:
    other = Device(name="wheel", kind="RotationalMotor", index=3)
    run = ScriptedLoop([WHEEL], remote=[other], mode=RobotMode.SHADOW)
    run.pass_ms(200)
    watched = Watched(run)
    run.controller_sends(SLOW)
    assert watched.outcomes() == [
        ("body", "wheel", Accepted.SENT),
        ("remote", "wheel", Accepted.SENT),
    ]


def test_each_value_that_was_passed_on_is_an_event_and_no_other() -> None:
    watched = Watched(ScriptedLoop([WHEEL, GYRO]))
    run = watched.run
    run.body_reports(SensorValue(1, 0.5))
    run.pilot.stalled = True
    run.pilot.write(b"waits")
    run.body_reports(SensorValue(1, 1.0))
    run.body_reports(SensorValue(1, 2.0))
    now = run.scheduler.now()
    assert watched.values == [ValueEvent("cab", "gyro", 0.5, now)]
    run.pilot.accept()
    assert watched.values[1:] == [ValueEvent("cab", "gyro", 2.0, now)]
    run.controller.detach()
    run.body_reports(SensorValue(1, 3.0))
    assert len(watched.values) == 2


def test_without_an_observer_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_end, "CommandEvent", None)
    monkeypatch.setattr(readings, "ValueEvent", None)
    run = ScriptedLoop([WHEEL, GYRO])
    run.controller_sends(SLOW)
    run.body_reports(SensorValue(1, 0.5))
    report = run.loop.report()
    assert (report["commands_out"], report["values_in"]) == (1, 1)


NONE_RUNS = "no controller runs: start one"


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


def test_a_program_is_dismissed_by_the_loss_of_its_body_alone() -> None:
    loop, program = with_program()
    loop.controller_comes()
    loop.controller.dismiss("the gateway was late")
    assert program.dismissals == 0
    loop.controller_comes()
    loop.robot_leaves()
    assert program.dismissals == 1 and loop.controller.transport is None


def test_a_program_that_ends_because_hilgw_was_late_may_start_again() -> None:
    loop, program = with_program()
    loop.controller_comes()
    loop.scheduler.time += 6_000 * MS
    loop.watchdog.check(loop.scheduler.time)
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
    assert last(loop).controller  # it runs, and will connect
    program.enter(ProgramState.DOWN, "the program ended with exit code 0; start hilgw again")
    assert not last(loop).controller
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
    assert not last(loop).controller
    loop.loop.arm()
    notice = "no controller runs: the program starts again once the body is up"
    assert loop.observer.notices == [notice]
    loop.robot_comes()
    loop.run(200)
    assert loop.observer.notices == [notice]
    program.enter(ProgramState.RUNNING, "")
    assert last(loop).controller


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
    notes = gateway.control_loops.notes("cab")
    gateway.close()
    assert notes == {"cab": f"no controller runs: {fix}"}
