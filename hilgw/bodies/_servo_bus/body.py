"""The kind of body of servos on a bus: checks of its settings, and the load of its line."""

import math
from collections import Counter
from typing import Any, ClassVar

from hilgw.bodies._common.settings import (
    BITS_PER_BYTE,
    Problem,
    SerialRobot,
    device_problems,
    load_problems,
)
from hilgw.bodies._servo_bus.goals import CYCLE_NS
from hilgw.bodies._servo_bus.settings import devices_of, servos_of
from hilgw.control.declared import LineLoad
from hilgw.units import NS_PER_US, ms_to_ns


class ServoBusBody(SerialRobot):
    """Base of the bodies with servos on a bus."""

    Session: ClassVar[Any]
    goal_bytes: ClassVar[int] = 4  # of one goal
    feedback_bytes: ClassVar[int] = 10  # of a servo's registers in each period

    def check(self, settings: Any) -> list[Problem]:
        errors: list[Problem] = []
        servos, devices = servos_of(settings), devices_of(settings)
        ids = Counter(servo.id for servo in servos.values())
        for name, servo in servos.items():
            if ids[servo.id] > 1:
                errors.append((f"motors.{name}.id", "another servo has this id", "use another id"))
        names = Counter(device.name for device in devices)
        for name in (each for each, count in names.items() if count > 1):
            text = f"two devices have the name '{name}'"
            errors.append(("motors", text, "set sensor: to another name"))
        errors += device_problems(settings, devices)
        fix = "raise baudRate or period_ms, or lower the return delay of the servos"
        return [*errors, *load_problems(self.line_load(settings), "period_ms", fix)]

    def _request_bytes(self, settings: Any) -> int:
        kind = self.Session.Kind({})
        size: int = kind.overhead + 2 * kind.width + len(servos_of(settings))
        return size

    def line_load(self, settings: Any) -> LineLoad:
        """Return what a period needs.

        A command to each servo, a read of all, and the answers with feedback; and its share of what
        is read back in each cycle.
        """
        kind, count = self.Session.Kind({}), len(servos_of(settings))
        command = kind.overhead + 2 * kind.width + 1 + self.goal_bytes
        request = self._request_bytes(settings)
        needed = count * command + request + count * (kind.status_bytes + self.feedback_bytes)
        idle_ns = count * settings.return_delay_us * NS_PER_US
        period_ns = ms_to_ns(settings.period_ms)
        share = len(kind.read_back) * period_ns / CYCLE_NS
        needed += math.ceil(share * (request + count * (kind.status_bytes + 1)))
        idle_ns += share * idle_ns
        return LineLoad(needed, settings.baudRate, BITS_PER_BYTE, period_ns, round(idle_ns))

    def _mocked(self, settings: Any) -> dict[str, Any]:
        ids = ", ".join(str(servo.id) for servo in servos_of(settings).values())
        return {"ids": ids, "baud_rate": settings.baudRate}
