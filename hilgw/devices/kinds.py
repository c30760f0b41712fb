"""The devices of a control loop, their quantities, and the limits of motors.

Kinds are Webots node names, quantities carry Webots' units (SI). A value that is refused never
reaches a motor: NaN never, infinity only as a motor's position (Webots reference manual, Motor:
position +infinity selects velocity control), -1 only where Webots gives it a meaning.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hilgw.errors import ConfigError
from hilgw.settings import setting

DISTANCE_SENSOR = "DistanceSensor"
LINEAR_MOTOR = "LinearMotor"
ROTATIONAL_MOTOR = "RotationalMotor"
EMITTER = "Emitter"
RECEIVER = "Receiver"

# Roles. A device of a kind that KINDS does not list has the role OTHER: never set or read.
SENSOR = "sensor"
MOTOR = "motor"
PACKETS = "packets"
OTHER = "other"

# Reasons for a refusal, as they are counted.
NOT_A_NUMBER = "nan"
INFINITE = "infinite"
OUT_OF_RANGE = "out_of_range"  # outside what Webots allows at all
NO_SUCH_FIELD = "no_such_field"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value is refused. reason: a word to count; text: the same for people."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a device. low, high: the bounds; also: values allowed besides."""

    name: str
    unit: str = ""
    low: float = -math.inf
    high: float = sys.float_info.max
    also: tuple[float, ...] = ()

    def check(self, value: float) -> Refusal | None:
        """None when Webots allows the value."""
        if self.low <= value <= self.high:
            return None if value > -math.inf else Refusal(INFINITE, f"{self.name} is infinite")
        if math.isnan(value):
            return Refusal(NOT_A_NUMBER, f"{self.name} is NaN")
        if value in self.also:
            return None
        if math.isinf(value):
            return Refusal(INFINITE, f"{self.name} is infinite")
        if value < self.low:
            return Refusal(OUT_OF_RANGE, f"{self.name} {value:g} is below {self.low:g}")
        return Refusal(OUT_OF_RANGE, f"{self.name} {value:.10g} is above {self.high:.10g}")


@dataclass(frozen=True, slots=True)
class Kind:
    """value: the quantity that the device reports, and that a single command sets. settings: all
    quantities that can be set, in order; quantity: the same by name."""

    node: str
    role: str
    value: Quantity | None
    settings: tuple[Quantity, ...]
    quantity: dict[str, Quantity] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantity", {each.name: each for each in self.settings})


def _motor(node: str, shown: str, length: str, available: str, unit: str) -> Kind:
    settings = (
        Quantity("position", length, also=(math.inf,)),
        Quantity("velocity", f"{length}/s"),
        Quantity("acceleration", f"{length}/s^2", low=0.0, also=(-1.0,)),
        Quantity(available, unit, low=0.0),
    )
    return Kind(node, MOTOR, next(each for each in settings if each.name == shown), settings)


_CHANNEL = Quantity("channel", low=-1.0)
_PERIOD = Quantity("period", "ms", low=0.0, high=2**31 - 1)  # an int of Webots' API
KINDS: dict[str, Kind] = {
    kind.node: kind
    for kind in (
        Kind(DISTANCE_SENSOR, SENSOR, Quantity("value"), (_PERIOD,)),
        _motor(LINEAR_MOTOR, "position", "m", "available_force", "N"),
        _motor(ROTATIONAL_MOTOR, "velocity", "rad", "available_torque", "N m"),
        Kind(EMITTER, PACKETS, None, (_CHANNEL, Quantity("range", "m", low=0.0, also=(-1.0,)))),
        Kind(RECEIVER, PACKETS, None, (_CHANNEL, _PERIOD)),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MotorLimits:
    """Limits of one motor beside Webots' own; not set: none. Units are the motor's: rad or m."""

    min_position: float | None = setting(
        "smallest position", None, unit="rad or m", ge=-1_000_000_000, le=1_000_000_000
    )
    max_position: float | None = setting(
        "largest position", None, unit="rad or m", ge=-1_000_000_000, le=1_000_000_000
    )
    min_velocity: float | None = setting(
        "smallest velocity; not set: -max_velocity",
        None,
        unit="rad/s or m/s",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )
    max_velocity: float | None = setting(
        "largest velocity", None, unit="rad/s or m/s", ge=-1_000_000_000, le=1_000_000_000
    )
    max_acceleration: float | None = setting(
        "largest acceleration a controller may set",
        None,
        ge=0,
        unit="rad/s^2 or m/s^2",
        le=1_000_000_000,
    )
    max_force: float | None = setting(
        "largest available force or torque a controller may set",
        None,
        ge=0,
        unit="N or N m",
        le=1_000_000_000,
    )
    rate: float | None = setting(
        "largest rate of change of the commanded value; slowing down is never limited",
        None,
        gt=0,
        unit="rad/s or m, per second",
        le=1_000_000_000,
    )

    def bounds(self, name: str) -> tuple[float, float]:
        """Smallest and largest value of the setting of that name."""
        if name == "position":
            return _or(self.min_position, -math.inf), _or(self.max_position, math.inf)
        if name == "velocity":
            high = _or(self.max_velocity, math.inf)
            return _or(self.min_velocity, -high), high
        if name == "acceleration":
            return -math.inf, _or(self.max_acceleration, math.inf)
        return -math.inf, _or(self.max_force, math.inf)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


NO_LIMITS = MotorLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of a robot. index: Webots' device index. default: the position of a linear
    motor after a stop; None: it holds its position."""

    name: str
    kind: str
    index: int
    limits: MotorLimits = NO_LIMITS
    default: float | None = None

    @property
    def role(self) -> str:
        known = KINDS.get(self.kind)
        return known.role if known else OTHER

    @property
    def value(self) -> Quantity | None:
        """The quantity that the device reports and that one command sets."""
        known = KINDS.get(self.kind)
        return known.value if known else None


@dataclass(slots=True)
class Devices:
    """The devices of one robot: by index, by name, and in the order of their indices."""

    _by_index: dict[int, Device] = field(default_factory=dict)
    _by_name: dict[str, Device] = field(default_factory=dict)

    def add(self, device: Device) -> None:
        """ConfigError for a second device under one index. Of equal names, the first is found."""
        if device.index in self._by_index:
            raise ConfigError(
                f"device index {device.index} is taken by '{self._by_index[device.index].name}'",
                where=device.name,
            )
        in_order = not self._by_index or device.index > next(reversed(self._by_index))
        self._by_index[device.index] = device
        if not in_order:
            self._by_index = dict(sorted(self._by_index.items()))
        self._by_name.setdefault(device.name, device)

    def by_index(self, index: int) -> Device | None:
        return self._by_index.get(index)

    def by_name(self, name: str) -> Device | None:
        return self._by_name.get(name)

    def of_role(self, role: str) -> list[Device]:
        """The devices of a role, in order."""
        return [device for device in self if device.role == role]

    def clear(self) -> None:
        self._by_index.clear()
        self._by_name.clear()

    def __iter__(self) -> Iterator[Device]:
        return iter(self._by_index.values())

    def __len__(self) -> int:
        return len(self._by_index)

    def __contains__(self, index: Any) -> bool:
        return index in self._by_index
