"""Kinds of devices, and the device table: by name, by index, in order."""

from __future__ import annotations

import math

import pytest

from hilgw.devices.kinds import KINDS, Device, Devices, couplings, on_joint
from hilgw.devices.properties import (
    FIELDS,
    DistanceSensorFields,
    GpsFields,
    LinearMotorFields,
    NodeFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
    node_of,
)
from hilgw.errors import ConfigError


def test_devices_are_found_by_index_and_name_and_come_in_order() -> None:
    devices = Devices()
    for index, name in ((5, "b"), (0, "a"), (3, "b"), (254, "c")):
        devices.add(Device(name=name, kind="DistanceSensor", index=index))
    assert [device.index for device in devices] == [0, 3, 5, 254]
    assert devices.by_index(3).name == "b"  # type: ignore[union-attr]
    assert devices.by_name("b").index == 5  # type: ignore[union-attr]  # the first to come
    assert devices.by_index(4) is None and devices.by_name("d") is None
    assert 254 in devices and 1 not in devices and len(devices) == 4
    with pytest.raises(ConfigError, match="taken by 'a'"):
        devices.add(Device(name="z", kind="LED", index=0))
    devices.clear()
    assert not list(devices) and devices.by_name("a") is None


def test_roles_and_units() -> None:
    devices = Devices()
    for index, kind in enumerate((*KINDS, "Camera")):
        devices.add(Device(name=kind, kind=kind, index=index))
    assert [d.kind for d in devices.of_role("motor")] == ["LinearMotor", "RotationalMotor"]
    assert [d.kind for d in devices.of_role("packets")] == ["Emitter", "Receiver"]
    assert [d.kind for d in devices.of_role("indicator")] == ["LED"]
    assert [d.kind for d in devices.of_role("brake")] == ["Brake"]
    assert [d.kind for d in devices.of_role("other")] == ["Camera"]
    assert len(devices.of_role("sensor")) == 9
    units = [quantity.unit for quantity in KINDS["RotationalMotor"].settings]
    assert units == ["rad", "rad/s", "rad/s^2", "N m"]


def shape(kind: str, fields: NodeFields | None = None) -> str:
    """Names and units of a device's value."""
    device = Device(name="d", kind=kind, index=0, fields=fields)
    return ", ".join(f"{each.name} {each.unit}".strip() for each in device.reports)


def test_every_value_has_names_and_units() -> None:
    vector = "x {0}, y {0}, z {0}"
    speed = "speed m/s, speed_x m/s, speed_y m/s, speed_z m/s"
    assert {kind: shape(kind) for kind in (*KINDS, "Camera") if shape(kind)} == {
        "DistanceSensor": "value",
        "PositionSensor": "value rad",
        "LightSensor": "value",
        "TouchSensor": "value",
        "Accelerometer": vector.format("m/s^2"),
        "Gyro": vector.format("rad/s"),
        "Compass": "x, y, z",
        "GPS": f"{vector.format('m')}, {speed}",
        "InertialUnit": "x, y, z, w",
        "LinearMotor": "position m",
        "RotationalMotor": "velocity rad/s",
    }
    assert shape("PositionSensor", PositionSensorFields(type="linear")) == "value m"
    assert shape("TouchSensor", TouchSensorFields(type="force")) == "value N"
    assert shape("TouchSensor", TouchSensorFields(type="force-3d")) == vector.format("N")
    earth = "latitude deg, longitude deg, altitude m"
    assert shape("GPS", GpsFields(gpsCoordinateSystem="WGS84")) == f"{earth}, {speed}"


def test_fields_are_those_of_webots() -> None:
    assert set(FIELDS) == set(KINDS)
    sensor = DistanceSensorFields(lookupTable=((0.0, 1000.0, 0.0), (0.3, 50.0, 0.1)))
    assert (sensor.minValue, sensor.maxValue) == (50.0, 1000.0)
    assert (DistanceSensorFields().minValue, DistanceSensorFields().maxValue) == (0.0, 1000.0)
    assert DistanceSensorFields(lookupTable=()).maxValue == math.inf
    motor = RotationalMotorFields(maxVelocity=6.28, position=0.5, maxTorque=2.0)
    assert (motor.targetPosition, motor.targetVelocity, motor.maxForceOrTorque) == (0.5, 6.28, 2.0)
    assert LinearMotorFields().maxForceOrTorque == 10.0
    assert {node_of(fields()) for fields in FIELDS.values()} == set(FIELDS)


def test_coupled_motors_share_a_name_and_devices_a_joint() -> None:
    def named(index: int, name: str, kind: str, fields: NodeFields | None = None) -> Device:
        return Device(name=name, kind=kind, index=index, fields=fields)

    devices = [
        named(0, "arm::a", "RotationalMotor", RotationalMotorFields(joint="elbow")),
        named(1, "arm::b", "RotationalMotor"),
        named(2, "arms::c", "RotationalMotor"),
        named(3, "arm", "LinearMotor"),
        named(4, "angle", "PositionSensor", PositionSensorFields(joint="elbow")),
        named(5, "free", "PositionSensor"),
    ]
    assert [each.index for each in couplings(devices, devices[0])] == [1]
    assert couplings(devices, devices[2]) == couplings(devices, devices[3]) == []
    assert on_joint(devices, devices[0], "PositionSensor") is devices[4]
    assert on_joint(devices, devices[4], "RotationalMotor") is devices[0]
    assert on_joint(devices, devices[0], "Brake") is None
    assert on_joint(devices, devices[5], "RotationalMotor") is None
