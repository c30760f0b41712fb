"""The fields of the Webots nodes of sensors, motors, LEDs and brakes: names, defaults, limits.

Webots reference manual, one section per node. A Webots controller gets them when it starts
(C_CONFIGURE). They describe the device; they do not limit motor commands
(`hilgw.devices.kinds.MotorLimits`). Fields that concern the simulation alone (rays, resolution,
noise that the library does not show) are left out. Emitter and Receiver: `hilgw.devices.fields`.
"""

import math
from collections.abc import Mapping
from typing import Any

from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.records import dataclass
from hilgw.settings import setting

LookupTable = tuple[tuple[float, float, float], ...]

JOINTS = ("rotational", "linear")
DISTANCE_SENSOR_TYPES = ("generic", "infra-red", "sonar", "laser")
TOUCH_SENSOR_TYPES = ("bumper", "force", "force-3d")
GPS_COORDINATE_SYSTEMS = ("local", "WGS84")
COORDINATE_SYSTEMS = ("ENU", "NUE")
WGS84 = "WGS84"
LINEAR = "linear"

_LARGEST = 1_000_000_000
MOST_PIXELS = 2048


def _lookup_table(default: LookupTable) -> Any:
    return setting(
        "rows of measured value, returned value, relative noise; empty: the measured value",
        default,
        ge=-_LARGEST,
        le=_LARGEST,
        example=[[0, 0, 0], [1, 1000, 0]],
    )


