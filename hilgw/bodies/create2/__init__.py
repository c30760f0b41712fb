"""Body `create2`: an iRobot Create 2 (or a Roomba 600) on a serial line.

The robot has no watchdog: when the line is dead it drives on.
"""

from typing import Any, ClassVar

from hilgw.bodies._common.settings import (
    BITS_PER_BYTE,
    Problem,
    SerialRobot,
    device_problems,
    load_problems,
    table_problems,
)
from hilgw.bodies.create2 import oi
from hilgw.bodies.create2.session import Create2Session
from hilgw.bodies.create2.settings import Create2Settings, devices_of, sensors_of
from hilgw.control.declared import LineLoad, StopFrame
from hilgw.settings import MockSpec
from hilgw.units import NS_PER_MS


class Create2Body(SerialRobot):
    """The kind of body `create2`."""

    kind: ClassVar[str] = "create2"
    summary: ClassVar[str] = "an iRobot Create 2 or Roomba 600, on a serial line"
    Settings: ClassVar[type[Any]] = Create2Settings
    Session: ClassVar[type[Any]] = Create2Session

    def check(self, settings: Create2Settings) -> list[Problem]:
        devices = devices_of(settings)
        names = [device.name for device in devices]
        return [
            *device_problems(settings, devices),
            *(
                (f"sensors.{name}", "another device has this name", "rename it")
                for name in settings.sensors
                if names.count(name) > 1
            ),
            *table_problems({name: each.table for name, each in settings.sensors.items()}),
            *load_problems(
                self.line_load(settings),
                "baudRate",
                "raise baudRate, or leave sensors out (sensors: {NAME: {packet: off}})",
            ),
        ]

    def line_load(self, settings: Create2Settings) -> LineLoad:
        sources = [oi.SOURCES[sensor.packet] for sensor in sensors_of(settings).values()]
        packets = {source.packet for source in sources}
        packets |= {oi.MODE, oi.OVERCURRENT, oi.LEFT_ENCODER, oi.RIGHT_ENCODER}
        period_ns = oi.STREAM_PERIOD_MS * NS_PER_MS
        return LineLoad(oi.frame_size(packets), settings.baudRate, BITS_PER_BYTE, period_ns)

    def mock(self, settings: Create2Settings, version: str) -> MockSpec:
        return MockSpec("create2", {"baud_rate": settings.baudRate} | settings.mock)

    def stop_frame(self, settings: Create2Settings) -> StopFrame:
        return StopFrame(
            "Drive Direct (145) with 0 mm/s for both wheels, three times, after a 0 that ends a "
            "command that was cut",
            oi.STOP.hex(" "),
            "it drives on at its last speed; in safe mode it stops at a cliff, a wheel drop "
            "and its charger only",
            has_watchdog=False,
        )


BODY = Create2Body()
