"""Body `create2`: an iRobot Create 2 (or a Roomba 600) on a serial line.

The robot has no watchdog: when the line is dead it drives on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.bodies.create2 import oi
from hilgw.bodies.create2.session import Create2Session
from hilgw.bodies.create2.settings import (
    LEFT_MOTOR,
    RIGHT_MOTOR,
    Create2Settings,
    devices_of,
    sensors_of,
)
from hilgw.control.limits import limit_errors
from hilgw.control.line_load import LineLoad
from hilgw.control.stop_frame import StopFrame
from hilgw.devices.lookup import check_table
from hilgw.settings import MockSpec
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from hilgw.framing.base import Framing

BITS_PER_BYTE = 10


class Create2Body:
    """The kind of body `create2`."""

    kind: ClassVar[str] = "create2"
    summary: ClassVar[str] = "an iRobot Create 2 or Roomba 600, on a serial line"
    Settings: ClassVar[type[Any]] = Create2Settings
    simulated: ClassVar[bool] = False
    retry_s: ClassVar[float] = 1.0
    framing: ClassVar[str] = ""

    def check(self, settings: Create2Settings) -> list[tuple[str, str, str]]:
        """Errors that span fields: (path below the body, message, fix)."""
        devices = devices_of(settings)
        names = [device.name for device in devices]
        errors = []
        for name, limits in settings.limits.items():
            if name not in (LEFT_MOTOR, RIGHT_MOTOR):
                fix = f"its motors are '{LEFT_MOTOR}' and '{RIGHT_MOTOR}'"
                errors.append((f"limits.{name}", "the robot has no such motor", fix))
            for where, what in limit_errors(limits, None):
                errors.append((f"limits.{name}.{where}", what, "correct the limits"))
        for name, sensor in settings.sensors.items():
            if names.count(name) > 1:
                errors.append((f"sensors.{name}", "another device has this name", "rename it"))
            if wrong := check_table(sensor.table):
                errors.append((f"sensors.{name}.table", wrong, "sort the rows"))
        known = [device.name for device in devices if device.role == "sensor"]
        for name in settings.always_on:
            if name not in known:
                fix = f"its sensors are {', '.join(known)}"
                errors.append(("always_on", f"the robot has no sensor '{name}'", fix))
        return errors + self._line_errors(settings)

    def line_load(self, settings: Create2Settings) -> LineLoad:
        """One frame of the stream."""
        sources = [oi.SOURCES[sensor.packet] for sensor in sensors_of(settings).values()]
        packets = {source.packet for source in sources}
        packets |= {oi.MODE, oi.LEFT_ENCODER, oi.RIGHT_ENCODER}
        period_ns = oi.STREAM_PERIOD_MS * NS_PER_MS
        return LineLoad(oi.frame_size(packets), settings.baudRate, BITS_PER_BYTE, period_ns)

    def _line_errors(self, settings: Create2Settings) -> list[tuple[str, str, str]]:
        what = self.line_load(settings).overload
        fix = "raise baudRate, or leave sensors out (sensors: {NAME: {packet: off}})"
        return [("baudRate", what, fix)] if what else []

    def mock(self, settings: Create2Settings, version: str) -> MockSpec:
        return MockSpec("create2", {"baud_rate": settings.baudRate} | settings.mock)

    def stop_frame(self, settings: Create2Settings) -> StopFrame:
        """The same in every mode."""
        return StopFrame(
            "Drive Direct (145) with 0 mm/s for both wheels, three times, after a 0 that ends a "
            "command that was cut",
            oi.STOP.hex(" "),
            "it drives on at its last speed; in safe mode it stops at a cliff, a wheel drop "
            "and its charger only",
            has_watchdog=False,
        )

    def session(
        self, settings: Create2Settings, version: str, framing: Framing | None = None
    ) -> Create2Session:
        return Create2Session(settings)


BODY = Create2Body()
