"""Modes of a robot: its controller has the simulated body, or the remote, real one.

Webots reference manual, wb_robot_set_mode: WB_MODE_SIMULATION and WB_MODE_REMOTE_CONTROL. Shadow is
hilgw's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hilgw.devices.kinds import Device


class RobotMode(StrEnum):
    """simulation: the body `body`; remote: the body `remote`.

    Shadow: `body`, while `remote` gets the same commands and is compared.
    """

    SIMULATION = "simulation"
    REMOTE = "remote"
    SHADOW = "shadow"


def differing(first: Iterable[Device], second: Iterable[Device]) -> list[str]:
    """Return the devices that have one name in both bodies and are not the same, in words.

    Another kind, or other units. first, second: of the simulated and the remote body.
    """
    others = {device.name: device for device in second}
    names = []
    for device in first:
        other = others.get(device.name)
        if other is None or is_same(device, other):
            continue
        if device.kind != other.kind:
            names.append(f"'{device.name}' is a {device.kind} and a {other.kind}")
        else:
            names.append(f"'{device.name}' reports {_units(device)} and {_units(other)}")
    return names


def is_same(device: Device, other: Device) -> bool:
    """Return whether a controller may read and command one in the place of the other."""
    return device.kind == other.kind and _units(device) == _units(other)


def of_one_only(devices: Iterable[Device], others: Iterable[Device]) -> list[str]:
    """Return the names of the devices that the other body does not have, in order."""
    names = {device.name for device in others}
    return [device.name for device in devices if device.name not in names]


def _units(device: Device) -> str:
    return ", ".join(quantity.unit or quantity.name for quantity in device.reports) or "nothing"
