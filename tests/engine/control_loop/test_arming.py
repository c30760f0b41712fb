"""A real robot is armed only while its body is up and its positions are within the limits."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.bodies.dynamixel import DynamixelSettings
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.client import Gateway as Client
from hilgw.client.arming import arm
from hilgw.client.holding import take
from hilgw.config.load import load_config, load_text
from hilgw.config.model import armed
from hilgw.control.events import MotorCommand, SensorValue
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import PositionSensorFields, RotationalMotorFields
from hilgw.engine.control_loop.control_loops import ARM_S
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import State
from hilgw.errors import HilgwError, PeerError, SafetyError
from hilgw.testing.sim import Recorder, until
from hilgw.units import NS_PER_S
from tests.bodies.bench import shipped
from tests.e2e.control_loop_peers import sensor_data
from tests.engine.control_loop.fakes import ScriptedBody, ScriptedLoop
from tests.engine.control_loop.on_mocks import OnMock
from tests.engine.control_loop.running import GO, RunningLoop, driving, robot_of
from tests.engine.fakes import running
from tests.scenarios import scenario_of

REAL = "simulated: false"
ARMED = "    safety: {armed: true}"


def state(running: RunningLoop) -> bool:
    return bool(running.report()["armed"])


class ArmOption(RunningLoop):
    """As with `--arm`."""

    async def _build(self, file: str) -> Any:
        config = armed(load_config(file).config)
        gateway = build(config, self.loop, self.log, timer=self.clock)
        gateway.control_loops.arm_within_s = ARM_S
        return gateway


@pytest.mark.parametrize("after_s", [0.0, 9.0])
def test_arm_at_the_start_arms_at_the_first_coming_up(tmp_path: Path, after_s: float) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.advance(after_s)
        running.gateway.control_loops.arm_held()  # as the switch does, once it is read
        assert not state(running)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert state(running)
        driving(running)
        running.gateway.control_loops.disarm("cab")
        running.advance(10.0)
        assert not any("--arm" in text for text in running.log.notices)


def test_it_arms_not_later_and_reports_it(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.advance(ARM_S + 0.1)
        text = "--arm: not armed, as its body was not up within 10 s of the start; `hilgw arm cab`"
        assert any(each.startswith(text) for each in running.log.notices)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        controller = running.controller()
        controller.send(GO)
        running.advance(1.0)
        assert not state(running) and GO not in robot_of(running).poll()


def test_it_arms_at_the_first_coming_up_alone(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL) as running:
        assert state(running)
        robot_of(running).finish()
        running.until(lambda: not state(running))
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        assert not state(running)


def test_who_is_disarmed_before_it_is_up_stays_disarmed(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.gateway.control_loops.disarm("cab")
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert not state(running)


def test_a_file_that_arms_has_no_such_limit(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, ARMED, body=REAL, away=True) as running:
        running.advance(60.0)
        assert not state(running)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert state(running)


def test_a_file_that_arms_waits_for_the_guardian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunningLoop(tmp_path, ARMED, body=REAL, away=True) as running:
        guardian = running.gateway.control_loops.watchdog.guardian
        monkeypatch.setattr(guardian, "confirmed", lambda: False)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        running.advance(1.0)
        assert not state(running)
        monkeypatch.setattr(guardian, "confirmed", lambda: True)
        running.robot.send(sensor_data(0, 1.0))  # the robot is there
        running.until(lambda: state(running))


def test_a_motor_that_no_robot_has_cannot_be_accepted(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, body=REAL) as running:
        with pytest.raises(HilgwError, match="no motor 'lfet'; did you mean 'left'"):
            running.gateway.control_loops.arm("cab", accepted=["lfet"])
        assert not state(running)
        running.gateway.control_loops.arm("cab", accepted=["left"])
        assert state(running)


def test_simulated_bodies_are_armed_from_the_start(tmp_path: Path) -> None:
    with ArmOption(tmp_path, away=True) as running:
        assert state(running)
        running.gateway.control_loops.disarm("cab")
        running.gateway.control_loops.arm("cab")
        assert state(running)


TWO = """
version: 1
webots: R2020a
robots:
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:PORT", simulated: false}}
  bus: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", simulated: false}}
