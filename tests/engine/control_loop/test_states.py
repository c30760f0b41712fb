"""`Gateway.states`: how everything is now, for one who looks later, and since when."""

from pathlib import Path
from typing import Any

from hilgw.cli.output.live_table import LiveTable
from hilgw.cli.output.text import Style
from hilgw.control.events import MotorCommand, SensorValue
from hilgw.control.modes import RobotMode
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import CommandEvent, ValueEvent
from hilgw.events.kinds import Armed, Cell, Command, Port, Stopped, Value, cell_of
from hilgw.protocols.gateway.messages import keys_of
from tests.e2e.control_loop_peers import sensor_data
from tests.engine.control_loop.running import STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.scripted import ScriptedLoop
from tests.engine.control_loop.test_modes import FORWARD, REAL, SIMULATED


def of(gateway: Gateway, kind: type[Any], name: str) -> Any:
    """The only state of this kind and name."""
    (found,) = (each for each in gateway.states() if type(each) is kind and name in cell_of(each))
    return found


def table_of(states: list[Cell], now: int) -> LiveTable:
    """What `hilgw watch` shows of these states and of nothing else."""
    table = LiveTable("hilgw watch", Style(on=False), ("-", "o"), "EVENTS")
    for each in states:
        kind = type(each).__name__.lower()
        times = {"mono_ns": each.since_ns, "time_ns": each.since_ns, "wall_s": 0.0}
        table.take({"event": kind, **times, **keys_of(each)})
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


def test_each_body_has_its_commands_and_its_values() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(RobotMode.SHADOW)
    run.controller_sends(FORWARD)
    run.body_reports(SensorValue(1, 7.0))
    run.remote_reports(SensorValue(1, 6.0))
    found = list(run.loop.newest())
    commands = [each for each in found if isinstance(each, CommandEvent)]
    assert [(each.body, each.device, each.applied) for each in commands] == [
        ("body", "wheel", {"velocity": 1.0}),
        ("remote", "wheel", {"velocity": 1.0}),
    ]
    values = [each for each in found if isinstance(each, ValueEvent)]
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
