"""Every kind of device through a loop, and devices that the body does not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks import wc2ec_robot, webots_simulator
from hilgw.bodies.webots import BODY
from hilgw.bodies.webots.settings import WebotsBodySettings
from hilgw.cli.main import main
from hilgw.control import events as control
from hilgw.control.events import (
    BrakeDamping,
    FeedbackSwitch,
    LedValue,
    MotorCommand,
    MotorFeedback,
    MotorPid,
    SensorValue,
    StopReason,
)
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import (
    AccelerometerFields,
    CompassFields,
    DeviceFields,
    DistanceSensorFields,
    GpsFields,
    GyroFields,
    InertialUnitFields,
    LedFields,
    LightSensorFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
)
from hilgw.engine.control_loop.bodies.renumbered import RenumberedSession
from hilgw.engine.control_loop.devices.registration import NAMES_SHOWN, absent_words
from hilgw.plugins import new_air
from tests.bodies.bench import commanded
from tests.engine.control_loop.fakes import ScriptedBody, ScriptedLoop

WHEEL = Device(name="wheel", kind="RotationalMotor", index=0)
GYRO = Device(name="gyro", kind="Gyro", index=1)
LED = Device(name="lamp", kind="LED", index=2)
BRAKE = Device(name="brake", kind="Brake", index=3)
GPS = Device(name="gps", kind="GPS", index=4)
ROBOT = (WHEEL, GYRO, LED, BRAKE, GPS)
FORWARD = MotorCommand(0, "velocity", 1.0)
POSITION = (1.0, 2.0, 3.0, 0.5, 0.1, 0.2, 0.3)


def test_a_vector_reaches_the_controller_as_it_is() -> None:
    run = ScriptedLoop(ROBOT)
    calls = run.body_reports(SensorValue(1, (0.1, 0.2, 0.3)), SensorValue(4, POSITION))
    assert calls == [("controller", "report", (1, (0.1, 0.2, 0.3)), (4, POSITION))]
    report = run.loop.report()
    assert report["sensors"]["gyro"] == {"x": 0.1, "y": 0.2, "z": 0.3}
    assert report["sensors"]["gps"]["speed_z"] == 0.3
    assert report["units"]["gyro"] == {"x": "rad/s", "y": "rad/s", "z": "rad/s"}
    assert report["units"]["gps"]["speed"] == "m/s"


def test_a_slow_controller_gets_the_newest_vector_and_feedback() -> None:
    run = ScriptedLoop(ROBOT)
    run.pilot.stalled = True
    run.pilot.write(b"waits")
    for number in (1.0, 2.0, 3.0):
        value = SensorValue(1, (number, 0.0, 0.0))
        assert run.body_reports(value, MotorFeedback(0, number)) == []
    run.calls.clear()
    run.pilot.accept()
    assert run.calls == [
        ("controller", "report", (1, (3.0, 0.0, 0.0))),
        ("controller", "feedback", 0, 3.0),
    ]
    assert run.loop.report()["values_superseded"] == 4


def test_gains_and_forces_pass_the_safety_as_motor_commands() -> None:
    run = ScriptedLoop(ROBOT)
    gains, torque = MotorPid(0, 5.0, 0.1, 0.0), MotorCommand(0, "torque", -2.0)
    assert run.controller_sends(gains, torque) == [
        ("body", "command", gains),
        ("body", "command", torque),
    ]
    assert run.loop.safety.state.moving
    assert run.loop.report()["motors"]["wheel"] == {"P": 5.0, "I": 0.1, "D": 0.0, "torque": -2.0}
    for wrong in (MotorPid(0, 0.0, 0.0, 0.0), MotorPid(0, 1.0, -1.0, 0.0)):
        assert run.controller_sends(wrong) == [("controller", "fault", 0)]
    assert run.controller_sends(MotorCommand(0, "force", 1.0)) == [
        ("body", "stop_motor", 0),
        ("controller", "fault", 0),
    ]
    assert run.loop.report()["refused"] == {"no_such_field": 1, "out_of_range": 2}


def test_a_force_that_could_not_be_stopped_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedBody, "stops_force", False)
    run = ScriptedLoop(ROBOT)
    assert run.controller_sends(MotorCommand(0, "torque", 1.0)) == [("controller", "fault", 0)]
    assert run.loop.report()["refused"] == {"no_stop": 1}
    assert not run.loop.safety.state.moving


def test_a_force_may_not_ignore_the_limits_of_motion() -> None:
    for limits in (MotorLimits(max_velocity=1), MotorLimits(max_position=1), MotorLimits(rate=1)):
        run = ScriptedLoop([Device(name="w", kind="RotationalMotor", index=0, limits=limits)])
        run.controller_sends(MotorCommand(0, "torque", 1.0))
        assert run.loop.report()["refused"] == {"beyond_limit": 1}
    run = ScriptedLoop(
        [Device(name="w", kind="RotationalMotor", index=0, limits=MotorLimits(max_force=2))]
    )
    for torque in (2.0, -2.0, 2.1, -2.1):
        run.controller_sends(MotorCommand(0, "torque", torque))
    assert run.loop.report()["refused"] == {"beyond_limit": 2}


def test_an_led_and_a_brake_move_no_motor() -> None:
    run = ScriptedLoop(ROBOT)
    light, hold = LedValue(2, 0xFF00FF), BrakeDamping(3, 4.0)
    assert run.controller_sends(light, hold) == [("body", "tune", light), ("body", "tune", hold)]
    assert not run.loop.safety.state.moving
    for wrong in (LedValue(2, 2**31), LedValue(0, 1), BrakeDamping(3, -1.0), BrakeDamping(2, 1.0)):
        assert run.controller_sends(wrong) == [("controller", "fault", wrong.index)]
    assert run.loop.report()["refused"] == {"no_such_field": 2, "out_of_range": 2}


def test_a_latched_stop_holds_brakes_and_leaves_leds() -> None:
    run = ScriptedLoop(ROBOT, latch=True)
    run.controller_sends(FORWARD)
    run.loop.safety.stop(StopReason.LATE, run.scheduler.now())
    assert run.controller_sends(BrakeDamping(3, 0.0)) == [("controller", "fault", 3)]
    assert run.controller_sends(LedValue(2, 1)) == [("body", "tune", LedValue(2, 1))]
    assert run.controller_sends(FORWARD) == [("controller", "fault", 0)]
    assert run.loop.report()["refused"] == {"latched": 2}


def test_feedback_ends_with_its_controller() -> None:
    run = ScriptedLoop(ROBOT)
    on = FeedbackSwitch(0, 32.0)
    assert run.controller_sends(on) == [("body", "tune", on)]
    assert run.body_reports(MotorFeedback(0, 1.5)) == [("controller", "feedback", 0, 1.5)]
    run.calls.clear()
    run.controller.detach()
    assert ("body", "tune", FeedbackSwitch(0, 0)) in run.calls


CONFIGURED: dict[str, DeviceFields] = {
    "bumper": TouchSensorFields(type="force-3d"),
    "wheel": RotationalMotorFields(maxVelocity=6.28),
    "gps": LedFields(),  # another node than the body's: another device
    "lamp": LedFields(model="red"),
}


def registered(run: ScriptedLoop) -> list[tuple[int, str, str]]:
    return [(each.index, each.name, each.kind) for each in run.controller_session.devices]


def test_a_controller_gets_the_devices_that_the_body_does_not_have() -> None:
    run = ScriptedLoop(ROBOT, CONFIGURED)
    assert registered(run)[5:] == [(5, "bumper", "TouchSensor"), (6, "gps", "LED")]
    devices = run.controller_session.devices
    assert devices.by_index(0).fields == CONFIGURED["wheel"]  # type: ignore[union-attr]
    assert devices.by_index(2).fields == CONFIGURED["lamp"]  # type: ignore[union-attr]
    assert devices.by_index(4).fields is None  # type: ignore[union-attr]
    assert run.controller_sends(LedValue(6, 1)) == [("controller", "fault", 6)]
    assert run.controller_sends(LedValue(2, 1)) == [("body", "tune", LedValue(2, 1))]


def test_without_a_body_all_devices_are_those_of_the_configuration() -> None:
    run = ScriptedLoop((), {"gps": GpsFields(), "wheel": RotationalMotorFields()}, body=False)
    assert registered(run) == [(0, "gps", "GPS"), (1, "wheel", "RotationalMotor")]
    assert run.controller_sends(MotorCommand(1, "velocity", 1.0)) == [("controller", "fault", 1)]
    assert run.loop.report()["refused"] == {"no_body": 1}


def test_a_body_that_returns_gets_the_same_indices() -> None:
    run = ScriptedLoop(ROBOT, CONFIGURED)
    before = registered(run)
    run.body.detach()
    run.controller.detach()
    run.connect(run.body)
    assert registered(run) == before


# --- a body's session in the indices of another body ----------------------------------------------


THIRD = Device(name="wheel", kind="RotationalMotor", index=3)
EYE = Device(name="eye", kind="DistanceSensor", index=5)
RADAR = Device(name="radar", kind="LightSensor", index=7)
NINTH = Device(name="lamp", kind="LED", index=9)
TABLE = {
    each.name: each
    for each in (
        Device(name="wheel", kind="RotationalMotor", index=0),
        Device(name="eye", kind="DistanceSensor", index=1),
        Device(name="lamp", kind="LED", index=4),
        Device(name="radar", kind="Gyro", index=6),
    )
}
NEAR = (0.0, 0.0, 1.0)


def renumbered() -> tuple[ScriptedBody, RenumberedSession, list[tuple[Any, ...]]]:
    """The wheel is 0 and the eye 1 in the table, whose radar is another kind of device."""
    calls: list[tuple[Any, ...]] = []
    body = ScriptedBody("body", calls, [THIRD, EYE, RADAR])
    session = RenumberedSession(body)
    session.open(0)
    session.renumber(TABLE)
    return body, session, calls


def test_events_have_the_indices_of_the_table() -> None:
    body, session, _ = renumbered()
    body.script(
        control.Connected("x"),
        control.Registered(THIRD),
        control.Registered(RADAR),
        control.SensorValue(5, 1.0),
        control.SensorValue(7, 1.0),
        control.MotorFeedback(3, 2.0),
        control.PacketIn(5, 1, 0.0, NEAR, b"p"),
        control.DeviceFault(5),
        control.HardwareFault(3),
        control.HardwareFault(7),
        control.StopSent(),
        control.RefusedRequest(7, "nan", "?"),
        control.Write(b"w"),
    )
    assert session.receive(b"?", 0) == [
        control.Connected("x"),
        control.Registered(Device(name="wheel", kind="RotationalMotor", index=0)),
        control.SensorValue(1, 1.0),
        control.MotorFeedback(0, 2.0),
        control.PacketIn(1, 1, 0.0, NEAR, b"p"),
        control.DeviceFault(1),
        control.HardwareFault(0),
        control.HardwareFault(
            None
        ),  # of a device that the controller does not know: it stops all the same
        control.StopSent(),
        control.RefusedRequest(None, "nan", "?"),
        control.Write(b"w"),
    ]


def test_requests_reach_the_body_in_its_own_indices() -> None:
    body, session, calls = renumbered()
    commanded(session, control.MotorCommand(0, "velocity", 1.0), 0)
    session.switch(1, 32.0, 0)
    session.send(control.PacketOut(1, 2, b"p"), 0)
    session.tune(control.LedValue(0, 1), 0)
    assert [call[1:] for call in calls] == [
        ("command", control.MotorCommand(3, "velocity", 1.0)),
        ("switch", 5, 32.0),
        ("send", control.PacketOut(5, 2, b"p")),
        ("tune", control.LedValue(3, 1)),
    ]
    assert session.can_stop(0, MotorMode.VELOCITY)
    calls.clear()
    plan = session.stop_motor(0, 0)
    assert calls == [("body", "stop_motor", 3)]
    assert plan is not None and plan.commands == (control.MotorCommand(0, "velocity", 0.0),)
    stop = session.stop(control.StopReason.LATE, 0)
    assert stop.commands == (control.MotorCommand(0, "velocity", 0.0),)
    body.hardware_faults = ["'wheel': overload"]
    assert session.faults() == ["'wheel': overload"]
    assert session.emergency() == b"stop "
    assert [(each.index, each.name) for each in session.devices] == [(0, "wheel"), (1, "eye")]


def test_a_device_that_the_body_does_not_have_is_refused() -> None:
    """Also where its own device of this index is another one."""
    body, session, calls = renumbered()
    for events in (
        commanded(session, control.MotorCommand(3, "velocity", 1.0), 0),
        session.send(control.PacketOut(7, 2, b"p"), 0),
        session.tune(control.LedValue(5, 1), 0),
    ):
        assert [type(event) for event in events] == [control.RefusedRequest]
    assert body.counts == {"refused_unknown_device": 3}
    assert session.switch(7, 32.0, 0) == []
    assert not session.can_stop(3, MotorMode.VELOCITY)
    assert calls == []


def test_its_own_indices_come_back() -> None:
    body, session, calls = renumbered()
    session.renumber(None)
    commanded(session, control.MotorCommand(3, "velocity", 1.0), 0)
    body.script(control.SensorValue(7, 1.0))
    assert session.receive(b"?", 0) == [control.SensorValue(7, 1.0)]
    assert calls[0][2].index == 3 and len(session.devices) == 3


def test_a_device_that_registers_late_is_known_then() -> None:
    body, session, _ = renumbered()
    body.devices.add(NINTH)
    body.script(control.Registered(NINTH))
    assert session.receive(b"?", 0) == [
        control.Registered(Device(name="lamp", kind="LED", index=4))
    ]
    assert session.tune(control.LedValue(4, 1), 0) == [control.Write(b"tune ")]


def test_devices_that_are_there_with_the_connection_are_known_then() -> None:
    body = ScriptedBody("body", [], [])
    session = RenumberedSession(body)
    body.devices.add(EYE)
    body.script(control.Connected("x"), control.SensorValue(5, 1.0))
    assert session.receive(b"?", 0) == [control.Connected("x"), control.SensorValue(5, 1.0)]
    assert list(session.devices) == [EYE]


FILE = """
version: 1
backend: mock
webots: R2025a
robots:
  rover:
    body: {{{body}, limits: {{left_weel: {{max_velocity: 5}}}}}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}
    devices:
      front: {{node: DistanceSensor}}
      tx: {{node: Emitter, type: radio}}
