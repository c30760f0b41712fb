"""Motor, Brake and LED."""

from __future__ import annotations

import math
from typing import Any

from hilgw.api._errors import is_period, report, report_disabled
from hilgw.api.devices.base import Device, HasBrake, HasMotor, HasPositionSensor
from hilgw.api.devices.states import BrakeState, LedState, MotorState
from hilgw.protocols.webots.device_messages import (
    SetAcceleration,
    SetAvailableForce,
    SetControlPid,
    SetFeedbackPeriod,
    SetForce,
    SetPosition,
    SetVelocity,
)


def _is_valid(
    setter: str, name: str, value: float, low: float = -math.inf, also: float = math.nan
) -> bool:
    """Whether an argument is valid; prints why it is not. low, also: the smallest value, and one
    below it that is valid too."""
    if math.isnan(value):
        report(f"wb_{setter}() called with an invalid '{name}' argument (NaN).")
    elif value < low and value != also:
        report(f"wb_{setter}() called with negative{' or zero' if low else ''} '{name}' argument.")
    else:
        return True
    return False


class Motor(HasBrake, HasPositionSensor):
    """A motor of a joint: rad, rad/s and N m; of a slider m, m/s and N."""

    kinds = ("RotationalMotor", "LinearMotor")
    _state: MotorState

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

    getAvailableTorque = getAvailableForce
    getMaxTorque = getMaxForce

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

    getTorqueFeedbackSamplingPeriod = getForceFeedbackSamplingPeriod

    def getTorqueFeedback(self) -> float:
        return self.torque_feedback

    @property
    def target_position(self) -> float:
        """+infinity: velocity control."""
        return self._state.position

    @target_position.setter
    def target_position(self, position: float) -> None:
        if not self._refused("position", "position", position):
            self._state.position = float(position)
            self._state.put(SetPosition(self.tag, position))

    @property
    def target_velocity(self) -> float:
        return self._state.velocity

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
        return self._state.acceleration

    @target_acceleration.setter
    def target_acceleration(self, acceleration: float) -> None:
        if not self._refused("acceleration", "acceleration", acceleration, 0.0, -1.0):
            self._state.acceleration = float(acceleration)
            self._state.put(SetAcceleration(self.tag, acceleration))

    @property
    def available_force(self) -> float:
        return self._state.available

    @available_force.setter
    def available_force(self, force: float) -> None:
        self._limit_force("force", force)

    @property
    def available_torque(self) -> float:
        return self._state.available

    @available_torque.setter
    def available_torque(self, torque: float) -> None:
        self._limit_force("torque", torque)

    @property
    def force_feedback_sampling_period(self) -> int:
        return self._state.feedback_period

    @force_feedback_sampling_period.setter
    def force_feedback_sampling_period(self, sampling_period: int) -> None:
        self._sample("force", sampling_period)

    @property
    def torque_feedback_sampling_period(self) -> int:
        return self._state.feedback_period

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

    max_torque = max_force

    @property
    def multiplier(self) -> float:
        """Of a coupled motor."""
        return float(self._configured("multiplier", math.nan))

    def _refused(self, setter: str, *checked: Any) -> bool:
        """checked: as of `_is_valid`."""
        return not _is_valid(f"motor_set_{setter}", *checked)

    def _apply_force(self, name: str, force: float) -> None:
        if not self._refused(name, name, force):
            self._state.put(SetForce(self.tag, force))

    def _limit_force(self, name: str, force: float) -> None:
        if not self._refused(f"available_{name}", name, force, 0.0):
            self._state.available = float(force)
            self._state.put(SetAvailableForce(self.tag, force))

    def _sample(self, name: str, period: int) -> None:
        if is_period(period, f"motor_enable_{name}_feedback"):
            self._state.feedback_period = period
            self._state.put(SetFeedbackPeriod(self.tag, period))

    def _feedback(self, name: str) -> float:
        if not self._state.feedback_period:
            report_disabled(f"motor_get_{name}_feedback", f"motor_enable_{name}_feedback")
        return self._state.feedback


class Brake(HasMotor, HasPositionSensor):
    """The brake of a joint."""

    kinds = ("Brake",)
    _state: BrakeState

    def setDampingConstant(self, c: float) -> None:
        if _is_valid("brake_set_damping_constant", "dampingConstant", c, 0.0):
            self._state.set(float(c))

    dampingConstant = property(fset=setDampingConstant)


class LED(Device):
    """value: 0 is off; the number of a colour, or a colour as 0xRRGGBB."""

    kinds = ("LED",)
    _state: LedState

    def set(self, v: int) -> None:
        self.value = v

    def get(self) -> int:
        return self.value

    @property
    def value(self) -> int:
        return self._state.value

    @value.setter
    def value(self, v: int) -> None:
        self._state.set(int(v))
