"""A body whose first positions lie outside its limits is not armed, and named."""

from dataclasses import replace
from typing import Any

import pytest

from hilgw.bodies.dynamixel import DynamixelSettings
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.config.load import load_text
from hilgw.control.events import MotorCommand, SensorValue
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import PositionSensorFields, RotationalMotorFields
from hilgw.errors import SafetyError
from hilgw.testing.sim import Recorder, until
from tests.bodies.kinds import shipped
from tests.engine.control_loop.on_mocks import OnMock
from tests.engine.control_loop.scripted import ScriptedBody, ScriptedLoop
from tests.engine.gateways import running

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


REAL = """version: 1
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
    config = load_text(REAL.format(port=servos.port, low=low), "f").config
    async with running(config, log) as gateway:
        if low < 0:
            await until(lambda: log.armings)
        else:
            await until(lambda: any("not armed: 'arm motor' is at 0" in x for x in log.notices))
            with pytest.raises(SafetyError, match=r"below min_position, 0\.1"):
                gateway.control_loops.arm("arm")
    assert [armed for armed, _ in log.armings] == ([True] if low < 0 else [])
    assert not servos.mock.servos[1].torque
