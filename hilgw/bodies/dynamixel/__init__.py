"""Body `dynamixel`: servos with protocol 2.0 on one bus, TTL or half-duplex RS-485."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, ClassVar

from hilgw.bodies._common.body import (
    BITS_PER_BYTE,
    Problem,
    SerialRobot,
    device_problems,
    load_problems,
)
from hilgw.bodies.dynamixel.packet import (
    GOAL_POSITION,
    GOAL_VELOCITY,
    OVERHEAD,
    SERIES,
    WATCHDOG,
    X,
    write_all,
)
from hilgw.bodies.dynamixel.read_back import CYCLE_NS, REGISTERS
from hilgw.bodies.dynamixel.session import DynamixelSession
from hilgw.bodies.dynamixel.settings import DynamixelSettings, devices_of, servos_of
from hilgw.control.line_load import LineLoad
from hilgw.control.stop_frame import StopFrame
from hilgw.settings import MockSpec
from hilgw.units import NS_PER_US, ms_to_ns

XL430 = 1060  # model
READ_BYTES = 10  # of a servo's registers with feedback: load, velocity, position


class DynamixelBody(SerialRobot):
    """The kind of body `dynamixel`."""

    kind: ClassVar[str] = "dynamixel"
    summary: ClassVar[str] = (
        "Dynamixel X and P servos on a bus, each a motor with a position sensor"
    )
    Settings: ClassVar[type[Any]] = DynamixelSettings
    Session: ClassVar[type[Any]] = DynamixelSession

    def check(self, settings: DynamixelSettings) -> list[Problem]:
        """Errors that span fields: (path below the body, message, fix)."""
        errors: list[Problem] = []
        servos, devices = servos_of(settings), devices_of(settings)
        ids = Counter(servo.id for servo in servos.values())
        for name, servo in servos.items():
            if ids[servo.id] > 1:
                errors.append((f"motors.{name}.id", "another servo has this id", "use another id"))
        names = Counter(device.name for device in devices)
        for name in (each for each, count in names.items() if count > 1):
            what = f"two devices have the name '{name}'"
            errors.append(("motors", what, "set sensor: to another name"))
        errors += device_problems(settings, devices)
        fix = "raise baudRate or period_ms, or lower the return delay of the servos"
        return [*errors, *load_problems(self.line_load(settings), "period_ms", fix)]

    def line_load(self, settings: DynamixelSettings) -> LineLoad:
        """A command to each servo, a sync or bulk read, and the answers with feedback.

        And the share of a period in what is read back in each cycle.
        """
        count = len(servos_of(settings))
        command = OVERHEAD + 4 + 1 + 4
        request = OVERHEAD + (5 * count if self._is_mixed(settings) else 4 + count)
        needed = count * command + request + count * (OVERHEAD + 1 + READ_BYTES)
        idle_ns = count * settings.return_delay_us * NS_PER_US
        period_ns = ms_to_ns(settings.period_ms)
        share = len(REGISTERS) * period_ns / CYCLE_NS
        needed += math.ceil(share * (request + count * (OVERHEAD + 1 + 1)))
        idle_ns += share * idle_ns
        return LineLoad(needed, settings.baudRate, BITS_PER_BYTE, period_ns, round(idle_ns))

    def mock(self, settings: DynamixelSettings, version: str) -> MockSpec:
        ids = ", ".join(str(servo.id) for servo in servos_of(settings).values())
        delay = int(settings.return_delay_us)
        given = {"ids": ids, "baud_rate": settings.baudRate, "return_delay_us": delay}
        series = [SERIES[each.series] for each in servos_of(settings).values()]
        if any(each is not X for each in series):
            given["model"] = ", ".join(str(min(each.turns, default=XL430)) for each in series)
        return MockSpec("dynamixel", given | settings.mock)

    def _is_mixed(self, settings: DynamixelSettings) -> bool:
        return len({servo.series for servo in servos_of(settings).values()}) > 1

    def stop_frame(self, settings: DynamixelSettings) -> StopFrame:
        """The stop of all servos."""
        offsets = {each.id: SERIES[each.series].offset for each in servos_of(settings).values()}
        still = write_all(GOAL_VELOCITY, dict.fromkeys(offsets, 0), offsets)
        hold = write_all(GOAL_POSITION, dict.fromkeys(offsets, 0), offsets)
        instruction, head, each = "Sync Write (0x83)", 12, 1
        if self._is_mixed(settings):
            instruction, head, each = "Bulk Write (0x93)", 8, 5
        goals = ""
        for at in range(head, len(hold) - 2, each + 4):
            goals += f"{hold[at : at + each].hex(' ')} ?? ?? ?? ?? "
        velocity, position, watchdog = (
            ", ".join(str(register + offset) for offset in sorted(set(offsets.values())))
            for register in (GOAL_VELOCITY, GOAL_POSITION, WATCHDOG)
        )
        return StopFrame(
            f"{instruction} of Goal Velocity ({velocity}) 0, then of Goal Position ({position}) "
            "with the last position that each servo reported: which of them holds depends on the "
            "operating mode",
            f"{still.hex(' ')} {hold[:head].hex(' ')} {goals}?? ??",
            f"the servos stop {settings.watchdog_ms} ms after the last packet on the bus (register "
            f"{watchdog}, Bus Watchdog)",
            has_watchdog=True,
        )


BODY = DynamixelBody()
