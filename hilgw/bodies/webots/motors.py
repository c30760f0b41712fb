"""The motors of the robot in Webots: what the next request sets, and what stops them.

Velocity 0 stops a Webots motor in position control and in velocity control, and holds it. A motor
in force control is put in velocity control first: force 0 would let it roll.
"""

import math

from hilgw.control.events import Command, MotorCommand, MotorField, MotorPid, MotorSettings
from hilgw.control.limits import Slew
from hilgw.control.safety import MotorMode, mode_of
from hilgw.devices.kinds import LINEAR_MOTOR, Device
from hilgw.protocols.webots import codec
from hilgw.protocols.webots.device_messages import (
    MotorConfiguration,
    SetAcceleration,
    SetAvailableForce,
    SetControlPid,
    SetForce,
    SetPosition,
    SetVelocity,
)


class WebotsMotor:
    """A motor. velocity: as commanded last, which a stop does not change."""

    def __init__(self, device: Device, configuration: MotorConfiguration) -> None:
        self.device = device
        self._tag = configuration.tag
        # None: a connection before this one may have left the motor under a force.
        self._mode: MotorMode | None = None
        fastest = device.limits.bounds("velocity")[1]
        own = _finite(configuration.targetVelocity)
        self._velocity = min(own, fastest)
        self._is_too_fast = own > fastest  # in the world, until a velocity is set
        self._acceleration = configuration.acceleration
        self._available = configuration.maxForce
        self._is_stopped = False
        self._linear = device.kind == LINEAR_MOTOR
        start = _finite(configuration.targetPosition) if self._linear else 0.0
        self._slew = Slew(device.limits.rate, start, brakes=not self._linear)

    def apply(self, command: Command, now: int) -> list[codec.Command]:
        """Return a command that the control loop has checked, as commands on the wire."""
        self._mode = mode_of(command) or self._mode
        tag = self._tag
        if isinstance(command, MotorPid):
            return [SetControlPid(tag, command.p, command.i, command.d)]
        if isinstance(command, MotorSettings):
            return self._all(command, now)
        value = command.value
        match command.field:
            case MotorField.POSITION:
                return self._position(value, now)
            case MotorField.VELOCITY:
                self._velocity = value
                return [SetPosition(tag, math.inf), self._set_velocity(value, now)]
            case MotorField.ACCELERATION:
                self._acceleration = value
                return [SetAcceleration(tag, value)]
            case MotorField.FORCE | MotorField.TORQUE:
                return [SetForce(tag, value)]
        self._available = value
        return [SetAvailableForce(tag, value)]

    def _all(self, command: MotorSettings, now: int) -> list[codec.Command]:
        self._velocity = command.velocity
        position = command.position
        if self._linear:
            position = self._slew.aim(position, now)
        made: list[codec.Command] = [SetPosition(self._tag, position)]
        made.append(self._set_velocity(command.velocity, now))
        if command.acceleration != self._acceleration:
            self._acceleration = command.acceleration
            made.append(SetAcceleration(self._tag, command.acceleration))
        if command.available != self._available:
            self._available = command.available
            made.append(SetAvailableForce(self._tag, command.available))
        return made

    def _position(self, value: float, now: int) -> list[codec.Command]:
        """After a stop, a motor that gets a position needs its speed back.

        One whose own speed is beyond its limit gets the limit.
        """
        if self._linear:
            value = self._slew.aim(value, now)
        made: list[codec.Command] = [SetPosition(self._tag, value)]
        if (self._is_stopped or self._is_too_fast) and math.isfinite(value):
            self._is_stopped = self._is_too_fast = False
            made.append(SetVelocity(self._tag, abs(self._velocity)))
        return made

    def _set_velocity(self, value: float, now: int) -> SetVelocity:
        self._is_stopped = self._is_too_fast = False
        if not self._linear:
            value = self._slew.aim(value, now)
        return SetVelocity(self._tag, value)

    def expire(self, now: int) -> list[codec.Command]:
        value = None if self._is_stopped else self._slew.expire(now)
        if value is None:
            return []
        return [SetPosition(self._tag, value) if self._linear else SetVelocity(self._tag, value)]

    def stopping(self) -> list[codec.Command]:
        """Return the commands on the wire that stop the motor now.

        Changes nothing.
        """
        stop: list[codec.Command] = [SetVelocity(self._tag, 0.0)]
        return [SetPosition(self._tag, math.inf), *stop] if self._may_be_forced else stop

    @property
    def _may_be_forced(self) -> bool:
        return self._mode in (None, MotorMode.FORCE)

    def stop(self) -> Command:
        index = self.device.index
        command: Command = MotorCommand(index, MotorField.VELOCITY, 0.0)
        if self._may_be_forced:
            command = MotorSettings(index, math.inf, 0.0, self._acceleration, self._available)
            self._mode = MotorMode.VELOCITY
        self._is_stopped = True
        if not self._linear:
            self._slew.settle(0.0)
        return command


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
