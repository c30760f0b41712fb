"""When motors that were commanded must stop, and what must happen before they move again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hilgw.control.events import MotorCommand
from hilgw.devices.kinds import LINEAR_MOTOR, MOTOR, ROTATIONAL_MOTOR, Devices
from hilgw.settings import setting
from hilgw.units import s_to_ns

REAL_BODY_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetySettings:
    """What stops the motors of one robot beside a controller that is gone."""

    command_timeout_s: float | None = setting(
        "the controller moved a motor and then commands none for so long: the motors stop and it "
        f"is disconnected; 0: never; not set: {REAL_BODY_TIMEOUT_S:g} where the body may be real "
        "(a serial line), else never",
        None,
        ge=0,
        le=3600,
        unit="s",
    )
    late_s: float = setting(
        "the gateway itself is late by so much: the motors stop, and what the controller sent "
        "meanwhile is thrown away",
        0.5,
        ge=0.05,
        le=60,
        unit="s",
    )
    latch: bool = setting(
        "a stop lasts until `hilgw arm ROBOT`, and the gateway ends with exit code 7; false: the "
        "next controller that connects may move the motors",
        False,
    )


class SafetyState:
    """The state of one loop: `moving` since a motor was commanded after the last stop, `latched`
    the reason of a stop that lasts, "" without one. `stops` are counted by reason."""

    def __init__(self, settings: SafetySettings, *, real_body: bool) -> None:
        timeout_s = settings.command_timeout_s
        if timeout_s is None:
            timeout_s = REAL_BODY_TIMEOUT_S if real_body else 0.0
        self.timeout_ns = s_to_ns(timeout_s)
        self.late_ns = s_to_ns(settings.late_s)
        self.moving = False
        self.latched = ""
        self.stops: Counter[str] = Counter()
        self._latch = settings.latch
        self._commanded_ns = 0

    def command(self, now: int) -> None:
        """A motor was commanded."""
        self.moving = True
        self._commanded_ns = now

    def stop(self, reason: str, *, latch: bool = True) -> bool:
        """The motors are to stop. True, and counted, when any was commanded since the last stop.

        latch: this reason may last (a gateway that ends in order is none).
        """
        if not self.moving:
            return False
        self.moving = False
        self.stops[reason] += 1
        if self._latch and latch:
            self.latched = reason
        return True

    def arm(self) -> bool:
        """Somebody says that the motors may move again; whether that was needed."""
        was, self.latched = self.latched, ""
        return bool(was)

    def deadline(self) -> int | None:
        """When the next command must have come, or None."""
        return self._commanded_ns + self.timeout_ns if self.moving and self.timeout_ns else None


def default_actuation(devices: Devices, positions: dict[int, float]) -> list[MotorCommand]:
    """The commands that bring every motor to its default.

    Rotational: velocity 0. Linear: its default position; without one it holds where `positions`
    (the last value it reported, by index) saw it, and a motor that reports nothing is left at
    the position it was last sent to.
    """
    commands = []
    for device in devices.of_role(MOTOR):
        if device.kind == ROTATIONAL_MOTOR:
            commands.append(MotorCommand(device.index, "velocity", 0.0))
        elif device.kind == LINEAR_MOTOR:
            position = positions.get(device.index) if device.default is None else device.default
            if position is not None:
                commands.append(MotorCommand(device.index, "position", position))
    return commands
