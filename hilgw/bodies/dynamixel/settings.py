"""Settings of body `dynamixel`: the bus, and one servo for each motor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.bodies._servo_bus.settings import ServoBusSettings, ServoSettings as AnyServoSettings
from hilgw.bodies.dynamixel.packet import SERIES
from hilgw.settings import setting

VELOCITY = "velocity"
BAUD_RATES = (9600, 57600, 115200, 1_000_000, 2_000_000, 3_000_000, 4_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoSettings(AnyServoSettings):
    """A servo: a motor and its position sensor."""

    series: str = setting("series of the servo: its registers and units", "X", choices=[*SERIES])


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamixelSettings(ServoBusSettings):
    """The serial line of the bus, its servos, and their limits."""

    # TurtleBot3 Burger: its wheels are two XL430 with these ids.
    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "left wheel motor": ServoSettings(id=1),
        "right wheel motor": ServoSettings(id=2),
    }
    baudRate: int = setting("rate of the bus", 57_600, choices=BAUD_RATES, unit="bit/s")
    motors: dict[str, ServoSettings] = setting(
        "motor -> its servo; empty: the two wheels of a TurtleBot3 Burger", default_factory=dict
    )
    watchdog_ms: int = setting(
        "the servos stop by themselves this long after the last packet on the bus (steps of 20)",
        200,
        ge=40,
        le=2540,
        unit="ms",
    )
    drive_mode: str = setting(
        "keep: a servo with a time-based profile (register Drive Mode, bit 2), or whose goals "
        "switch its torque on (bit 3), is refused; velocity: its torque is switched off and both "
        "bits are cleared, which the servo keeps without power",
        "keep",
        choices=["keep", VELOCITY],
    )
