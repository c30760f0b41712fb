"""Body `epuck`: an e-puck or e-puck2 with the firmware sercom, on a serial line or Bluetooth.

The robot has no watchdog: when the line is dead it drives on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.session import EPuckSession
from hilgw.bodies.epuck.settings import (
    EPUCK2,
    LEDS,
    MOTORS,
    POSITIONS,
    SOURCES,
    EPuckSettings,
    letters_of,
    sensors_of,
)
from hilgw.control.limits import limit_errors
from hilgw.control.line_load import LineLoad
from hilgw.control.stop_frame import StopFrame
from hilgw.devices.lookup import check_table
from hilgw.settings import MockSpec
from hilgw.units import ms_to_ns

if TYPE_CHECKING:
    from hilgw.framing.base import Framing

BITS_PER_BYTE = 10
NOT_CARRIED = {
    "camera": "camera images are not carried yet",
    "speaker": "sounds are not carried yet",
    "emitter": "sercom carries no packets: list it under devices of the robot",
    "receiver": "sercom carries no packets: list it under devices of the robot",
}


class EPuckBody:
    """The kind of body `epuck`."""

    kind: ClassVar[str] = "epuck"
    summary: ClassVar[str] = "an e-puck or e-puck2 with sercom, on a serial line or Bluetooth"
    Settings: ClassVar[type[Any]] = EPuckSettings
    simulated: ClassVar[bool] = False
    retry_s: ClassVar[float] = 1.0
    framing: ClassVar[str] = ""

    def check(self, settings: EPuckSettings) -> list[tuple[str, str, str]]:
        """Errors that span fields: (path below the body, message, fix)."""
        errors = []
        for name, limits in settings.limits.items():
            if name not in MOTORS:
                fix = f"its motors are '{MOTORS[0]}' and '{MOTORS[1]}'"
                errors.append((f"limits.{name}", "the robot has no such motor", fix))
            for where, what in limit_errors(limits, None):
                errors.append((f"limits.{name}.{where}", what, "correct the limits"))
        for name, sensor in settings.sensors.items():
            what = NOT_CARRIED.get(name, "the robot has no such sensor")
            if name not in SOURCES:
                errors.append((f"sensors.{name}", what, f"its sensors are {', '.join(SOURCES)}"))
            elif name == "gyro" and settings.model != EPUCK2:
                errors.append((f"sensors.{name}", "an e-puck has no gyro", "set model: e-puck2"))
            if wrong := check_table(sensor.table):
                errors.append((f"sensors.{name}.table", wrong, "sort the rows"))
        known = [*POSITIONS, *sensors_of(settings)]
        for name in settings.always_on:
            if name not in known:
                fix = f"its sensors are {', '.join(known)}"
                errors.append(("always_on", f"the robot has no sensor '{name}'", fix))
        return errors + self._line_errors(settings)

    def line_load(self, settings: EPuckSettings) -> LineLoad:
        """Both speeds, all LEDs, and every sensor."""
        letters = "".join(letters_of(settings)) + sercom.SPEEDS
        needed = sercom.SPEED_BYTES + len(LEDS) * sercom.LED_BYTES + len(sercom.ask(letters))
        needed += sercom.answer_size(letters)
        return LineLoad(needed, settings.baudRate, BITS_PER_BYTE, ms_to_ns(settings.period_ms))

    def _line_errors(self, settings: EPuckSettings) -> list[tuple[str, str, str]]:
        what = self.line_load(settings).overload
        fix = (
            "raise period_ms or baudRate, or leave sensors out (sensors: {NAME: {present: false}})"
        )
        return [("period_ms", what, fix)] if what else []

    def mock(self, settings: EPuckSettings, version: str) -> MockSpec:
        given: dict[str, Any] = {"model": settings.model, "baud_rate": settings.baudRate}
        if any(name.startswith("gs") for name in sensors_of(settings)):
            given["ground"] = 900
        return MockSpec("epuck", given | settings.mock)

    def stop_frame(self, settings: EPuckSettings) -> StopFrame:
        """The same for both models."""
        return StopFrame(
            "the line D,0,0; before it five bytes 00 and a line feed, which end what was cut",
            sercom.STOP.hex(" "),
            "it drives on at its last speed",
            has_watchdog=False,
        )

    def session(
        self, settings: EPuckSettings, version: str, framing: Framing | None = None
    ) -> EPuckSession:
        return EPuckSession(settings)


BODY = EPuckBody()
