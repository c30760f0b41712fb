"""Settings, devices and kind of a robot on a serial line, as the configuration declares them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hilgw.bodies.base import Body, BodySession
from hilgw.control.declared import LineLoad
from hilgw.control.limits import limit_errors
from hilgw.control.parts import OnLine
from hilgw.devices.kinds import MOTOR, NO_LIMITS, SENSOR, Device, MotorLimits, check_table
from hilgw.devices.properties import DeviceFields, LookupTable
from hilgw.framing.base import Framing
from hilgw.settings import Problem as Problem, setting


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


BITS_PER_BYTE = 10


class SerialRobot(Body, Protocol):
    """Base of all these kinds: a robot with real motors, whose bytes need no framing."""

    Session: ClassVar[type[Any]]

    def session(self, settings: Any, version: str, framing: Framing | None = None) -> BodySession:
        made: BodySession = self.Session(settings)
        return made


def device_problems(settings: RobotSettings, devices: Iterable[Device]) -> Iterator[Problem]:
    """Return the problems of motor limits and sensor names: absent from the robot or impossible."""
    names: dict[str, list[str]] = {MOTOR: [], SENSOR: []}
    for device in devices:
        names.setdefault(device.role, []).append(device.name)
    for name, limits in settings.limits.items():
        if name not in names[MOTOR]:
            fix = f"its motors are {', '.join(names[MOTOR]) or 'none'}"
            yield f"limits.{name}", "the robot has no such motor", fix
        for where, problem in limit_errors(limits, None):
            yield f"limits.{name}.{where}", problem, "correct the limits"
    for name in settings.always_on:
        if name not in names[SENSOR]:
            fix = f"its sensors are {', '.join(names[SENSOR]) or 'none'}"
            yield "always_on", f"the robot has no sensor '{name}'", fix


def table_problems(tables: Mapping[str, LookupTable]) -> Iterator[Problem]:
    """Return the problems of tables (by sensor) whose rows have no order."""
    for name, table in tables.items():
        if wrong := check_table(table):
            yield f"sensors.{name}.table", wrong, "sort the rows"


def load_problems(load: LineLoad, path: str, fix: str) -> Iterator[Problem]:
    """Return the problems of a line that cannot carry what one period needs."""
    if load.overload:
        yield path, load.overload, fix
