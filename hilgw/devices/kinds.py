"""The devices of a control loop, their quantities, and the limits of motors.

Kinds are Webots node names, quantities carry Webots' units (SI). A sensor reports a `Value`: a
float, or a tuple of floats for a vector; `Device.reports` names its numbers. A value that is
refused never reaches a motor: NaN never, infinity only as a motor's position (Webots reference
manual, Motor: position +infinity selects velocity control), -1 only where Webots gives it a
meaning.
"""

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hilgw.devices.properties import (
    DeviceFields,
    GpsFields,
    LookupTable,
    PositionSensorFields,
    TouchSensorFields,
)
from hilgw.errors import ConfigError
from hilgw.reasons import RequestReason, RequestRefused
from hilgw.settings import setting


def check_table(table: LookupTable) -> str:
    """Return what is wrong with a table; "" if it is valid."""
    for before, row in pairwise(table):
        if row[0] <= before[0]:
            return f"{row[0]:g} after {before[0]:g}: the first numbers of the rows must increase"
    return ""


def look_up(table: LookupTable, measured: float) -> float:
    """Return the value between two rows, on the straight line from one to the other.

    Beyond the table it is the value of its end; without rows, the measured number (Webots
    reference manual, DistanceSensor, Lookup Table). The third number of a row is noise, which a
    real sensor has by itself.
    """
    if not table:
        return measured
    place = bisect_right(table, measured, key=lambda row: row[0])
    if place == 0:
        return table[0][1]
    if place == len(table):
        return table[-1][1]
    (x0, y0, _), (x1, y1, _) = table[place - 1], table[place]
    return y0 + (y1 - y0) * (measured - x0) / (x1 - x0)


Value = float | tuple[float, ...]
"""What a sensor reports: a number, or as many numbers as `Device.reports` names."""

DISTANCE_SENSOR = "DistanceSensor"
POSITION_SENSOR = "PositionSensor"
LIGHT_SENSOR = "LightSensor"
TOUCH_SENSOR = "TouchSensor"
ACCELEROMETER = "Accelerometer"
GYRO = "Gyro"
COMPASS = "Compass"
GPS = "GPS"
INERTIAL_UNIT = "InertialUnit"
LED = "LED"
BRAKE = "Brake"
LINEAR_MOTOR = "LinearMotor"
ROTATIONAL_MOTOR = "RotationalMotor"
EMITTER = "Emitter"
RECEIVER = "Receiver"
CAMERA = "Camera"

