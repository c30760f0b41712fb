"""Commands and messages of devices. `tag` is the device's number on the wire, from 1.

Fields have Webots' names and units. One class serves all devices whose message has this form.
"""

from __future__ import annotations

from hilgw.records import record

Triple = tuple[float, float, float]
Rows = tuple[Triple, ...]


@record
class OfDevice:
    """A command or message of the device with this tag."""

    tag: int


# --- configurations, from the simulator -----------------------------------------------------------


@record
class EmitterConfiguration(OfDevice):
    """byteRate: bytes per ms, -1 for an infinite one."""

    bufferSize: int
    channel: int
    byteRate: float
    range: float
    maxRange: float
    allowedChannels: tuple[int, ...] = ()


@record
class ReceiverConfiguration(OfDevice):
    """A Receiver; may be sent again."""

    bufferSize: int
    channel: int
    allowedChannels: tuple[int, ...] = ()


@record
class MotorConfiguration(OfDevice):
    """The configuration of a motor.

    type: 0 rotational, 1 linear. acceleration: -1 for unlimited. maxForce: N or N m. couplings:
    tags of the motors that move with this one.
    """

    type: int
    minPosition: float
    maxPosition: float
    maxVelocity: float
    acceleration: float
    maxForce: float
    p: float
    i: float
    d: float
    targetPosition: float
    targetVelocity: float
    multiplier: float
    couplings: tuple[int, ...] = ()


@record
class DistanceSensorConfiguration(OfDevice):
    """type: 0 generic, 1 infra-red, 2 sonar, 3 laser."""

    type: int
    minValue: float
    maxValue: float
    aperture: float
    lookupTable: Rows = ()


@record
class JointConfiguration(OfDevice):
    """A PositionSensor or a Brake. type: 0 rotational, 1 linear."""

    type: int


@record
class TableConfiguration(OfDevice):
    """A LightSensor, Accelerometer, Gyro or Compass."""

    lookupTable: Rows = ()


@record
class GpsConfiguration(OfDevice):
    """coordinateSystem: 0 local, 1 WGS84."""

    coordinateSystem: int


@record
class InertialUnitConfiguration(OfDevice):
    """coordinateSystem: "ENU" or "NUE"."""

    noise: float
    coordinateSystem: str


@record
class TouchSensorConfiguration(OfDevice):
    """type: 0 bumper, 1 force, 2 force-3d."""

    type: int
    lookupTable: Rows = ()


@record
class CameraConfiguration(OfDevice):
    """The configuration of a Camera.

    uid: of the camera in the simulator. Without a zoom both limits are the field of view, without a
    focus its numbers are 0.
    """

    uid: int
    width: int
    height: int
    fieldOfView: float
    near: float
    planar: bool
    minFieldOfView: float
    maxFieldOfView: float
    recognition: bool
    segmentation: bool
    exposure: float
    focalLength: float = 0.0
    focalDistance: float = 0.0
    minFocalDistance: float = 0.0
    maxFocalDistance: float = 0.0


# --- from the simulator ---------------------------------------------------------------------------


@record
class Value(OfDevice):
    """The value of a sensor of one number, or the force feedback of a motor.

    The sensors: DistanceSensor, LightSensor, PositionSensor, TouchSensor (bumper, force).
    """

    value: float


@record
class Values(OfDevice):
    """The values of an Accelerometer, Gyro, Compass, or TouchSensor (force-3d)."""

    values: Triple


@record
class GpsValues(OfDevice):
    """Position, speed, and speed vector of a GPS."""

    values: Triple
    speed: float
    speedVector: Triple


@record
class Quaternion(OfDevice):
    """The orientation of an InertialUnit: x, y, z, w."""

    values: tuple[float, float, float, float]


@record
class Receive(OfDevice):
    """One packet for a Receiver. channel: becomes the Receiver's own."""

    channel: int
    direction: Triple
    signalStrength: float
    data: bytes


@record
class ImageFile(OfDevice):
    """The file that a Camera's images are in, for a controller on a local socket.

    On TCP an image is a chunk of the answer. size: in bytes.
    """

    size: int
    path: str


@record
class AssociatedDevice(OfDevice):
    """The answer to GetAssociatedDevice and BrakeCommand. device: its tag, 0 for none."""

    device: int


@record
class SetBufferSize(OfDevice):
    """Of an Emitter."""

    bufferSize: int


@record
class SetAllowedChannels(OfDevice):
    """Of an Emitter."""

    allowedChannels: tuple[int, ...]


# --- both directions ------------------------------------------------------------------------------


@record
class SetChannel(OfDevice):
    """Of an Emitter, from both; of a Receiver, from the controller."""

    channel: int


@record
class SetRange(OfDevice):
    """Of an Emitter, from both; libController R2025a never sends it."""

    range: float


# --- from the controller --------------------------------------------------------------------------


@record
class Send(OfDevice):
    """One packet of an Emitter, with its channel and range as they were at `send`."""

    channel: int
    range: float
    data: bytes


@record
class SetSamplingPeriod(OfDevice):
    """Of a sensor or Receiver, in ms; 0: off."""

    period: int


@record
class GetAssociatedDevice(OfDevice):
    """Asks a motor or PositionSensor for the device of this node number on its joint."""

    node: int


@record
class BrakeCommand(OfDevice):
    """Sets the damping constant of a Brake, or asks for the device on its joint, or both.

    The device is that of this node number. None: not.
    """

    dampingConstant: float | None = None
    node: int | None = None


@record
class SetLed(OfDevice):
    """The colour or state of an LED."""

    value: int


@record
class SetFieldOfView(OfDevice):
    """Of a Camera with a zoom."""

    fieldOfView: float


@record
class SetFocalDistance(OfDevice):
    """Of a Camera with a focus."""

    distance: float


@record
class SetExposure(OfDevice):
    """Of a Camera."""

    exposure: float


@record
class SetPosition(OfDevice):
    """Of a motor; +infinity selects velocity control."""

    position: float


@record
class SetVelocity(OfDevice):
    """Of a motor."""

    velocity: float


@record
class SetAvailableForce(OfDevice):
    """Of a motor: force or torque."""

    force: float


@record
class SetForce(OfDevice):
    """Of a motor: selects control of force or torque."""

    force: float


@record
class SetFeedbackPeriod(OfDevice):
    """Of a motor's force or torque, in ms; 0: off."""

    period: int


@record
class SetAcceleration(OfDevice):
    """Of a motor; -1: unlimited."""

    acceleration: float


@record
class SetControlPid(OfDevice):
    """Of a motor."""

    p: float
    i: float
    d: float


DeviceMessage = (
    EmitterConfiguration
    | ReceiverConfiguration
    | MotorConfiguration
    | DistanceSensorConfiguration
    | JointConfiguration
    | TableConfiguration
    | GpsConfiguration
    | InertialUnitConfiguration
    | TouchSensorConfiguration
    | CameraConfiguration
    | Value
    | Values
    | GpsValues
    | Quaternion
    | Receive
    | ImageFile
    | AssociatedDevice
    | SetBufferSize
    | SetAllowedChannels
    | SetChannel
    | SetRange
)
DeviceCommand = (
    Send
    | SetChannel
    | SetRange
    | SetSamplingPeriod
    | GetAssociatedDevice
    | BrakeCommand
    | SetLed
    | SetFieldOfView
    | SetFocalDistance
    | SetExposure
    | SetPosition
    | SetVelocity
    | SetAvailableForce
    | SetForce
    | SetFeedbackPeriod
    | SetAcceleration
    | SetControlPid
)