"""


def with_two(script: Callable[[Any, str], Any], *, tmp_path: Path) -> None:
    """A gateway that runs, with a robot that is up and another that is down. script: gets it, and
    the path of its control socket."""
    path = str(tmp_path / "control")

    async def run(port: int) -> None:
        config = load_text(TWO.replace("PORT", str(port)), "f").config
        async with running(config, Recorder()) as gateway:
            server = ControlServer(gateway, path)
            await server.start()
            try:
                await until(lambda: gateway.supervisors["bus.body"].state is State.WAITING)
                await until(lambda: gateway.supervisors["cab.body"].state is State.UP)
                await script(gateway, path)
            finally:
                await server.close()

    with socket.create_server(("127.0.0.1", 0)) as robot:  # a connection is all that it takes
        asyncio.run(run(robot.getsockname()[1]))


def armed_in(gateway: Any) -> set[str]:
    loops = gateway.control_loops
    return {name for name in loops if loops[name].safety.state.armed}


WAYS: dict[str, Callable[[str], Any]] = {
    "arm": lambda path: arm("bus", control=path),
    "both": lambda path: arm("cab", "bus", control=path),
    "Gateway.arm": lambda path: Client(Path(path)).arm("bus"),
    "hold": lambda path: take(("cab", "bus"), None, path, None),
}


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
@scenario_of(with_two)
async def test_a_robot_whose_body_is_down_is_refused(
    gateway: Any, path: str, /, ask: Callable[[str], Any]
) -> None:
    with pytest.raises(HilgwError, match="bus: not armed: its body is down") as caught:
        await asyncio.to_thread(ask, path)
    assert caught.value.exit_code == 5 and armed_in(gateway) == set()


@scenario_of(with_two)
async def test_all_arms_those_that_are_up_and_names_the_others(gateway: Any, path: str, /) -> None:
    with pytest.raises(PeerError, match="bus: not armed: its body is down"):
        await asyncio.to_thread(arm, control=path)
    assert armed_in(gateway) == {"cab"}
    gateway.control_loops.disarm("cab")
    answer = await asyncio.to_thread(Client(Path(path)).arm)
    assert (answer.robots, answer.down) == (["cab"], ["bus"])


@scenario_of(with_two)
async def test_all_that_are_up_are_held_and_the_others_are_named(
    gateway: Any, path: str, /, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilgw.engine.arming.leases.LEASE_NS", 3600 * NS_PER_S)
    (held,) = await asyncio.to_thread(take, (), None, path, None)
    with contextlib.closing(held):
        assert armed_in(gateway) == {"cab"} == set(held.robots)
        (error,) = held.errors
        assert (str(error), error.exit_code) == ("bus: not armed: its body is down; connect it", 5)
    await until(lambda: armed_in(gateway) == set())


@scenario_of(with_two)
async def test_in_a_handshake_it_waits_and_a_disarm_counts(gateway: Any, path: str, /) -> None:
    port, loops = gateway.supervisors["bus.body"], gateway.control_loops
    port.state = State.HANDSHAKE
    asked = asyncio.create_task(asyncio.to_thread(arm, "bus", control=path))
    await asyncio.sleep(0.2)
    assert not asked.done() and armed_in(gateway) == set()
    loops.disarm("bus")
    port.state = State.UP
    with pytest.raises(HilgwError, match="disarmed meanwhile"):
        await asked
    assert armed_in(gateway) == set()
    port.state = State.HANDSHAKE
    asked = asyncio.create_task(asyncio.to_thread(arm, "bus", control=path))
    await asyncio.sleep(0.2)
    port.state = State.UP
    assert await asked == ["bus"]


@scenario_of(with_two)
async def test_no_motor_is_armed_before_the_guardian_has_answered(
    gateway: Any, path: str, /, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian = gateway.control_loops.watchdog.guardian
    monkeypatch.setattr(guardian, "confirmed", lambda: False)
    with pytest.raises(SafetyError, match="the guardian has not answered yet"):
        gateway.control_loops.arm("cab")
    asked = asyncio.create_task(asyncio.to_thread(arm, "cab", control=path))
    await asyncio.sleep(0.2)
    assert not asked.done() and armed_in(gateway) == set()
    monkeypatch.setattr(guardian, "confirmed", lambda: True)
    assert await asked == ["cab"]


LIMITS = MotorLimits(min_position=-1.0, max_position=0.5)
MOTOR, SENSOR, SLIDE = 0, 1, 2
FIELDS = {
    "elbow": RotationalMotorFields(joint="elbow"),
    "elbow sensor": PositionSensorFields(joint="elbow"),
}
BARE = (
    Device(name="elbow", kind="RotationalMotor", index=MOTOR, limits=LIMITS),
    Device(name="elbow sensor", kind="PositionSensor", index=SENSOR),
)
ROBOT = tuple(replace(each, fields=FIELDS[each.name]) for each in BARE)
LINEAR = (Device(name="slide", kind="LinearMotor", index=SLIDE, limits=LIMITS),)
MOVE = MotorCommand(MOTOR, "position", 0.1)


def refusal(run: ScriptedLoop) -> str:
    with pytest.raises(SafetyError) as error:
        run.loop.arm()
    return error.value.what


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (0.7, "'elbow' is at 0.7 rad, above max_position, 0.5"),
        (-1.1, "'elbow' is at -1.1 rad, below min_position, -1"),
        (float("nan"), "'elbow' is at nan rad, above max_position, 0.5"),
    ],
)
def test_a_first_position_outside_disarms_and_is_named(position: float, words: str) -> None:
    run = ScriptedLoop(ROBOT)
    assert run.loop.safety.state.armed
    run.body_reports(SensorValue(SENSOR, position))
    assert not run.loop.safety.state.armed
    assert f"not armed: {words}" in run.observer.notices
    assert run.controller_sends(MOVE) == [("controller", "fault", MOTOR)]
    assert refusal(run) == f"not armed: {words}"


def test_the_latest_position_counts_until_it_is_within() -> None:
    """Moved by hand into its limits it may be armed, and what it does then is its own."""
    run = ScriptedLoop(ROBOT)
    for position in (0.7, 0.6):
        run.body_reports(SensorValue(SENSOR, position))
    assert "is at 0.6 rad" in refusal(run)
    assert sum("not armed" in text for text in run.observer.notices) == 1
    run.body_reports(SensorValue(SENSOR, 0.4))
    run.loop.arm()
    assert run.controller_sends(MOVE) == [("body", "command", MOVE)]
    run.body_reports(SensorValue(SENSOR, 0.7))  # no first position any more
    assert run.loop.safety.state.armed


@pytest.mark.parametrize("position", [0.5, 0.509, -1.009])
def test_a_motor_that_rests_at_its_limit_is_armed(position: float) -> None:
    run = ScriptedLoop(ROBOT)
    run.body_reports(SensorValue(SENSOR, position))
    assert run.loop.safety.state.armed


def test_each_connection_has_its_first_positions() -> None:
    run = ScriptedLoop(ROBOT, latch=False)
    run.body_reports(SensorValue(SENSOR, 0.1))
    run.body.detach()
    run.connect(run.body)
    run.body_reports(SensorValue(SENSOR, 0.7))
    assert not run.loop.safety.state.armed


def test_the_joints_of_the_file_count() -> None:
    run = ScriptedLoop(BARE, FIELDS)
    run.body_reports(SensorValue(SENSOR, 0.7))
    assert not run.loop.safety.state.armed
    without = ScriptedLoop(BARE)  # no sensor belongs to this motor
    without.body_reports(SensorValue(SENSOR, 0.7))
    assert without.loop.safety.state.armed


def test_a_linear_motor_reports_its_own_position() -> None:
    run = ScriptedLoop(LINEAR)
    run.body_reports(SensorValue(SLIDE, 0.5006))
    assert not run.loop.safety.state.armed
    assert refusal(run) == "not armed: 'slide' is at 0.5006 m, above max_position, 0.5"


def test_a_remote_body_that_follows_is_disarmed_alone() -> None:
    run = ScriptedLoop(ROBOT, remote=ROBOT, mode=RobotMode.SHADOW)
    first, second = run.loop.safeties
    run.body_reports(SensorValue(SENSOR, 0.1))
    run.remote_reports(SensorValue(SENSOR, 0.7))
    assert first.state.armed and not second.state.armed
    assert "'elbow' is at 0.7 rad" in refusal(run)


def test_the_sensors_that_have_to_report_are_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the robot are off until somebody asks for them."""
    monkeypatch.setattr(ScriptedBody, "own_period", lambda self, index: 0.0)
    run = ScriptedLoop((*ROBOT, Device(name="eye", kind="DistanceSensor", index=3)))
    assert [call for call in run.calls if call[1] == "switch"] == [("body", "switch", SENSOR, None)]