# Roles. A device of a kind that KINDS does not list has the role OTHER: never set or read.
# An indicator moves nothing. A brake moves nothing by itself, but may release a load.
SENSOR = "sensor"
MOTOR = "motor"
PACKETS = "packets"
INDICATOR = "indicator"
HOLDER = "brake"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why a value is refused.

    reason: declared as a RequestReason; text: the same for people.
    """

    reason: str
    text: str

    def __post_init__(self) -> None:
        RequestReason.check(self.reason)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a device. low, high: the bounds; also: values allowed besides."""

    name: str
    unit: str = ""
    low: float = -math.inf
    high: float = sys.float_info.max
    also: tuple[float, ...] = ()

    def check(self, value: float) -> Refusal | None:
        """Return None when Webots allows the value, else the refusal."""
        if self.low <= value <= self.high:
            return (
                None
                if value > -math.inf
                else Refusal(RequestRefused.INFINITE, f"{self.name} is infinite")
            )
        if math.isnan(value):
            return Refusal(RequestRefused.NAN, f"{self.name} is NaN")
        if value in self.also:
            return None
        if math.isinf(value):
            return Refusal(RequestRefused.INFINITE, f"{self.name} is infinite")
        if value < self.low:
            return Refusal(
                RequestRefused.OUT_OF_RANGE, f"{self.name} {value:g} is below {self.low:g}"
            )
        return Refusal(
            RequestRefused.OUT_OF_RANGE, f"{self.name} {value:.10g} is above {self.high:.10g}"
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """value: the single quantity that the device reports, and that a single command sets.

    None for a vector, and where there is none. settings: the quantities that are set together, in
    order. direct: quantities that are set one at a time only. reports: the numbers of a value, in
    order. quantity: all that can be set, by name.
    """

    node: str
    role: str
    value: Quantity | None
    settings: tuple[Quantity, ...]
    direct: tuple[Quantity, ...] = ()
    vector: tuple[Quantity, ...] = ()
    reports: tuple[Quantity, ...] = field(init=False, compare=False, repr=False)
    quantity: dict[str, Quantity] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        quantities = {each.name: each for each in self.settings + self.direct}
        object.__setattr__(self, "quantity", quantities)
        one = () if self.value is None else (self.value,)
        object.__setattr__(self, "reports", self.vector or one)


def _motor(node: str, shown: str, length: str, force: str, unit: str) -> Kind:
    settings = (
        Quantity("position", length, also=(math.inf,)),
        Quantity("velocity", f"{length}/s"),
        Quantity("acceleration", f"{length}/s^2", low=0.0, also=(-1.0,)),
        Quantity(f"available_{force}", unit, low=0.0),
    )
    value = next(each for each in settings if each.name == shown)
    return Kind(node, MOTOR, value, settings, direct=(Quantity(force, unit),))


def _vector(unit: str, names: str = "x y z") -> tuple[Quantity, ...]:
    return tuple(Quantity(name, unit) for name in names.split())


def _sensor(node: str, unit: str = "") -> Kind:
    return Kind(node, SENSOR, Quantity("value", unit), (_PERIOD,))


def _vector_sensor(node: str, vector: tuple[Quantity, ...]) -> Kind:
    return Kind(node, SENSOR, None, (_PERIOD,), vector=vector)


_CHANNEL = Quantity("channel", low=-1.0)
_PERIOD = Quantity("period", "ms", low=0.0, high=2**31 - 1)  # an int of Webots' API
_SPEED = (Quantity("speed", "m/s"), *_vector("m/s", "speed_x speed_y speed_z"))
_LED_VALUE = Quantity("value", low=-(2.0**31), high=2.0**31 - 1)
_DAMPING = Quantity("damping", "N m s or N s/m", low=0.0)
PID_QUANTITIES = (
    Quantity("P", low=math.nextafter(0.0, 1.0)),
    Quantity("I", low=0.0),
    Quantity("D", low=0.0),
)
KINDS: dict[str, Kind] = {
    kind.node: kind
    for kind in (
        _sensor(DISTANCE_SENSOR),
        _sensor(POSITION_SENSOR, "rad"),
        _sensor(LIGHT_SENSOR),
        _sensor(TOUCH_SENSOR),
        _vector_sensor(ACCELEROMETER, _vector("m/s^2")),
        _vector_sensor(GYRO, _vector("rad/s")),
        _vector_sensor(COMPASS, _vector("")),
        _vector_sensor(GPS, _vector("m") + _SPEED),
        _vector_sensor(INERTIAL_UNIT, _vector("", "x y z w")),
        Kind(LED, INDICATOR, None, (_LED_VALUE,)),
        Kind(BRAKE, HOLDER, None, (_DAMPING,)),
        _motor(LINEAR_MOTOR, "position", "m", "force", "N"),
        _motor(ROTATIONAL_MOTOR, "velocity", "rad", "torque", "N m"),
        Kind(EMITTER, PACKETS, None, (_CHANNEL, Quantity("range", "m", low=0.0, also=(-1.0,)))),
        Kind(RECEIVER, PACKETS, None, (_CHANNEL, _PERIOD)),
    )
}
# Where a field of the node decides what the sensor reports.
_FORCE = (Quantity("value", "N"),)
_FORCE_3D = _vector("N")
_LENGTH = (Quantity("value", "m"),)
_WGS84 = (*_vector("deg", "latitude longitude"), Quantity("altitude", "m"), *_SPEED)


def _reports(kind: Kind, fields: DeviceFields | None) -> tuple[Quantity, ...]:
    match fields:
        case TouchSensorFields(type="force-3d"):
            return _FORCE_3D
        case TouchSensorFields(type="force"):
            return _FORCE
        case PositionSensorFields(type="linear"):
            return _LENGTH
        case GpsFields(gpsCoordinateSystem="WGS84"):
            return _WGS84
    return kind.reports


@dataclass(frozen=True, slots=True, kw_only=True)
class MotorLimits:
    """Limits of one motor besides Webots' own; not set: none. Units are the motor's: rad or m."""

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

    @property
    def bind_motion(self) -> bool:
        """True if position, velocity, acceleration or rate is limited.

        A force commanded directly would not keep to that.
        """
        unlimited = (-math.inf, math.inf)
        return (
            self.bounds("position") != unlimited
            or self.bounds("velocity") != unlimited
            or self.max_acceleration is not None
            or self.rate is not None
        )

    def bounds(self, name: str) -> tuple[float, float]:
        """Return the smallest and largest value of the setting of that name."""
        if name == "position":
            return _or(self.min_position, -math.inf), _or(self.max_position, math.inf)
        if name == "velocity":
            high = _or(self.max_velocity, math.inf)
            return _or(self.min_velocity, -high), high
        if name == "acceleration":
            return -math.inf, _or(self.max_acceleration, math.inf)
        force = _or(self.max_force, math.inf)
        return -force, force


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


NO_LIMITS = MotorLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a robot.

    index: Webots' device index. default: the position of a linear motor after a stop; None: it
    holds its position. fields: those of its node; None where neither the configuration nor the body
    has them: then Webots' defaults hold. zero_within: of a motor that may count from another zero
    after a restart: so far its position may be from the one before with its zero still the same;
    infinite: its zero is absolute. may_jump: its position may jump while it is connected, as
    reports come late or a user sets its zero.
    """

    name: str
    kind: str
    index: int
    limits: MotorLimits = NO_LIMITS
    default: float | None = None
    fields: DeviceFields | None = None
    zero_within: float = math.inf
    may_jump: bool = False

    @property
    def role(self) -> str:
        return KINDS[self.kind].role if self.kind in KINDS else OTHER

    @property
    def value(self) -> Quantity | None:
        """The quantity that the device reports and that one command sets."""
        return KINDS[self.kind].value if self.kind in KINDS else None

    @property
    def reports(self) -> tuple[Quantity, ...]:
        """The numbers of the device's `Value`.

        None where it reports nothing, one for a float, several for a tuple of as many floats.
        """
        return _reports(KINDS[self.kind], self.fields) if self.kind in KINDS else ()


@dataclass(slots=True)
class Devices:
    """The devices of one robot: by index, by name, and in the order of their indices."""

    _by_index: dict[int, Device] = field(default_factory=dict)
    _by_name: dict[str, Device] = field(default_factory=dict)

    def add(self, device: Device) -> None:
        """Add a device; of equal names, `by_name` returns the first.

        Raises:
            ConfigError: the index has a device already.
        """
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


def couplings(devices: Iterable[Device], motor: Device) -> list[Device]:
    """Return the other motors that move with this one: their names are equal up to "::".

    Source: Webots reference manual, Motor.
    """
    shared, coupled, _ = motor.name.partition("::")
    if not coupled:
        return []
    return [
        each
        for each in devices
        if each.role == MOTOR and each.index != motor.index and each.name.startswith(f"{shared}::")
    ]


def on_joint(devices: Iterable[Device], device: Device, kind: str) -> Device | None:
    """Return the first device of this kind on the joint of the device; None without one."""
    joint = getattr(device.fields, "joint", "")
    for other in devices:
        if joint and other.kind == kind and getattr(other.fields, "joint", "") == joint:
            return other
    return None


def unit_of(device: Device | None, setting: str) -> str:
    """Return the unit of a setting of a motor; "" if it is not known.

    "available" is short for available_force or available_torque.
    """
    known = KINDS[device.kind].quantity if device and device.kind in KINDS else {}
    return next((each.unit for name, each in known.items() if name.startswith(setting)), "")
