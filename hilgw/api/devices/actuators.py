"""Motor, Brake and LED."""

import math
from typing import Any

from hilgw.api import current
from hilgw.api.arguments import integer, period, report, report_disabled
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

Motion = SetPosition | SetVelocity | SetForce


def _is_valid(
    setter: str, name: str, value: float, low: float = -math.inf, also: float = math.nan
) -> bool:
    """Return True for a valid argument; report an invalid one.

    `low` is the smallest value, and `also` one below it that is valid too.
    """
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
        if self._moves(SetPosition, "position", position):
            self._state.position = float(position)
            self._state.put(SetPosition(self.tag, position))

    def setVelocity(self, velocity: float) -> None:
        target = self._state.position
        if not self._moves(SetVelocity, "velocity", velocity):
            return
        if velocity < 0 and not math.isinf(target):
            report(
                "wb_motor_set_velocity() called with negative 'velocity' argument in position "
                f"control mode ({target:g})."
            )
            self._report_refusal(SetVelocity)
        else:
            self._state.velocity = float(velocity)
            self._state.put(SetVelocity(self.tag, velocity))

    def setAcceleration(self, acceleration: float) -> None:
        if not self._refused("acceleration", "acceleration", acceleration, 0.0, -1.0):
            self._state.acceleration = float(acceleration)
            self._state.put(SetAcceleration(self.tag, acceleration))

    def setAvailableForce(self, force: float) -> None:
        self._limit_force("force", force)

    def setAvailableTorque(self, torque: float) -> None:
        self._limit_force("torque", torque)

    def setForce(self, force: float) -> None:
        """Select force control."""
        self._apply_force("force", force)

    def setTorque(self, torque: float) -> None:
        """Select torque control."""
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
        """Return the target; +infinity means velocity control."""
        return self._state.position

    def getMinPosition(self) -> float:
        return float(self._configured("minPosition", math.nan))

    def getMaxPosition(self) -> float:
        """Return the largest position; 0, as the smallest one, means no limits."""
        return float(self._configured("maxPosition", math.nan))

    def getVelocity(self) -> float:
        return self._state.velocity

    def getMaxVelocity(self) -> float:
        return float(self._configured("maxVelocity", math.nan))

    def getAcceleration(self) -> float:
        """Return the acceleration; -1 means unlimited."""
        return self._state.acceleration

    def getAvailableForce(self) -> float:
        return self._state.available

    def getMaxForce(self) -> float:
        return float(self._configured("maxForce", math.nan))

    getAvailableTorque = getAvailableForce
    getMaxTorque = getMaxForce

    def getMultiplier(self) -> float:
        """Return the multiplier of a coupled motor."""
        return float(self._configured("multiplier", math.nan))

    def enableForceFeedback(self, sampling_period: int) -> None:
        self._sample("force", sampling_period)

    def disableForceFeedback(self) -> None:
        self.enableForceFeedback(0)

    def getForceFeedbackSamplingPeriod(self) -> int:
        return self._state.feedback_period

    def getForceFeedback(self) -> float:
        return self._feedback("force")

    def enableTorqueFeedback(self, sampling_period: int) -> None:
        self._sample("torque", sampling_period)

    def disableTorqueFeedback(self) -> None:
        self.enableTorqueFeedback(0)

    getTorqueFeedbackSamplingPeriod = getForceFeedbackSamplingPeriod

    def getTorqueFeedback(self) -> float:
        return self._feedback("torque")

    target_position = property(getTargetPosition, setPosition)
    target_velocity = property(getVelocity, setVelocity)
    target_acceleration = property(getAcceleration, setAcceleration)
    available_force = property(getAvailableForce, setAvailableForce)
    available_torque = property(getAvailableForce, setAvailableTorque)
    force_feedback_sampling_period = property(getForceFeedbackSamplingPeriod, enableForceFeedback)
    torque_feedback_sampling_period = property(getForceFeedbackSamplingPeriod, enableTorqueFeedback)
    force_feedback = property(getForceFeedback)
    torque_feedback = property(getTorqueFeedback)
    min_position = property(getMinPosition)
    max_position = property(getMaxPosition)
    max_velocity = property(getMaxVelocity)
    max_force = property(getMaxForce)
    max_torque = max_force
    multiplier = property(getMultiplier)

    def _refused(self, setter: str, *checked: Any) -> bool:
        """Return True for a rejected argument; `checked` is as for `_is_valid`.

        A motor that the robot does not have accepts nothing.
        """
        return not (_is_valid(f"motor_set_{setter}", *checked) and self.tag)

    def _moves(self, kind: type[Motion], name: str, value: float) -> bool:
        valid = False
        try:
            valid = not self._refused(name, name, value)
        finally:  # also where the program catches the error of a wrong type
            if not valid:
                self._report_refusal(kind)
        return valid

    def _report_refusal(self, kind: type[Motion]) -> None:
        """Report that a motion was rejected here.

        The gateway receives NaN, and stops a real motor, which would otherwise continue its last
        motion; Webots' own library sends nothing.
        """
        session = current.open_session()
        if self.tag and session is not None and session.has_gateway:
            other = self._state.waiting.find(kind, self.tag)  # a simulated motor still gets it
            put = self._state.put if other is None else session.put
            put(kind(self.tag, math.nan))

    def _apply_force(self, name: str, force: float) -> None:
        if self._moves(SetForce, name, force):
            self._state.put(SetForce(self.tag, force))

    def _limit_force(self, name: str, force: float) -> None:
        if not self._refused(f"available_{name}", name, force, 0.0):
            self._state.available = float(force)
            self._state.put(SetAvailableForce(self.tag, force))

    def _sample(self, name: str, ms: int) -> None:
        period_ms = period(ms, f"motor_enable_{name}_feedback")
        if period_ms is not None and self.tag:
            self._state.feedback_period = period_ms
            self._state.put(SetFeedbackPeriod(self.tag, period_ms))

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
    """A LED; value: 0 is off; the number of a colour, or a colour as 0xRRGGBB."""

    kinds = ("LED",)
    _state: LedState

    def set(self, v: int) -> None:
        value = integer(v, "led_set")
        if self.tag:
            self._state.set(value)

    def get(self) -> int:
        return self._state.value

    value = property(get, set)
