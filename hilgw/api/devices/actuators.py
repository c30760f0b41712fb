"""Motor, Brake and LED."""

from __future__ import annotations

import math
from typing import Any

from hilgw.api import current
from hilgw.api._errors import report
from hilgw.api.devices.base import Device
from hilgw.api.devices.states import period_refusal
from hilgw.protocols.webots import (
    SetAcceleration,
    SetAvailableForce,
    SetControlPid,
    SetFeedbackPeriod,
    SetForce,
    SetPosition,
    SetVelocity,
)


def _refusal(name: str, value: float, low: float = -math.inf, also: float = math.nan) -> str | None:
    """low, also: the smallest value, and one below it that is valid too."""
    if math.isnan(value):
        return f"called with an invalid '{name}' argument (NaN)"
    if value < low and value != also:
        return f"called with negative{' or zero' if low else ''} '{name}' argument"
    return None


class Motor(Device):
    """A motor of a joint: rad, rad/s and N m; of a slider m, m/s and N."""

    ROTATIONAL, LINEAR = range(2)
    kinds = ("RotationalMotor", "LinearMotor")

    def setPosition(self, position: float) -> None:
        self.target_position = position

    def setVelocity(self, velocity: float) -> None:
        self.target_velocity = velocity

    def setAcceleration(self, acceleration: float) -> None:
        self.target_acceleration = acceleration

    def setAvailableForce(self, force: float) -> None:
        self.available_force = force

    def setAvailableTorque(self, torque: float) -> None:
        self.available_torque = torque

    def setForce(self, force: float) -> None:
        """Selects force control."""
        self._apply_force("force", force)

    def setTorque(self, torque: float) -> None:
        """Selects torque control."""
        self._apply_force("torque", torque)

    force = property(fset=setForce)
    torque = property(fset=setTorque)

    def setControlPID(self, p: float, i: float, d: float) -> None:
        gains = (("p", p, math.ulp(0.0)), ("i", i, 0.0), ("d", d, 0.0))
        for name, value, low in gains:
            if self._refused("control_pid", name, value, low):
                return
        self._state.put(SetControlPid(self.tag, p, i, d))

    def getTargetPosition(self) -> float:
        return self.target_position

    def getMinPosition(self) -> float:
        return self.min_position

    def getMaxPosition(self) -> float:
        return self.max_position

    def getVelocity(self) -> float:
        return self.target_velocity

    def getMaxVelocity(self) -> float:
        return self.max_velocity

    def getAcceleration(self) -> float:
        return self.target_acceleration

    def getAvailableForce(self) -> float:
        return self.available_force

    def getMaxForce(self) -> float:
        return self.max_force

    def getAvailableTorque(self) -> float:
        return self.available_torque

    def getMaxTorque(self) -> float:
        return self.max_torque

    def getMultiplier(self) -> float:
        return self.multiplier

    def enableForceFeedback(self, sampling_period: int) -> None:
        self.force_feedback_sampling_period = sampling_period

    def disableForceFeedback(self) -> None:
        self.force_feedback_sampling_period = 0

    def getForceFeedbackSamplingPeriod(self) -> int:
        return self.force_feedback_sampling_period

    def getForceFeedback(self) -> float:
        return self.force_feedback

    def enableTorqueFeedback(self, sampling_period: int) -> None:
        self.torque_feedback_sampling_period = sampling_period

    def disableTorqueFeedback(self) -> None:
        self.torque_feedback_sampling_period = 0

    def getTorqueFeedbackSamplingPeriod(self) -> int:
        return self.torque_feedback_sampling_period

    def getTorqueFeedback(self) -> float:
        return self.torque_feedback

    def getType(self) -> int:
        return self.type

    def getBrake(self) -> Any:
        return self.brake

    def getPositionSensor(self) -> Any:
        return self.position_sensor

    @property
    def type(self) -> int:
        return int(self._configured("type", self.ROTATIONAL))

    @property
    def brake(self) -> Any:
        """The Brake of the same joint, or None."""
        return current.associated(self._state, "Brake")

    @property
    def position_sensor(self) -> Any:
        """The PositionSensor of the same joint, or None."""
        return current.associated(self._state, "PositionSensor")

    @property
    def target_position(self) -> float:
        """+infinity: velocity control."""
        return float(self._state.position)

    @target_position.setter
    def target_position(self, position: float) -> None:
        if not self._refused("position", "position", position):
            self._state.position = float(position)
            self._state.put(SetPosition(self.tag, position))

    @property
    def target_velocity(self) -> float:
        return float(self._state.velocity)

    @target_velocity.setter
    def target_velocity(self, velocity: float) -> None:
        target = self._state.position
        if velocity < 0 and not math.isinf(target):
            report(
                "wb_motor_set_velocity() called with negative 'velocity' argument in position "
                f"control mode ({target:g})."
            )
        elif not self._refused("velocity", "velocity", velocity):
            self._state.velocity = float(velocity)
            self._state.put(SetVelocity(self.tag, velocity))

    @property
    def target_acceleration(self) -> float:
        """-1: unlimited."""
        return float(self._state.acceleration)

    @target_acceleration.setter
    def target_acceleration(self, acceleration: float) -> None:
        if not self._refused("acceleration", "acceleration", acceleration, 0.0, -1.0):
            self._state.acceleration = float(acceleration)
            self._state.put(SetAcceleration(self.tag, acceleration))

    @property
    def available_force(self) -> float:
        return float(self._state.available)

    @available_force.setter
    def available_force(self, force: float) -> None:
        self._limit_force("force", force)

    @property
    def available_torque(self) -> float:
        return float(self._state.available)

    @available_torque.setter
    def available_torque(self, torque: float) -> None:
        self._limit_force("torque", torque)

    @property
    def force_feedback_sampling_period(self) -> int:
        return int(self._state.feedback_period)

    @force_feedback_sampling_period.setter
    def force_feedback_sampling_period(self, sampling_period: int) -> None:
        self._sample("force", sampling_period)

    @property
    def torque_feedback_sampling_period(self) -> int:
        return int(self._state.feedback_period)

    @torque_feedback_sampling_period.setter
    def torque_feedback_sampling_period(self, sampling_period: int) -> None:
        self._sample("torque", sampling_period)

    @property
    def force_feedback(self) -> float:
        return self._feedback("force")

    @property
    def torque_feedback(self) -> float:
        return self._feedback("torque")

    @property
    def min_position(self) -> float:
        return float(self._configured("minPosition", math.nan))

    @property
    def max_position(self) -> float:
        """0 as the smallest one is: no limits."""
        return float(self._configured("maxPosition", math.nan))

    @property
    def max_velocity(self) -> float:
        return float(self._configured("maxVelocity", math.nan))

    @property
    def max_force(self) -> float:
        return float(self._configured("maxForce", math.nan))

    @property
    def max_torque(self) -> float:
        return float(self._configured("maxForce", math.nan))

    @property
    def multiplier(self) -> float:
        """Of a coupled motor."""
        return float(self._configured("multiplier", math.nan))

    def _refused(
        self,
        setter: str,
        name: str,
        value: float,
        low: float = -math.inf,
        also: float = math.nan,
    ) -> bool:
        refusal = _refusal(name, value, low, also)
        if refusal:
            report(f"wb_motor_set_{setter}() {refusal}.")
        return refusal is not None

    def _apply_force(self, name: str, force: float) -> None:
        if not self._refused(name, name, force):
            self._state.put(SetForce(self.tag, force))

    def _limit_force(self, name: str, force: float) -> None:
        if not self._refused(f"available_{name}", name, force, 0.0):
            self._state.available = float(force)
            self._state.put(SetAvailableForce(self.tag, force))

    def _sample(self, name: str, period: int) -> None:
        refusal = period_refusal(period)
        if refusal:
            report(f"wb_motor_enable_{name}_feedback() {refusal}.")
        else:
            self._state.feedback_period = period
            self._state.put(SetFeedbackPeriod(self.tag, period))

    def _feedback(self, name: str) -> float:
        if not self._state.feedback_period:
            report(
                f"wb_motor_get_{name}_feedback() called for a disabled device! "
                f"Please use: wb_motor_enable_{name}_feedback()."
            )
        return float(self._state.feedback)


