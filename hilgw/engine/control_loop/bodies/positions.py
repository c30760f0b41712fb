"""Positions of the motors of a body: limits, and lost zeros.

A first position outside comes from a setting inside the robot that hilgw does not know, such as
another zero, or from a robot that was left there. Either way the limits do not protect it. A motor
that counts from where it started, such as a servo of several turns, may report another
position after a restart, at the same place.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from hilgw.control.events import Event, SensorValue
from hilgw.control.limits import beyond
from hilgw.devices.kinds import (
    LINEAR_MOTOR,
    MOTOR,
    NO_LIMITS,
    POSITION_SENSOR,
    ROTATIONAL_MOTOR,
    Device,
    Devices,
    on_joint,
)
from hilgw.devices.properties import LinearMotorFields, RotationalMotorFields
from hilgw.units import ns_to_s


class Positions:
    """The positions of the motors of one body.

    places: where each motor that has reported its position in this connection was first outside its
    limits, in words; empty: within. lost: the position of a motor before it lost its zero. is_over:
    no value makes a difference any more.
    """

    def __init__(self, completed: Mapping[str, Device]) -> None:
        self.lost: dict[str, float] = {}
        self._completed = completed
        self._newest: dict[str, tuple[float, int | None]] = {}  # None: of an earlier connection
        self.begin()

    def begin(self) -> None:
        """Begin anew: the body has connected."""
        self.places: dict[str, str] = {}
        self.is_over = False
        self._newest = {name: (position, None) for name, (position, _) in self._newest.items()}

    def see(self, events: Sequence[Event], devices: Devices, now: int) -> list[str]:
        """Take the values among these events.

        Return the motors that are outside, or have lost their zero, and were not before, in words.
        """
        motors, known, lost = self._motors(devices), dict(self.places), set(self.lost)
        values = [event for event in events if isinstance(event, SensorValue)]
        for event in values:
            device = devices.by_index(event.index)
            motor = None if device is None else motors.get(device.name)
            if motor is None or isinstance(event.value, tuple):
                continue
            if motor.zero_within < math.inf:
                self._follow(motor, event.value, now)
            if known.get(motor.name) != "":
                self.places[motor.name] = beyond(motor, event.value)
        self.is_over = bool(values) and all(
            self.places.get(each.name) == "" and each.zero_within == math.inf
            for each in motors.values()
        )
        texts = [text for name, text in self.places.items() if text and not known.get(name)]
        return texts + self.lost_zeros(devices, lost)

    def _follow(self, motor: Device, position: float, now: int) -> None:
        """Follow a position: a zero is lost if it is farther from the last one than it can be."""
        was, then = self._newest.get(motor.name, (position, None))
        self._newest[motor.name] = position, now
        reach = motor.zero_within
        if then is not None:
            fields, fastest = motor.fields, 0.0
            if isinstance(fields, RotationalMotorFields | LinearMotorFields):
                fastest = fields.maxVelocity
            reach += math.inf if motor.may_jump else fastest * ns_to_s(now - then)
        if not abs(position - was) <= reach:
            self.lost.setdefault(motor.name, was)

    def lost_zeros(self, devices: Devices, accepted: Collection[str] = ()) -> list[str]:
        """Return the motors with a lost zero in words, without those that are accepted."""
        texts = []
        for name, was in self.lost.items():
            motor = devices.by_name(name)
            if name not in accepted and motor is not None:
                unit = "m" if motor.kind == LINEAR_MOTOR else "rad"
                texts.append(
                    f"'{name}' was {was:.4g} {unit}, is {self._newest[name][0]:.4g}: home it"
                )
        return texts

    def _motors(self, devices: Devices) -> dict[str, Device]:
        """Return the motors with limits of position, or a zero that they may lose.

        By the device that reports where they are.
        """
        completed = [self._completed.get(each.name, each) for each in devices]
        motors, free = {}, NO_LIMITS.bounds("position")
        for motor, known in zip(devices, completed, strict=True):
            is_free = motor.limits.bounds("position") == free and motor.zero_within == math.inf
            if motor.role == MOTOR and not is_free:
                sensor = on_joint(completed, known, POSITION_SENSOR)
                motors[motor.name if sensor is None else sensor.name] = motor
        return motors

    def driver(self, devices: Devices, sensor: Device) -> Device:
        """Return the motor on the joint of this sensor; the sensor itself where none is known."""
        completed = [self._completed.get(each.name, each) for each in devices]
        known = self._completed.get(sensor.name, sensor)
        motors = (on_joint(completed, known, kind) for kind in (ROTATIONAL_MOTOR, LINEAR_MOTOR))
        return next((each for each in motors if each is not None), sensor)

    def awaited(self, devices: Devices) -> list[Device]:
        """Return the sensors of these motors that have reported nothing yet."""
        waits = {
            name for name, each in self._motors(devices).items() if each.name not in self.places
        }
        return [each for each in devices if each.name in waits and each.role != MOTOR]
