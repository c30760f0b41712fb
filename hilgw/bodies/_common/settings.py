"""Settings and devices of a robot on a serial line whose devices the configuration declares."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hilgw.control.parts import OnLine
from hilgw.devices.kinds import NO_LIMITS, Device, MotorLimits
from hilgw.devices.properties import DeviceFields
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotSettings(OnLine):
    """The serial line to the robot, the sensors always on, and the limits of its motors."""

    port: str = setting("serial device path", example="/dev/ttyUSB0")
    byteSize: int = setting(
        "cost of one byte on the line: 10 is 8N1, 8 counts as 10", 10, choices=(8, 10), unit="bit"
    )
    simulated: bool | None = setting(
        "true: no real motors, which may run without a deadline for commands "
        "(`safety.command_timeout_s`); not set: real, but for a mock",
        None,
    )
    always_on: tuple[str, ...] = setting(
        "names of sensors that the robot is asked for without being enabled, for a controller "
        "whose protocol enables none",
        (),
    )
    limits: dict[str, MotorLimits] = setting("motor -> its limits", default_factory=dict)
    mock: dict[str, Any] = setting(
        "parameters of the mock (`hilgw mock KIND --list`)", default_factory=dict
    )


def numbered(
    parts: Iterable[tuple[str, str, DeviceFields]], limits: Mapping[str, MotorLimits]
) -> list[Device]:
    """Give the devices indices from 0: name, kind and fields of each."""
    return [
        Device(name=name, kind=kind, index=index, limits=limits.get(name, NO_LIMITS), fields=fields)
        for index, (name, kind, fields) in enumerate(parts)
    ]