def dynamixel(low: float) -> Any:
    limits = {"arm motor": MotorLimits(min_position=low, max_position=2.0)}
    servos = {"arm motor": ServoSettings(id=1)}
    return DynamixelSettings(port="/dev/x", motors=servos, limits=limits)


def machine(low: float) -> Any:
    settings = shipped("gcode")
    limits = settings.limits | {"x motor": MotorLimits(min_position=low, max_position=2.0)}
    return replace(settings, limits=limits)


@pytest.mark.parametrize(("kind", "settings"), [("dynamixel", dynamixel), ("text", machine)])
def test_each_kind_reports_its_first_positions_by_itself(kind: str, settings: Any) -> None:
    inside = OnMock(kind, settings(-0.1)).start()
    assert inside.loop.safety.armed
    outside = OnMock(kind, settings(0.1)).start()
    assert not outside.loop.safety.armed
    (notice,) = [text for text in outside.loop.observer.notices if "not armed" in text]
    assert "is at 0 " in notice and "below min_position, 0.1" in notice
    outside.command(0.5)
    outside.run(300)
    assert outside.mock.describe() == inside.mock.describe()  # with the place of each axis


SERVOS = """version: 1
backend: real
guardian_ms: 10000
medium: {{step_ms: 32}}
robots:
  arm:
    body:
      kind: dynamixel
      port: {port}
      baudRate: 57600
      motors: {{arm motor: {{id: 1}}}}
      limits: {{arm motor: {{min_position: {low}, max_position: 2}}}}
    safety: {{armed: true, late_s: 20}}
"""


@pytest.mark.process
@pytest.mark.wall_clock("a real body on a virtual port, with its guardian")
@pytest.mark.parametrize("low", [-0.1, 0.1])
async def test_a_body_is_armed_once_its_positions_are_known(firmware_mock: Any, low: float) -> None:
    servos = firmware_mock("dynamixel", ids="1")
    log = Recorder()
    config = load_text(SERVOS.format(port=servos.port, low=low), "f").config
    async with running(config, log) as gateway:
        if low < 0:
            await until(lambda: log.armings)
        else:
            await until(lambda: any("not armed: 'arm motor' is at 0" in x for x in log.notices))
            with pytest.raises(SafetyError, match=r"below min_position, 0\.1"):
                gateway.control_loops.arm("arm")
    assert [armed for armed, _ in log.armings] == ([True] if low < 0 else [])
    assert not servos.mock.servos[1].torque