"""
WEBOTS = 'kind: webots, connect: "tcp://127.0.0.1:1235", robot: rover'
WC2EC = 'kind: wc2ec, connect: "tcp://127.0.0.1:1235"'


def test_one_line_names_them_and_what_there_is() -> None:
    assert absent_words([], ["ds"]) == ""
    assert absent_words(["ds_lef", "horn"], ["ds_left", "ds_right"]) == (
        "the body does not have 'ds_lef' (did you mean 'ds_left'?), 'horn'; known here: ds_left, "
        "ds_right"
    )
    many = [f"x{number}" for number in range(NAMES_SHOWN + 5)]
    assert " and 5 more; " in absent_words(many, ["ds"])


def output_of(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "absent.yaml"
    file.write_text(text)
    arguments = ["--speed", "max", "--duration", "3s", "--control", str(tmp_path / "control")]
    assert main(["-c", str(file), *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_they_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = WEBOTS + ", mock: {devices: 'left_wheel:RotationalMotor, ds:GPS'}"
    shown = output_of(FILE.format(body=body), tmp_path, capsys)
    line = (
        "rover the body does not have 'front', 'left_weel' (did you mean 'left_wheel'?); known "
        "here: ds, left_wheel"
    )
    assert shown.count(line) == 1


@pytest.mark.parametrize("body", [WEBOTS, WC2EC], ids=["webots", "wc2ec"])
def test_devices_of_a_mock(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So the sensors of an imported world have values."""
    shown = output_of(FILE.format(body=body), tmp_path, capsys)
    assert "'left_weel'" in shown and "'front'" not in shown
    assert "front " in shown.partition("the body does not have")[2]


