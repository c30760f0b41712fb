"""Where the motors of a body stand when it connects: one outside its limits may not move.

A position outside comes from a setting inside the robot that hilgw does not know, such as another
zero, or from a robot that was left there. Either way the limits do not protect it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import SensorValue
from hilgw.control.limits import beyond
from hilgw.devices.kinds import MOTOR, NO_LIMITS, POSITION_SENSOR, on_joint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hilgw.control.events import Event
    from hilgw.devices.kinds import Device, Devices


class FirstPositions:
    """Of one connection. places: where each motor that has reported its position is outside its
    limits, in words; empty: within. is_over: all have been within them."""

    def __init__(self, completed: Mapping[str, Device]) -> None:
        """completed: the devices with the fields of the configuration, by name."""
        self.places: dict[str, str] = {}
        self.is_over = False
        self._completed = completed

    def see(self, events: Sequence[Event], devices: Devices) -> list[str]:
        """Take the values among these events. Return the motors that are outside for the first
        time, in words."""
        motors, known = self._motors(devices), dict(self.places)
        values = [event for event in events if isinstance(event, SensorValue)]
        for event in values:
            device = devices.by_index(event.index)
            motor = None if device is None else motors.get(device.name)
            if motor is not None and known.get(motor.name) != "":
                self.places[motor.name] = beyond(motor, event.value)
        self.is_over = bool(values) and all(
            self.places.get(each.name) == "" for each in motors.values()
        )
        return [text for name, text in self.places.items() if text and not known.get(name)]

    def _motors(self, devices: Devices) -> dict[str, Device]:
        """Return the motors with limits of position, by the device that reports where they are."""
        completed = [self._completed.get(each.name, each) for each in devices]
        found, free = {}, NO_LIMITS.bounds("position")
        for motor, known in zip(devices, completed, strict=True):
            if motor.role == MOTOR and motor.limits.bounds("position") != free:
                sensor = on_joint(completed, known, POSITION_SENSOR)
                found[motor.name if sensor is None else sensor.name] = motor
        return found

    def awaited(self, devices: Devices) -> list[Device]:
        """Return the sensors of motors with limits of position that have reported nothing yet."""
        waits = {
            name for name, each in self._motors(devices).items() if each.name not in self.places
        }
        return [each for each in devices if each.name in waits and each.role != MOTOR]