class Brake(Device):
    """The brake of a joint."""

    ROTATIONAL, LINEAR = range(2)
    kinds = ("Brake",)

    def setDampingConstant(self, c: float) -> None:
        refusal = _refusal("dampingConstant", c, 0.0)
        if refusal:
            report(f"wb_brake_set_damping_constant() {refusal}.")
        else:
            self._state.set(float(c))

    dampingConstant = property(fset=setDampingConstant)

    def getType(self) -> int:
        return self.type

    def getMotor(self) -> Any:
        return self.motor

    def getPositionSensor(self) -> Any:
        return self.position_sensor

    @property
    def type(self) -> int:
        return int(self._configured("type", self.ROTATIONAL))

    @property
    def motor(self) -> Any:
        """The Motor of the same joint, or None."""
        kind = "LinearMotor" if self.type == self.LINEAR else "RotationalMotor"
        return current.associated(self._state, kind)

    @property
    def position_sensor(self) -> Any:
        """The PositionSensor of the same joint, or None."""
        return current.associated(self._state, "PositionSensor")


class LED(Device):
    """value: 0 is off; the number of a colour, or a colour as 0xRRGGBB."""

    kinds = ("LED",)

    def set(self, v: int) -> None:
        self.value = v

    def get(self) -> int:
        return self.value

    @property
    def value(self) -> int:
        return int(self._state.value)

    @value.setter
    def value(self, v: int) -> None:
        self._state.set(int(v))