LOOKUP = ((0.0, 7.0, 0.0), (0.5, 7.0, 0.0), (50.0, 7.5, 0.0))


@pytest.mark.parametrize("name", ["front", "ds_front"])
def test_the_sensors_of_a_mock_have_the_tables_of_the_file(name: str, tmp_path: Path) -> None:
    """A DistanceSensor is all that WC2EC carries of sensors."""
    table = "{node: DistanceSensor, lookupTable: [[0, 7, 0], [0.5, 7, 0], [50, 7.5, 0]]}"
    text = FILE.format(body=WC2EC).replace("front: {node: DistanceSensor}", f"{name}: {table}")
    file, report = tmp_path / "tables.yaml", tmp_path / "report.json"
    file.write_text(text)
    arguments = ["--speed", "max", "--duration", "2s", "--control", str(tmp_path / "control")]
    assert main(["-c", str(file), "--quiet", "--report", str(report), *arguments]) == 0
    sensors = json.loads(report.read_text())["control_loops"]["rover"]["sensors"]
    assert 7.0 <= sensors[name] < 7.5
    assert set(sensors) >= ({"ds_left", "ds_right"} if name == "ds_front" else set())


def test_the_mock_of_webots_takes_the_fields_of_the_file() -> None:
    given: dict[str, DeviceFields] = {
        "ds": DistanceSensorFields(lookupTable=LOOKUP),
        "light": LightSensorFields(lookupTable=LOOKUP),
        "force": TouchSensorFields(type="force-3d", lookupTable=LOOKUP),
        "bumper": TouchSensorFields(lookupTable=LOOKUP),
        "acceleration": AccelerometerFields(lookupTable=LOOKUP),
        "gyro": GyroFields(lookupTable=LOOKUP),
        "compass": CompassFields(lookupTable=LOOKUP),
        "gps": GpsFields(),
        "imu": InertialUnitFields(),
        "arm": RotationalMotorFields(minPosition=-1, maxPosition=2, maxVelocity=3, maxTorque=4),
        "encoder": PositionSensorFields(),
    }
    settings = WebotsBodySettings(connect="tcp://127.0.0.1:1", robot="r")
    parameters = BODY.mocked_devices(settings, given)
    simulator = webots_simulator.create("webots", new_air(), parameters)
    devices: dict[str, Any] = {
        each.name: each for each in simulator.world.robots["robot"].robot.devices
    }
    arm = devices["arm"]
    assert (arm.low, arm.high, arm.fastest, arm.available) == (-1, 2, 3, 4)
    tables = ("ds", "light", "force", "acceleration", "gyro", "compass")
    assert all(7.0 <= each < 7.6 for name in tables for each in devices[name].value())
    assert (len(devices["force"].value()), devices["bumper"].value()) == (3, (0.0,))
    assert len(devices["gps"].value()) == 7 and devices["encoder"].value() == (0.0,)
    usual = BODY.mocked_devices(settings, {"ds_front": DistanceSensorFields()})
    assert usual == {}  # the mock has it by itself
    more = BODY.mocked_devices(settings, {"ds_front": DistanceSensorFields(lookupTable=LOOKUP)})
    assert {"left_wheel", "right_wheel", "ds_front"} <= set(more["devices"])


@pytest.mark.parametrize("table", ["1 2", [[0, 0]], [[1, 0, 0], [1, 1, 0]], 5, [["x", 0, 0]]])
@pytest.mark.parametrize("mock", [webots_simulator, wc2ec_robot])
def test_a_table_that_is_none_is_named(mock: Any, table: Any) -> None:
    devices = {"ds": {"type_name": "DistanceSensor", "lookupTable": table}}
    with pytest.raises(ValueError, match=r"^devices: ds: lookupTable: "):
        mock.create("m", new_air(), {"devices": devices})
