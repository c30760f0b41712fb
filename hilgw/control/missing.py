"""Settings of motors that a robot lacks: they are left out of a command, and the rest applies."""

import math
from collections.abc import Collection

from hilgw.control.events import Command, MotorField, MotorPid, MotorSettings
from hilgw.devices.kinds import LINEAR_MOTOR, Device
from hilgw.devices.properties import LinearMotorFields, RotationalMotorFields

ACCELERATION, AVAILABLE, GAINS = "acceleration", "available", "gains"
DEFAULT_AVAILABLE = 10.0  # Webots' default maxForce and maxTorque
_SETTINGS = {
    MotorField.ACCELERATION: ACCELERATION,
    MotorField.AVAILABLE_FORCE: AVAILABLE,
    MotorField.AVAILABLE_TORQUE: AVAILABLE,
}


def settings_in(command: Command) -> dict[str, float]:
    """Return the settings that a robot may lack, with their values.

    Gains are not equal to any others: each command of them is a change.
    """
    if isinstance(command, MotorSettings):
        return {ACCELERATION: command.acceleration, AVAILABLE: command.available}
    if isinstance(command, MotorPid):
        return {GAINS: math.nan}
    name = _SETTINGS.get(command.field)
    return {} if name is None else {name: command.value}


def is_all_missing(command: Command, missing: Collection[str]) -> bool:
    """Return whether a robot that lacks these settings has nothing of a command."""
    is_whole = isinstance(command, MotorSettings)
    return not is_whole and any(name in missing for name in settings_in(command))


def default_of(device: Device, setting: str) -> float:
    """Return the value of a setting of this motor that no controller has set."""
    fields = device.fields
    if not isinstance(fields, LinearMotorFields | RotationalMotorFields):
        fields = None
    if setting == ACCELERATION:
        largest = device.limits.max_acceleration
        return largest if largest is not None else fields.acceleration if fields else -1.0
    own = fields.maxForceOrTorque if fields else DEFAULT_AVAILABLE
    return min(own, device.limits.bounds("available_force")[1])


def in_words(device: Device, setting: str) -> str:
    """Return that this motor's robot lacks a setting."""
    if setting == AVAILABLE:
        setting = "available force" if device.kind == LINEAR_MOTOR else "available torque"
    return f"'{device.name}' cannot be given {setting}: left out of its commands"