def _joint() -> Any:
    return setting(
        "name of its joint: a motor, a position sensor and a brake with the same joint belong "
        "together; empty: none",
        "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFields:
    """Fields of all nodes."""

    model: str = setting("model of the device, for the controller", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceSensorFields(NodeFields):
    """A DistanceSensor node."""

    type: str = setting("kind of sensor", "generic", choices=DISTANCE_SENSOR_TYPES)
    aperture: float = setting(
        "opening angle of the sensor", 1.5708, ge=0, le=2 * math.pi, unit="rad"
    )
    lookupTable: LookupTable = _lookup_table(((0.0, 0.0, 0.0), (0.1, 1000.0, 0.0)))

    @property
    def minValue(self) -> float:
        """The smallest value that the lookup table returns; an empty one returns distances."""
        return min((row[1] for row in self.lookupTable), default=0.0)

    @property
    def maxValue(self) -> float:
        """The largest value that the lookup table returns; an empty one returns distances."""
        return max((row[1] for row in self.lookupTable), default=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionSensorFields(NodeFields):
    """A PositionSensor node. Webots takes `type` from the node's joint."""

    type: str = setting("kind of joint", "rotational", choices=JOINTS)
    joint: str = _joint()


@dataclass(frozen=True, slots=True, kw_only=True)
class LightSensorFields(NodeFields):
    """A LightSensor node."""

    lookupTable: LookupTable = _lookup_table(((0.0, 0.0, 0.0), (1000.0, 1000.0, 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchSensorFields(NodeFields):
    """A TouchSensor node."""

    type: str = setting(
        "what it reports: 0 or 1, a force, or a force in three dimensions",
        "bumper",
        choices=TOUCH_SENSOR_TYPES,
    )
    lookupTable: LookupTable = _lookup_table(((0.0, 0.0, 0.0), (5000.0, 50000.0, 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccelerometerFields(NodeFields):
    """An Accelerometer node."""

    lookupTable: LookupTable = _lookup_table(())


@dataclass(frozen=True, slots=True, kw_only=True)
class GyroFields(NodeFields):
    """A Gyro node."""

    lookupTable: LookupTable = _lookup_table(())


@dataclass(frozen=True, slots=True, kw_only=True)
class CompassFields(NodeFields):
    """A Compass node."""

    lookupTable: LookupTable = _lookup_table(())


@dataclass(frozen=True, slots=True, kw_only=True)
class GpsFields(NodeFields):
    """A GPS node. Webots takes `gpsCoordinateSystem` from the WorldInfo node."""

    gpsCoordinateSystem: str = setting(
        "local: x, y, z in m; WGS84: latitude and longitude in degrees, altitude in m",
        "local",
        choices=GPS_COORDINATE_SYSTEMS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InertialUnitFields(NodeFields):
    """An InertialUnit node. Webots takes `coordinateSystem` from the WorldInfo node."""

    noise: float = setting(
        "standard deviation of the noise, for the controller", 0.0, ge=0, le=_LARGEST, unit="rad"
    )
    coordinateSystem: str = setting(
        "axes of the world: x east, y north, z up, or x north, y up, z east",
        "ENU",
        choices=COORDINATE_SYSTEMS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedFields(NodeFields):
    """An LED node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrakeFields(NodeFields):
    """A Brake node. Webots takes `type` from the node's joint."""

    type: str = setting("kind of joint", "rotational", choices=JOINTS)
    joint: str = _joint()


@dataclass(frozen=True, slots=True, kw_only=True)
class MotorFields(NodeFields):
    """Fields that RotationalMotor and LinearMotor nodes share.

    Motors whose names are equal up to "::" are coupled (`hilgw.devices.kinds.couplings`).
    """

    minPosition: float = setting(
        "smallest position; 0 with maxPosition 0: no limits",
        0.0,
        ge=-_LARGEST,
        le=_LARGEST,
        unit="rad or m",
    )
    maxPosition: float = setting(
        "largest position; 0 with minPosition 0: no limits",
        0.0,
        ge=-_LARGEST,
        le=_LARGEST,
        unit="rad or m",
    )
    maxVelocity: float = setting(
        "largest velocity, and the velocity at the start",
        10.0,
        ge=0,
        le=_LARGEST,
        unit="rad/s or m/s",
    )
    acceleration: float = setting(
        "acceleration; -1: unlimited",
        -1.0,
        ge=0,
        also=(-1,),
        le=_LARGEST,
        unit="rad/s^2 or m/s^2",
    )
    controlPID: tuple[float, float, float] = setting(
        "P, I and D of the position control", (10.0, 0.0, 0.0), ge=0, le=_LARGEST
    )
    multiplier: float = setting(
        "factor of the commands to coupled motors", 1.0, ge=-_LARGEST, le=_LARGEST
    )
    position: float = setting(
        "position of the joint at the start", 0.0, ge=-_LARGEST, le=_LARGEST, unit="rad or m"
    )
    joint: str = _joint()

    @property
    def targetPosition(self) -> float:
        """Before the first command."""
        return self.position

    @property
    def targetVelocity(self) -> float:
        """Before the first command."""
        return self.maxVelocity


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationalMotorFields(MotorFields):
    """A RotationalMotor node."""

    maxTorque: float = setting("largest torque", 10.0, ge=0, le=_LARGEST, unit="N m")

    @property
    def maxForceOrTorque(self) -> float:
        return self.maxTorque


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearMotorFields(MotorFields):
    """A LinearMotor node."""

    maxForce: float = setting("largest force", 10.0, ge=0, le=_LARGEST, unit="N")

    @property
    def maxForceOrTorque(self) -> float:
        return self.maxForce


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraFields(NodeFields):
    """A Camera node, in whose place the controller finds a black one: images are not carried."""

    absent: str = setting(
        "what a Webots controller finds in the camera's place; blank: a black camera",
        "",
        choices=("blank",),
        example="blank",
    )
    width: int = setting("columns of the image", 64, ge=1, le=MOST_PIXELS)
    height: int = setting("rows of the image", 64, ge=1, le=MOST_PIXELS)
    fieldOfView: float = setting(
        "horizontal opening angle", 0.7854, ge=0, le=2 * math.pi, unit="rad"
    )
    near: float = setting("distance of the near clipping plane", 0.01, ge=0, le=_LARGEST, unit="m")
    exposure: float = setting("exposure, for the controller", 1.0, ge=0, le=_LARGEST)

    @property
    def is_blank(self) -> bool:
        return bool(self.absent)

    @property
    def image(self) -> bytes:
        """Black: BGRA of each pixel."""
        return b"\0\0\0\xff" * (self.width * self.height)


DeviceFields = EmitterFields | ReceiverFields | NodeFields

FIELDS: dict[str, type[EmitterFields] | type[ReceiverFields] | type[NodeFields]] = {
    "Emitter": EmitterFields,
    "Receiver": ReceiverFields,
    "DistanceSensor": DistanceSensorFields,
    "PositionSensor": PositionSensorFields,
    "LightSensor": LightSensorFields,
    "TouchSensor": TouchSensorFields,
    "Accelerometer": AccelerometerFields,
    "Gyro": GyroFields,
    "Compass": CompassFields,
    "GPS": GpsFields,
    "InertialUnit": InertialUnitFields,
    "LED": LedFields,
    "Brake": BrakeFields,
    "RotationalMotor": RotationalMotorFields,
    "LinearMotor": LinearMotorFields,
    "Camera": CameraFields,
}
"""The fields of each node by its name, in the order of the documentation."""

NO_IMAGES = "camera images are not carried yet"
NOT_CARRIED = {
    "Lidar": "lidar images are not carried yet",
    "RangeFinder": "range images are not carried yet",
    "Radar": "radar targets are not carried yet",
    "Display": "display drawings are not carried yet",
    "Altimeter": "altimeters are not carried yet",
    "Connector": "connectors are not carried yet",
    "Pen": "pens are not carried yet",
    "Skin": "skins are not carried yet",
    "Speaker": "sounds are not carried yet",
    "Microphone": "sounds are not carried yet",
    "VacuumGripper": "vacuum grippers are not carried yet",
    "Supervisor": "supervisor functions are not carried yet",
    "Track": "tracks are not carried yet: list their motors",
    "Propeller": "propellers are not carried yet: list their motors",
}
"""Nodes of Webots robots that a control loop cannot carry, and the error for each."""


def blank_camera(name: str, fields: CameraFields | None = None) -> str:
    """Return the configuration line that gives a controller a black camera of this size.

    Without one, libController crashes when it enables the camera.
    """
    size = fields or CameraFields()
    camera = f"{{node: Camera, absent: blank, width: {size.width}, height: {size.height}}}"
    return f"write `{name}: {camera}` under `devices:` for a black one"


_NODES = {fields: node for node, fields in FIELDS.items()}


def node_of(fields: DeviceFields) -> str:
    """Return the name of the node with these fields."""
    return _NODES[type(fields)]


def mocked(fields: DeviceFields, names: Mapping[str, str]) -> str | dict[str, Any]:
    """Return a device for a mock: its node, with those fields that the file gives.

    Args:
        names: field -> name of it in the mock, for the fields that the mock has.
    """
    node, usual = node_of(fields), type(fields)()
    given = {
        mocks: getattr(fields, name)
        for name, mocks in names.items()
        if hasattr(fields, name) and getattr(fields, name) != getattr(usual, name)
    }
    return {"type_name": node, **given} if given else node
