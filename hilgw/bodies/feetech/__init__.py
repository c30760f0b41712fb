"""Body `feetech`: STS bus servos on one half-duplex line.

A servo has no watchdog: when the line is dead a wheel turns on, and an arm goes to its last goal.
"""

from typing import Any, ClassVar

from hilgw.bodies._servo_bus.body import ServoBusBody
from hilgw.bodies.feetech.servo import FeetechSession
from hilgw.bodies.feetech.settings import FeetechSettings
from hilgw.control.declared import StopFrame
from hilgw.settings import MockSpec


class FeetechBody(ServoBusBody):
    """The kind of body `feetech`."""

    kind: ClassVar[str] = "feetech"
    summary: ClassVar[str] = "Feetech STS servos on a bus, each a motor with a position sensor"
    Settings: ClassVar[type[Any]] = FeetechSettings
    Session: ClassVar[type[Any]] = FeetechSession
    feedback_bytes: ClassVar[int] = 6

    def mock(self, settings: FeetechSettings, version: str) -> MockSpec:
        return MockSpec("feetech", self._mocked(settings) | settings.mock)

    def stop_frame(self, settings: FeetechSettings) -> StopFrame:
        return StopFrame(
            "two bytes 0, which end an instruction that was cut, then Sync Write (0x83) from "
            "Acceleration (41) on: 0, then Goal Position (42) with the last position that each "
            "servo reported, and Goal Time (44) and Goal Speed (46) 0, then Mode (33) as it was "
            "set, which stop it in every mode; Torque Enable (40) 0 for a servo without torque, or "
            "whose position is not known",
            "00 00 ff ff fe ?? 83 ... ??",
            "a wheel turns on at its last speed, and an arm moves on to its last position",
            has_watchdog=False,
        )


BODY = FeetechBody()
