"""Settings of motors that a robot lacks: they are left out of a command, and the rest applies."""

from collections.abc import Collection

from hilgw.control.events import Command, MotorCommand, MotorField, MotorPid
from hilgw.devices.kinds import LINEAR_MOTOR, Device
from hilgw.devices.properties import LinearMotorFields, RotationalMotorFields

ACCELERATION, AVAILABLE, GAINS = "acceleration", "available", "gains"
DEFAULT_AVAILABLE = 10.0  # Webots' default maxForce and maxTorque
_SETTINGS: dict[str, str] = {
    MotorField.ACCELERATION: ACCELERATION,
    MotorField.AVAILABLE_FORCE: AVAILABLE,
    MotorField.AVAILABLE_TORQUE: AVAILABLE,
}


def settings_in(command: Command) -> dict[str, float]:
    """Return the settings that a robot may lack, with their values.

    Gains are not equal to any others: each command of them is a change.
    """
    if isinstance(command, MotorCommand):
        field = command.field
        return {_SETTINGS[field]: command.value} if field in _SETTINGS else {}
    if isinstance(command, MotorPid):
        return {GAINS: float("nan")}
    return {ACCELERATION: command.acceleration, AVAILABLE: command.available}


def is_all_missing(command: Command, missing: Collection[str]) -> bool:
    """Return whether a robot that lacks these settings has nothing of a command."""
    if isinstance(command, MotorCommand):
        return _SETTINGS.get(command.field) in missing
    return isinstance(command, MotorPid) and GAINS in missing


def default_of(device: Device, setting: str) -> float:
    """Return the value of a setting of this motor that no controller has set."""
    fields = device.fields
    motor = fields if isinstance(fields, LinearMotorFields | RotationalMotorFields) else None
    if setting == ACCELERATION:
        largest = device.limits.max_acceleration
        return largest if largest is not None else motor.acceleration if motor else -1.0
    own = motor.maxForceOrTorque if motor else DEFAULT_AVAILABLE
    return min(own, device.limits.bounds("available_force")[1])


def in_words(device: Device, setting: str) -> str:
    """Return that this motor's robot lacks a setting."""
    if setting == AVAILABLE:
        setting = "available force" if device.kind == LINEAR_MOTOR else "available torque"
    return f"'{device.name}' cannot be given {setting}: left out of its commands"
