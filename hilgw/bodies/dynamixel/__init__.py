"""Body `dynamixel`: servos with protocol 2.0 on one bus, TTL or half-duplex RS-485."""

from typing import Any, ClassVar

from hilgw.bodies._servo_bus.body import ServoBusBody
from hilgw.bodies._servo_bus.settings import servos_of
from hilgw.bodies.dynamixel.packet import SERIES, WATCHDOG, Dynamixel, X
from hilgw.bodies.dynamixel.servo import DynamixelSession
from hilgw.bodies.dynamixel.settings import DynamixelSettings
from hilgw.control.declared import StopFrame
from hilgw.settings import MockSpec

XL430 = 1060  # model


class DynamixelBody(ServoBusBody):
    """The kind of body `dynamixel`."""

    kind: ClassVar[str] = "dynamixel"
    summary: ClassVar[str] = (
        "Dynamixel X and P servos on a bus, each a motor with a position sensor"
    )
    Settings: ClassVar[type[Any]] = DynamixelSettings
    Session: ClassVar[type[Any]] = DynamixelSession

    def mock(self, settings: DynamixelSettings, version: str) -> MockSpec:
        given = self._mocked(settings) | {"return_delay_us": int(settings.return_delay_us)}
        series = [SERIES[each.series] for each in servos_of(settings).values()]
        if any(each is not X for each in series):
            given["model"] = ", ".join(str(min(each.turns, default=XL430)) for each in series)
        return MockSpec("dynamixel", given | settings.mock)

    def _is_mixed(self, settings: DynamixelSettings) -> bool:
        return len({servo.series for servo in servos_of(settings).values()}) > 1

    def _request_bytes(self, settings: DynamixelSettings) -> int:
        if self._is_mixed(settings):
            return Dynamixel({}).overhead + 5 * len(servos_of(settings))
        return super()._request_bytes(settings)

    def stop_frame(self, settings: DynamixelSettings) -> StopFrame:
        offsets = {each.id: SERIES[each.series].offset for each in servos_of(settings).values()}
        servos = Dynamixel(offsets)
        still = servos.write_all(servos.goal_velocity, dict.fromkeys(offsets, 0))
        hold = servos.write_all(servos.goal_position, dict.fromkeys(offsets, 0))
        instruction, head, length = "Sync Write (0x83)", 12, 1
        if self._is_mixed(settings):
            instruction, head, length = "Bulk Write (0x93)", 8, 5
        goals = ""
        for start in range(head, len(hold) - 2, length + 4):
            goals += f"{hold[start : start + length].hex(' ')} ?? ?? ?? ?? "
        velocity, position, watchdog = (
            ", ".join(str(register + offset) for offset in sorted(set(offsets.values())))
            for register in (*servos.goals, WATCHDOG)
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
