"""The values that reach a device: Webots' own limits, those of the motor, and its rate.

The safety of a control loop checks every motor command with these rules, once, immediately before
the session of the body.
"""

import math

from hilgw.control.events import BrakeDamping, Command, LedValue, MotorCommand, MotorPid
from hilgw.devices.kinds import (
    BRAKE,
    KINDS,
    LED,
    LINEAR_MOTOR,
    MOTOR,
    NO_LIMITS,
    PID_QUANTITIES,
    Device,
    MotorLimits,
    Quantity,
    Refusal,
    Value,
)
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_MS, NS_PER_S

STEP_NS = 20 * NS_PER_MS
"""The commanded value changes on this grid; one command changes it by at most one step."""
REST_RAD, REST_M = 0.01, 0.0005  # how far a motor that holds its limit may be beyond it


def check_command(device: Device, command: Command) -> Refusal | None:
    """Check a command to this motor; None: allowed."""
    if isinstance(command, MotorCommand):
        return _check_setting(device, command.field, command.value)
    if isinstance(command, MotorPid):
        return _check_pid(device, command)
    return check_settings(
        device, (command.position, command.velocity, command.acceleration, command.available)
    )


def _check_setting(device: Device, name: str, value: float) -> Refusal | None:
    known = KINDS.get(device.kind)
    quantity = known.quantity.get(name) if known else None
    if quantity is None:
        return Refusal(RequestRefused.NO_SUCH_FIELD, f"{device.kind} '{device.name}' has no {name}")
    refusal = quantity.check(value)
    if refusal is None and device.limits is not NO_LIMITS:
        refusal = _check_limits(device.limits, quantity, value)
    if refusal is not None:
        return Refusal(refusal.reason, f"'{device.name}': {refusal.text}")
    return None


def check_value(device: Device, command: LedValue | BrakeDamping) -> Refusal | None:
    """Check a value for an LED or a brake; None: allowed."""
    wanted = LED if isinstance(command, LedValue) else BRAKE
    if device.kind != wanted:
        return Refusal(
            RequestRefused.NO_SUCH_FIELD, f"{device.kind} '{device.name}' is not a {wanted}"
        )
    value = command.value if isinstance(command, LedValue) else command.damping
    return check_settings(device, (value,))


def _check_pid(device: Device, command: MotorPid) -> Refusal | None:
    for quantity, value in zip(PID_QUANTITIES, (command.p, command.i, command.d), strict=True):
        refusal = quantity.check(value)
        if refusal is not None:
            return Refusal(refusal.reason, f"'{device.name}': {refusal.text}")
    return None


def check_settings(device: Device, values: tuple[float, ...]) -> Refusal | None:
    """Check all settings of the device at once, in the order of its kind; None: allowed."""
    known = KINDS.get(device.kind)
    if known is None or len(values) != len(known.settings):
        return Refusal(
            RequestRefused.NO_SUCH_FIELD, f"{device.kind} '{device.name}' has other settings"
        )
    for quantity, value in zip(known.settings, values, strict=True):
        refusal = _check_setting(device, quantity.name, value)
        if refusal is not None:
            return refusal
    if known.role == MOTOR and math.isfinite(values[0]) and values[1] < 0:
        return Refusal(
            RequestRefused.OUT_OF_RANGE,
            f"'{device.name}': velocity {values[1]:g} under position control",
        )
    return None


def _check_limits(limits: MotorLimits, quantity: Quantity, value: float) -> Refusal | None:
    low, high = limits.bounds(quantity.name)
    if quantity.name == "position" and math.isinf(value) and (low, high) != (-math.inf, math.inf):
        # Velocity control passes any position, so a limit of position excludes it.
        return Refusal(
            RequestRefused.BEYOND_LIMIT, "velocity control would ignore the limits of position"
        )
    if quantity.name in ("force", "torque") and limits.bind_motion:
        return Refusal(
            RequestRefused.BEYOND_LIMIT, f"{quantity.name} control would ignore the motor's limits"
        )
    if quantity.name == "acceleration" and value == -1 and high < math.inf:
        return Refusal(
            RequestRefused.BEYOND_LIMIT, f"unlimited acceleration is above {high:g} {quantity.unit}"
        )
    if low <= value <= high:
        return None
    side = f"below {low:g}" if value < low else f"above {high:g}"
    return Refusal(
        RequestRefused.BEYOND_LIMIT, f"{quantity.name} {value:g} is {side} {quantity.unit}"
    )


def beyond(motor: Device, position: Value) -> str:
    """Return in words where a motor is whose position is outside its limits; empty: within."""
    low, high = motor.limits.bounds("position")
    rest, unit = (REST_M, "m") if motor.kind == LINEAR_MOTOR else (REST_RAD, "rad")
    if isinstance(position, tuple) or low - rest <= position <= high + rest:
        return ""
    limit = f"below min_position, {low:g}" if position < low else f"above max_position, {high:g}"
    return f"'{motor.name}' is at {position:.4g} {unit}, {limit}"


def limit_errors(limits: MotorLimits, default: float | None) -> list[tuple[str, str]]:
    """Return the errors in one motor's configuration: (setting, message) each."""
    errors = []
    for name in ("position", "velocity"):
        low, high = limits.bounds(name)
        if low > high:
            errors.append((f"min_{name}", f"{low:g} is above max_{name}, {high:g}"))
    low, high = limits.bounds("velocity")
    if not low <= 0 <= high:
        errors.append(("max_velocity", "0, where the motor stops, must be allowed"))
    low, high = limits.bounds("position")
    if default is not None and not (math.isfinite(default) and low <= default <= high):
        errors.append(("default_position", f"{default:g} is outside the limits of position"))
    return errors


class Slew:
    """The rate limit of a motor: `value` follows the target at `rate` per second.

    rate None: it follows at once. brakes: the value is a velocity, and slowing down is never
    limited.
    """

    def __init__(self, rate: float | None, value: float = 0.0, *, brakes: bool = True) -> None:
        self.value = value
        self._rate = math.inf if rate is None else rate
        self._step = self._rate * STEP_NS / NS_PER_S
        self._brakes = brakes
        self._target = value
        self._moved_ns: int | None = None

    def aim(self, target: float, now: int) -> float:
        """Set the target; return the value to command now. Infinity selects a mode and passes."""
        self._target = target
        if self._rate == math.inf:
            self.value = target
            return target
        return self._move(now)

    def expire(self, now: int) -> float | None:
        """Return the next value on the way to the target, when it is due."""
        due = self.next_deadline()
        return None if due is None or now < due else self._move(now)

    def next_deadline(self) -> int | None:
        if self.value == self._target or self._moved_ns is None:
            return None
        return self._moved_ns + STEP_NS

    def settle(self, value: float = 0.0) -> None:
        """Take the value that a safety stop set without the limit."""
        self.value = self._target = value

    def _move(self, now: int) -> float:
        elapsed = STEP_NS if self._moved_ns is None else now - self._moved_ns
        self._moved_ns = now
        start, target = self.value, self._target
        if math.isinf(target) or math.isinf(start):
            self.value = target
            return target
        if self._brakes:
            # Slowing down is immediate; the other direction begins at 0.
            start = _nearer_zero(start, target)
        reach = min(self._step, self._rate * elapsed / NS_PER_S)
        self.value = min(max(target, start - reach), start + reach)
        return self.value


def _nearer_zero(start: float, target: float) -> float:
    if start * target <= 0:
        return 0.0
    return math.copysign(min(abs(start), abs(target)), start)
