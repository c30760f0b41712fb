"""Devices that the configuration names and the body does not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks import wc2ec_robot, webots_simulator
from hilgw.bodies.webots import BODY
from hilgw.bodies.webots.settings import WebotsBodySettings
from hilgw.cli.main import main
from hilgw.devices.properties import (
    AccelerometerFields,
    CompassFields,
    DeviceFields,
    DistanceSensorFields,
    GpsFields,
    GyroFields,
    InertialUnitFields,
    LightSensorFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
)
from hilgw.engine.control_loop.devices.registration import NAMES_SHOWN, absent_words
from hilgw.plugins import new_air

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


TABLE = ((0.0, 7.0, 0.0), (0.5, 7.0, 0.0), (50.0, 7.5, 0.0))


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
        "ds": DistanceSensorFields(lookupTable=TABLE),
        "light": LightSensorFields(lookupTable=TABLE),
        "force": TouchSensorFields(type="force-3d", lookupTable=TABLE),
        "bumper": TouchSensorFields(lookupTable=TABLE),
        "acceleration": AccelerometerFields(lookupTable=TABLE),
        "gyro": GyroFields(lookupTable=TABLE),
        "compass": CompassFields(lookupTable=TABLE),
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
    more = BODY.mocked_devices(settings, {"ds_front": DistanceSensorFields(lookupTable=TABLE)})
    assert {"left_wheel", "right_wheel", "ds_front"} <= set(more["devices"])


@pytest.mark.parametrize("table", ["1 2", [[0, 0]], [[1, 0, 0], [1, 1, 0]], 5, [["x", 0, 0]]])
@pytest.mark.parametrize("mock", [webots_simulator, wc2ec_robot])
def test_a_table_that_is_none_is_named(mock: Any, table: Any) -> None:
    devices = {"ds": {"type_name": "DistanceSensor", "lookupTable": table}}
    with pytest.raises(ValueError, match=r"^devices: ds: lookupTable: "):
        mock.create("m", new_air(), {"devices": devices})
