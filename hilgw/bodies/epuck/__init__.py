"""Body `epuck`: an e-puck or e-puck2 with the firmware sercom, on a serial line or Bluetooth.

The robot has no watchdog: when the line is dead it drives on.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from hilgw.bodies._common.settings import (
    BITS_PER_BYTE,
    Problem,
    SerialRobot,
    device_problems,
    load_problems,
    table_problems,
)
from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.session import EPuckSession
from hilgw.bodies.epuck.settings import (
    EPUCK2,
    LEDS,
    SOURCES,
    EPuckSettings,
    devices_of,
    letters_of,
    sensors_of,
)
from hilgw.control.declared import LineLoad, StopFrame
from hilgw.settings import MockSpec
from hilgw.units import ms_to_ns

NOT_CARRIED = {
    "camera": "camera images are not carried yet",
    "speaker": "sounds are not carried yet",
    "emitter": "sercom carries no packets: list it under devices of the robot",
    "receiver": "sercom carries no packets: list it under devices of the robot",
}


class EPuckBody(SerialRobot):
    """The kind of body `epuck`."""

    kind: ClassVar[str] = "epuck"
    summary: ClassVar[str] = "an e-puck or e-puck2 with sercom, on a serial line or Bluetooth"
    Settings: ClassVar[type[Any]] = EPuckSettings
    Session: ClassVar[type[Any]] = EPuckSession

    def check(self, settings: EPuckSettings) -> list[Problem]:
        fix = (
            "raise period_ms or baudRate, or leave sensors out (sensors: {NAME: {present: false}})"
        )
        return [
            *device_problems(settings, devices_of(settings)),
            *(self._sensor_problems(settings)),
            *table_problems({name: each.table for name, each in settings.sensors.items()}),
            *load_problems(self.line_load(settings), "period_ms", fix),
        ]

    def _sensor_problems(self, settings: EPuckSettings) -> Iterator[Problem]:
        for name in settings.sensors:
            if name not in SOURCES:
                reason = NOT_CARRIED.get(name, "the robot has no such sensor")
                yield f"sensors.{name}", reason, f"its sensors are {', '.join(SOURCES)}"
            elif name == "gyro" and settings.model != EPUCK2:
                yield f"sensors.{name}", "an e-puck has no gyro", "set model: e-puck2"

    def line_load(self, settings: EPuckSettings) -> LineLoad:
        letters = "".join(letters_of(settings)) + sercom.SPEEDS
        needed = sercom.SPEED_BYTES + len(LEDS) * sercom.LED_BYTES + len(sercom.ask(letters))
        needed += sercom.answer_size(letters)
        return LineLoad(needed, settings.baudRate, BITS_PER_BYTE, ms_to_ns(settings.period_ms))

    def mock(self, settings: EPuckSettings, version: str) -> MockSpec:
        given: dict[str, Any] = {"model": settings.model, "baud_rate": settings.baudRate}
        if any(name.startswith("gs") for name in sensors_of(settings)):
            given["ground"] = 900
        return MockSpec("epuck", given | settings.mock)

    def stop_frame(self, settings: EPuckSettings) -> StopFrame:
        return StopFrame(
            "the line D,0,0; before it five bytes 00 and a line feed, which end a broken line",
            sercom.STOP.hex(" "),
            "it drives on at its last speed",
            has_watchdog=False,
        )


BODY = EPuckBody()
