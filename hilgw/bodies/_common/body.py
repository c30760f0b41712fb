"""The kind of body of a robot on a serial line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

from hilgw.bodies._common.settings import RobotSettings
from hilgw.bodies.base import Body, BodySession
from hilgw.control.limits import limit_errors
from hilgw.control.line_load import LineLoad
from hilgw.devices.kinds import MOTOR, SENSOR, Device
from hilgw.devices.lookup import check_table
from hilgw.devices.properties import LookupTable
from hilgw.framing.base import Framing
from hilgw.settings import Problem as Problem

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
