"""Settings of body `feetech`: the bus, and one servo for each motor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.bodies._servo_bus.settings import ServoBusSettings, ServoSettings as ServoSettings
from hilgw.settings import setting

BAUD_RATES = (38400, 57600, 76800, 115200, 128_000, 250_000, 500_000, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeetechSettings(ServoBusSettings):
    """The serial line of the bus, its servos, and their limits."""

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "left wheel motor": ServoSettings(id=1),
        "right wheel motor": ServoSettings(id=2),
    }
    baudRate: int = setting("rate of the bus", 1_000_000, choices=BAUD_RATES, unit="bit/s")
    motors: dict[str, ServoSettings] = setting(
        "motor -> its servo; empty: two wheels, whose servos have ids 1 and 2",
        default_factory=dict,
    )
