"""A robot that is not armed: its motors stand still, everything else works."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.config.model import armed
from hilgw.control.events import BrakeDamping, LedValue, MotorCommand
from hilgw.devices.kinds import Device
from hilgw.engine.observer import Observer, State
from tests.e2e.control_loop_peers import ROTATIONAL, sensor_data, set_value
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.control_loop.running import GO, STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.scripted import ScriptedLoop

CONFIGS = Path(__file__).parents[3] / "configs"
REAL = "simulated: false"
ROBOT = (
    Device(name="wheel", kind="RotationalMotor", index=0),
    Device(name="lamp", kind="LED", index=2),
    Device(name="brake", kind="Brake", index=3),
)


# --- at the start ---------------------------------------------------------------------------------


def started(file: str, backend: str, *, arm: bool = False) -> dict[str, tuple[bool, bool, bool]]:
    """Of each robot with a motor: whether it is armed, whether it latches, and whether the start
    shows how to arm it."""

    async def look() -> dict[str, tuple[bool, bool, bool]]:
        config = load_config(file, [], backend).config
        config = armed(config) if arm else config
        gateway = build(config, asyncio.get_running_loop(), Observer())
        gateway.close()
        found = {}
        for name in gateway.control_loops.names():
            state = gateway.control_loops[name].safety.state
            first, shown = state.armed, any(f"hilgw arm {name}" in s for s in gateway.description)
            state.arm()
            state.command(0)
            state.stop("late")  # type: ignore[arg-type]
            found[name] = first, state.latched is not None, shown
        return found

    return asyncio.run(look())


@pytest.mark.parametrize("name", ["create2", "dynamixel"])
def test_a_shipped_robot_is_armed_on_its_mock_and_not_armed_when_real(name: str) -> None:
    file = str(CONFIGS / f"{name}.yaml")
    assert list(started(file, "mock").values()) == [(True, False, False)]
    assert list(started(file, "loopback").values()) == [(True, False, False)]
    assert list(started(file, "real").values()) == [(False, True, True)]
    assert list(started(file, "real", arm=True).values()) == [(True, True, False)]


@pytest.mark.parametrize(
    "name", ["wc2ec", "firmware-in-the-loop", "webots", "webots-controller", "python-controller"]
)
def test_configurations_of_simulated_robots_keep_their_behaviour(name: str) -> None:
    for backend in ("mock", "real"):
        assert list(started(str(CONFIGS / f"{name}.yaml"), backend).values()) == [
            (True, False, False)
        ]


# --- a robot that is not armed --------------------------------------------------------------------


def test_its_motors_stand_still_until_it_is_armed_and_one_line_shows_how() -> None:
    loop = FakeLoop(armed=False)
    loop.loop.start()
    loop.robot_comes()
    loop.controller_comes()
    for _ in range(5):
        loop.controller.data_received(GO)
    assert loop.robot.data() == b""
    assert loop.loop.report()["refused"] == {"disarmed": 5}
    assert loop.pilot.data().count(wire.bare(wire.ERROR, ROTATIONAL, 1)) == 5
    assert [text for _, _, text in loop.observer.refusals] == [
        "the robot is not armed; `hilgw arm cab` lets the motors move"
    ]
    loop.body.data_received(sensor_data(0, 1.5))
    assert sensor_data(0, 1.5) in loop.pilot.data()
    loop.run(1_000)
    assert [status.armed for status in loop.observer.statuses] == [False]
    assert not loop.loop.report()["armed"] and loop.loop.report()["latched"] is None
    loop.loop.safety.arm()
    loop.controller.data_received(GO)
    assert loop.robot.data() == GO
    assert loop.observer.armings == [(True, "armed: its motors may move")]
    assert loop.loop.report()["armed"]


def test_its_leds_work_and_its_brakes_hold() -> None:
    run = ScriptedLoop(ROBOT, armed=False)
    light = LedValue(2, 1)
    assert run.controller_sends(light) == [("body", "tune", light)]
    assert run.controller_sends(BrakeDamping(3, 0.0)) == [("controller", "fault", 3)]
    assert run.controller_sends(MotorCommand(0, "velocity", 1.0)) == [("controller", "fault", 0)]
    assert run.loop.report()["refused"] == {"disarmed": 2}


def test_a_robot_that_was_never_armed_has_no_latched_stop(tmp_path: Path) -> None:
    """No SafetyError at the end: exit code 7 is for a stop that is latched."""
    with RunningLoop(tmp_path, body=REAL) as running:
        controller = running.controller()
        controller.send(GO)
        controller.wait_for(wire.bare(wire.ERROR, ROTATIONAL, 1))
        controller.finish()
        assert running.stops() == {}
        assert running.report()["latched"] is None


# --- disarmed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [False, True])
def test_a_real_body_that_comes_back_stays_disarmed(tmp_path: Path, moves: bool) -> None:
    with RunningLoop(tmp_path, body=REAL) as running:
        running.gateway.control_loops.arm("cab")
        if moves:
            driving(running)
        robot_of(running).finish()
        running.until(lambda: not running.report()["armed"])
        assert running.report()["latched"] == ("body" if moves else None)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        controller = running.controller()
        controller.send(GO)
        controller.wait_for(wire.bare(wire.ERROR, ROTATIONAL, 1))
        running.advance(1.0)
        assert robot_of(running).poll() == b""
        running.gateway.control_loops.arm("cab")
        controller.send(GO)
        robot_of(running).wait_for(GO)
        running.end()  # an orderly end latches nothing


def test_an_armed_robot_that_has_not_been_up_yet_stays_armed(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, body=REAL, robot=False) as running:
        running.gateway.control_loops.arm("cab")
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        driving(running)
        running.end()


def test_disarming_stops_the_motors_and_keeps_the_controller(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        running.gateway.control_loops.disarm("cab")
        robot_of(running).wait_for(STOP)
        controller.send(set_value(1, 9.0))
        controller.wait_for(wire.bare(wire.ERROR, ROTATIONAL, 1))
        running.gateway.control_loops.disarm("cab")
        assert running.stops() == {"disarmed": 1}
        assert running.report()["refused"] == {"disarmed": 1}
        assert running.report()["latched"] is None
        running.gateway.control_loops.arm("cab")
        controller.send(GO)
        robot_of(running).wait_for(GO)
        assert robot_of(running).received == b""


def test_a_latched_stop_is_still_latched_when_the_robot_is_disarmed() -> None:
    loop = FakeLoop(latch=True)
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(GO)
    loop.controller_leaves()
    loop.loop.safety.disarm(loop.scheduler.now())
    assert loop.safety.latched == "disconnected"
    assert loop.observer.armings == [(False, "")]  # the stop had the words
    loop.loop.safety.arm()
    assert loop.safety.latched is None
    loop.loop.safety.disarm(loop.scheduler.now())
    assert loop.observer.armings[1:] == [
        (True, "armed: its motors may move"),
        (False, "disarmed until `hilgw arm cab`"),
    ]
