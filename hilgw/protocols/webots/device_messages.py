"""Commands and messages of devices. `tag` is the device's number on the wire, from 1.

Fields have Webots' names and units. One class serves all devices whose message has this form.
"""

from __future__ import annotations

from hilgw.records import record

Triple = tuple[float, float, float]
Rows = tuple[Triple, ...]

# --- configurations, from the simulator -----------------------------------------------------------


@record
class EmitterConfiguration:
    """byteRate: bytes per ms, -1 for an infinite one."""

    tag: int
    bufferSize: int
    channel: int
    byteRate: float
    range: float
    maxRange: float
    allowedChannels: tuple[int, ...] = ()


@record
class ReceiverConfiguration:
    """A Receiver; may be sent again."""

    tag: int
    bufferSize: int
    channel: int
    allowedChannels: tuple[int, ...] = ()


@record
class MotorConfiguration:
    """type: 0 rotational, 1 linear. acceleration: -1 for unlimited. maxForce: N or N m.
    couplings: tags of the motors that move with this one."""

    tag: int
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
class DistanceSensorConfiguration:
    """type: 0 generic, 1 infra-red, 2 sonar, 3 laser."""

    tag: int
    type: int
    minValue: float
    maxValue: float
    aperture: float
    lookupTable: Rows = ()


@record
class JointConfiguration:
    """A PositionSensor or a Brake. type: 0 rotational, 1 linear."""

    tag: int
    type: int


@record
class TableConfiguration:
    """A LightSensor, Accelerometer, Gyro or Compass."""

    tag: int
    lookupTable: Rows = ()


@record
class GpsConfiguration:
    """coordinateSystem: 0 local, 1 WGS84."""

    tag: int
    coordinateSystem: int


@record
class InertialUnitConfiguration:
    """coordinateSystem: "ENU" or "NUE"."""

    tag: int
    noise: float
    coordinateSystem: str


@record
class TouchSensorConfiguration:
    """type: 0 bumper, 1 force, 2 force-3d."""

    tag: int
    type: int
    lookupTable: Rows = ()


# --- from the simulator ---------------------------------------------------------------------------


@record
class Value:
    """The value of a DistanceSensor, LightSensor, PositionSensor, TouchSensor (bumper, force), or
    the force feedback of a motor."""

    tag: int
    value: float


@record
class Values:
    """The values of an Accelerometer, Gyro, Compass, or TouchSensor (force-3d)."""

    tag: int
    values: Triple


@record
class GpsValues:
    """Position, speed, and speed vector of a GPS."""

    tag: int
    values: Triple
    speed: float
    speedVector: Triple


@record
class Quaternion:
    """The orientation of an InertialUnit: x, y, z, w."""

    tag: int
    values: tuple[float, float, float, float]


@record
class Receive:
    """One packet for a Receiver. channel: becomes the Receiver's own."""

    tag: int
    channel: int
    direction: Triple
    signalStrength: float
    data: bytes


@record
class AssociatedDevice:
    """The answer to GetAssociatedDevice and BrakeCommand. device: its tag, 0 for none."""

    tag: int
    device: int


@record
class SetBufferSize:
    """Of an Emitter."""

    tag: int
    bufferSize: int


@record
class SetAllowedChannels:
    """Of an Emitter."""

    tag: int
    allowedChannels: tuple[int, ...]


# --- both directions ------------------------------------------------------------------------------


@record
class SetChannel:
    """Of an Emitter, from both; of a Receiver, from the controller."""

    tag: int
    channel: int


@record
class SetRange:
    """Of an Emitter, from both; libController R2025a never sends it."""

    tag: int
    range: float


# --- from the controller --------------------------------------------------------------------------


@record
class Send:
    """One packet of an Emitter, with its channel and range as they were at `send`."""

    tag: int
    channel: int
    range: float
    data: bytes


@record
class SetSamplingPeriod:
    """Of a sensor or Receiver, in ms; 0: off."""

    tag: int
    period: int


@record
class GetAssociatedDevice:
    """Asks a motor or PositionSensor for the device of this node number on its joint."""

    tag: int
    node: int


@record
class BrakeCommand:
    """Sets the damping constant of a Brake, or asks for the device of this node number on its
    joint, or both; None: not."""

    tag: int
    dampingConstant: float | None = None
    node: int | None = None


@record
class SetLed:
    """The colour or state of an LED."""

    tag: int
    value: int


@record
class SetPosition:
    """Of a motor; +infinity selects velocity control."""

    tag: int
    position: float


@record
class SetVelocity:
    """Of a motor."""

    tag: int
    velocity: float


@record
class SetAvailableForce:
    """Of a motor: force or torque."""

    tag: int
    force: float


@record
class SetForce:
    """Of a motor: selects control of force or torque."""

    tag: int
    force: float


@record
class SetFeedbackPeriod:
    """Of a motor's force or torque, in ms; 0: off."""

    tag: int
    period: int


@record
class SetAcceleration:
    """Of a motor; -1: unlimited."""

    tag: int
    acceleration: float


@record
class SetControlPid:
    """Of a motor."""

    tag: int
    p: float
    i: float
    d: float


DeviceConfiguration = (
    EmitterConfiguration
    | ReceiverConfiguration
    | MotorConfiguration
    | DistanceSensorConfiguration
    | JointConfiguration
    | TableConfiguration
    | GpsConfiguration
    | InertialUnitConfiguration
    | TouchSensorConfiguration
)
DeviceMessage = (
    DeviceConfiguration
    | Value
    | Values
    | GpsValues
    | Quaternion
    | Receive
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
    | SetPosition
    | SetVelocity
    | SetAvailableForce
    | SetForce
    | SetFeedbackPeriod
    | SetAcceleration
    | SetControlPid
)
