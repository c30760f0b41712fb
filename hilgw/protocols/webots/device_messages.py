"""Commands and messages of devices. `tag` is the device's number on the wire, from 1.

Fields have Webots' names and units. One class serves all devices whose message has this form.
"""

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
    """The configuration of a DistanceSensor; type: 0 generic, 1 infra-red, 2 sonar, 3 laser."""

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
    """The configuration of a TouchSensor; type: 0 bumper, 1 force, 2 force-3d."""

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
class ValueMessage(OfDevice):
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
    """A packet for a Receiver. channel: becomes the Receiver's own."""

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
    """The new bufferSize of an Emitter."""

    bufferSize: int


@record
class SetAllowedChannels(OfDevice):
    """The new allowedChannels of an Emitter."""

    allowedChannels: tuple[int, ...]


# --- both directions ------------------------------------------------------------------------------


@record
class SetChannel(OfDevice):
    """The new channel of an Emitter, from both sides, or of a Receiver, from the controller."""

    channel: int


@record
class SetRange(OfDevice):
    """The new range of an Emitter, from both sides; libController R2025a never sends it."""

    range: float


# --- from the controller --------------------------------------------------------------------------


@record
class EmitterSend(OfDevice):
    """A packet of an Emitter, with its channel and range as they were at `send`."""

    channel: int
    range: float
    data: bytes


@record
class SetSamplingPeriod(OfDevice):
    """The new sampling period of a sensor or Receiver, in ms; 0: off."""

    period: int


@record
class GetAssociatedDevice(OfDevice):
    """The question for the device of this node number on the joint of a motor or PositionSensor."""

    node: int


@record
class BrakeCommand(OfDevice):
    """The new damping constant of a Brake, the question for a device on its joint, or both.

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
    """The new field of view of a Camera with a zoom."""

    fieldOfView: float


@record
class SetFocalDistance(OfDevice):
    """The new focal distance of a Camera with a focus."""

    distance: float


@record
class SetExposure(OfDevice):
    """The new exposure of a Camera."""

    exposure: float


@record
class SetPosition(OfDevice):
    """The new target position of a motor; +infinity selects velocity control."""

    position: float


@record
class SetVelocity(OfDevice):
    """The new velocity of a motor."""

    velocity: float


@record
class SetAvailableForce(OfDevice):
    """The new available force or torque of a motor."""

    force: float


@record
class SetForce(OfDevice):
    """The new force or torque of a motor, which selects control of it."""

    force: float


@record
class SetFeedbackPeriod(OfDevice):
    """The new period of a motor's force or torque feedback, in ms; 0: off."""

    period: int


@record
class SetAcceleration(OfDevice):
    """The new acceleration of a motor; -1: unlimited."""

    acceleration: float


@record
class SetControlPid(OfDevice):
    """The new controlPID of a motor."""

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
    | ValueMessage
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
    EmitterSend
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
