"""Settings of motors that a robot lacks: they are left out of a command, and the rest applies."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable

from hilgw.control.events import (
    Command,
    Event,
    MotorCommand,
    MotorField,
    MotorPid,
    MotorSettings,
    Notice,
    StopReason,
)
from hilgw.control.safety import mode_of
from hilgw.devices.kinds import LINEAR_MOTOR, Device
from hilgw.devices.properties import LinearMotorFields, RotationalMotorFields

ACCELERATION, AVAILABLE, GAINS = "acceleration", "available", "gains"
_CONTROLLER_STAYS = (StopReason.DISARMED, StopReason.EXCHANGED, StopReason.HARDWARE)
DEFAULT_AVAILABLE = 10.0  # Webots' default maxForce and maxTorque


class MissingSettings:
    """The settings that a robot lacks: each is reported once for each motor, and counted.

    The count is `dropped_SETTING`, each time a controller changes it.
    An available force or torque of 0, which a robot cannot be given, stops the motor until there is
    more.
    """

    def __init__(self, missing: Iterable[str], counts: Counter[str]) -> None:
        self._missing = frozenset(missing)
        self._counts = counts
        self._known: dict[tuple[int, str], float] = {}  # by the index of a motor

    def stopped(self, reason: StopReason) -> None:
        """Remember that the motors stopped.

        Where the controller leaves, the next one begins anew.
        """
        if reason not in _CONTROLLER_STAYS:
            self.forget()

    def forget(self) -> None:
        self._known.clear()

    def reduce(self, device: Device, command: Command, events: list[Event]) -> Command | None:
        """Return what the robot can do of a command to this motor.

        None where it lacks all that the command sets. events: gets the notices.
        """
        if isinstance(command, MotorPid):
            if GAINS not in self._missing:
                return command
            self._drop(device, GAINS, events)
            return None
        index = command.index
        for name, value in _limits_in(command):
            if name not in self._missing:
                continue
            if self._known.get((index, name), _default(device, name)) != value:
                self._drop(device, name, events)
            self._known[index, name] = value
            if isinstance(command, MotorCommand):
                return None
        return None if self.stops(command) and mode_of(command) is not None else command

    def stops(self, command: Command) -> bool:
        """Return whether the motor of this command has no force or torque to move with."""
        is_powerless = self._known.get((command.index, AVAILABLE)) == 0
        return is_powerless and not isinstance(command, MotorPid)

    def _drop(self, device: Device, name: str, events: list[Event]) -> None:
        self._counts[f"dropped_{name}"] += 1
        setting = name
        if name == AVAILABLE:
            setting = "available force" if device.kind == LINEAR_MOTOR else "available torque"
        events.append(
            Notice(f"'{device.name}' cannot be given {setting}: left out of its commands")
        )


def _limits_in(command: MotorCommand | MotorSettings) -> list[tuple[str, float]]:
    if isinstance(command, MotorSettings):
        return [(ACCELERATION, command.acceleration), (AVAILABLE, command.available)]
    if command.field == MotorField.ACCELERATION:
        return [(ACCELERATION, command.value)]
    is_available = command.field in (MotorField.AVAILABLE_FORCE, MotorField.AVAILABLE_TORQUE)
    return [(AVAILABLE, command.value)] if is_available else []


def _default(device: Device, name: str) -> float:
    fields = device.fields
    if not isinstance(fields, LinearMotorFields | RotationalMotorFields):
        fields = None
    if name == ACCELERATION:
        largest = device.limits.max_acceleration
        return largest if largest is not None else fields.acceleration if fields else -1.0
    own = fields.maxForceOrTorque if fields else DEFAULT_AVAILABLE
    return min(own, device.limits.bounds("available_force")[1])


def without_default_velocity(command: Command) -> Command:
    """Position +infinity alone selects velocity control.

    The velocity is then 0, not the motor's default, which is its largest: a robot on the floor must
    not run away for one call.
    """
    if (
        isinstance(command, MotorSettings)
        and command.position == math.inf
        and not command.velocity_set
    ):
        return dataclasses.replace(command, velocity=0.0)
    return command
