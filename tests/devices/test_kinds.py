"""Kinds of devices, and the device table: by name, by index, in order."""

from __future__ import annotations

import pytest

from hilgw.devices.kinds import KINDS, Device, Devices
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
    assert [d.kind for d in devices.of_role("sensor")] == ["DistanceSensor"]
    assert [d.kind for d in devices.of_role("packets")] == ["Emitter", "Receiver"]
    assert [d.kind for d in devices.of_role("other")] == ["Camera"]
    shown = {d.kind: (d.value.name, d.value.unit) for d in devices if d.value}
    assert shown == {
        "DistanceSensor": ("value", ""),
        "LinearMotor": ("position", "m"),
        "RotationalMotor": ("velocity", "rad/s"),
    }
    units = [quantity.unit for quantity in KINDS["RotationalMotor"].settings]
    assert units == ["rad", "rad/s", "rad/s^2", "N m"]
