"""Data that a Webots controller gets about the robot and each device when it starts: C_CONFIGURE.

Fields that neither the configuration nor the body has are those of a new node in Webots.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, cast

from hilgw.devices.fields import UNLIMITED, EmitterFields, ReceiverFields
from hilgw.devices.kinds import CAMERA, Device, Devices, couplings, on_joint
from hilgw.devices.properties import (
    DISTANCE_SENSOR_TYPES,
    FIELDS,
    GPS_COORDINATE_SYSTEMS,
    JOINTS,
    NO_IMAGES,
    TOUCH_SENSOR_TYPES,
    AccelerometerFields,
    BrakeFields,
    CameraFields,
    CompassFields,
    DeviceFields,
    DistanceSensorFields,
    GpsFields,
    GyroFields,
    InertialUnitFields,
    LightSensorFields,
    LinearMotorFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
    blank_camera,
)
from hilgw.protocols.webots.codec import NEWEST, Codec, Message
from hilgw.protocols.webots.configuration import MOST_DEVICES
from hilgw.protocols.webots.device_messages import (
    CameraConfiguration,
    DeviceMessage,
    DistanceSensorConfiguration,
    EmitterConfiguration,
    GpsConfiguration,
    InertialUnitConfiguration,
    JointConfiguration,
    MotorConfiguration,
    ReceiverConfiguration,
    TableConfiguration,
    TouchSensorConfiguration,
)
from hilgw.protocols.webots.forms import KINDS
from hilgw.protocols.webots.robot_messages import DeviceEntry, RobotConfiguration
from hilgw.protocols.webots.wire import WebotsRefused
from hilgw.reasons import RequestRefused
from hilgw.units import ns_to_s

UNLIMITED_ACCELERATION = -1.0

_Table = AccelerometerFields | CompassFields | GyroFields | LightSensorFields


class TagTable:
    """Tags are 1, 2, ... in the order of the devices' indices, from the configuration on.

    robot: what the controller learns about it, without its devices and the time. version: of its
    library, which compares it; empty: not known.
    """

    def __init__(self, robot: RobotConfiguration, version: str) -> None:
        self.robot = robot if robot.version else dataclasses.replace(robot, version=version)
        self.codec = Codec(version or NEWEST)
        self.devices: dict[int, Device] = {}  # by tag
        self.tags: dict[int, int] = {}  # by device index

    def refusal(self, device: Device, known: Devices) -> tuple[str, str] | None:
        """Return why the robot cannot have this device: reason and text; None when it can."""
        fields = device.fields
        if device.kind == CAMERA and not (isinstance(fields, CameraFields) and fields.is_blank):
            text = f"{NO_IMAGES}: '{device.name}' is left out; {blank_camera(device.name)}"
            return WebotsRefused.UNSUPPORTED, text
        if device.kind not in KINDS:
            return (
                WebotsRefused.UNSUPPORTED,
                f"{device.kind} '{device.name}' is not supported, and left out",
            )
        if len(known) >= MOST_DEVICES:
            return WebotsRefused.TOO_MANY, f"a robot has at most {MOST_DEVICES} devices"
        if "\0" in device.name:
            return RequestRefused.UNSENDABLE, f"the name {device.name!r} has a NUL"
        return None

    def assign(self, devices: Devices) -> None:
        """Give all devices their tags."""
        self.devices = dict(enumerate(devices, 1))
        self.tags = {device.index: tag for tag, device in self.devices.items()}
        self.codec.forget()

    def configuration(self, time_ns: int, **now: Any) -> list[Message]:
        """Return the configuration of the robot, then that of each device."""
        entries = tuple(
            DeviceEntry(self.codec.number(device.kind), device.name, fields_of(device).model)
            for device in self.devices.values()
        )
        devices = list(self.devices.values())
        configurations = [configuration_of(device, self.tags, devices) for device in devices]
        return [
            dataclasses.replace(self.robot, devices=entries, time=ns_to_s(time_ns), **now),
            *(each for each in configurations if each is not None),
        ]

    def on_joint(self, tag: int, node: int) -> int:
        """Return the tag of the device of this node number on a device's joint; 0 without one."""
        other = on_joint(self.devices.values(), self.devices[tag], self.codec.kind(node))
        return 0 if other is None else self.tags[other.index]


def fields_of(device: Device) -> DeviceFields:
    """Return the fields of the device's node; without any, those of a new one."""
    return FIELDS[device.kind]() if device.fields is None else device.fields


def motor_of(device: Device) -> MotorConfiguration:
    """Return the fields of a motor, with tag 0 and without couplings.

    Where the motor's own limits are stricter, these, so that the controller starts with values
    that they allow.
    """
    fields = cast("LinearMotorFields | RotationalMotorFields", fields_of(device))
    limits = device.limits
    low, high = fields.minPosition, fields.maxPosition
    if None not in (limits.min_position, limits.max_position):
        low, high = limits.bounds("position")
    velocity = min(fields.maxVelocity, limits.bounds("velocity")[1])
    acceleration = fields.acceleration
    if limits.max_acceleration is not None:
        unlimited = acceleration == UNLIMITED_ACCELERATION
        acceleration = (
            limits.max_acceleration if unlimited else min(acceleration, limits.max_acceleration)
        )
    return MotorConfiguration(
        tag=0,
        type=int(isinstance(fields, LinearMotorFields)),
        minPosition=low,
        maxPosition=high,
        maxVelocity=velocity,
        acceleration=acceleration,
        maxForce=min(fields.maxForceOrTorque, limits.bounds("available_force")[1]),
        p=fields.controlPID[0],
        i=fields.controlPID[1],
        d=fields.controlPID[2],
        targetPosition=fields.targetPosition,
        targetVelocity=velocity,
        multiplier=fields.multiplier,
    )


def configuration_of(
    device: Device, tags: Mapping[int, int], devices: Iterable[Device]
) -> DeviceMessage | None:
    """Return C_CONFIGURE of a device; None for an LED, which has none.

    Args:
        tags: device index -> tag.
        devices: all of the robot, for couplings.
    """
    tag = tags[device.index]
    match fields_of(device):
        case EmitterFields() as emitter:
            return _emitter(tag, emitter)
        case ReceiverFields() as receiver:
            own = receiver.bufferSize, receiver.channel, receiver.allowedChannels
            return ReceiverConfiguration(tag, *own)
        case LinearMotorFields() | RotationalMotorFields():
            return _motor(tag, device, tags, devices)
        case DistanceSensorFields() as distance:
            return DistanceSensorConfiguration(
                tag,
                DISTANCE_SENSOR_TYPES.index(distance.type),
                distance.minValue,
                distance.maxValue,
                distance.aperture,
                distance.lookupTable,
            )
        case TouchSensorFields(type=kind, lookupTable=table):
            return TouchSensorConfiguration(tag, TOUCH_SENSOR_TYPES.index(kind), table)
        case PositionSensorFields(type=kind) | BrakeFields(type=kind):
            return JointConfiguration(tag, JOINTS.index(kind))
        case GpsFields(gpsCoordinateSystem=system):
            return GpsConfiguration(tag, GPS_COORDINATE_SYSTEMS.index(system))
        case InertialUnitFields(noise=noise, coordinateSystem=system):
            return InertialUnitConfiguration(tag, noise, system)
        case CameraFields() as camera:
            return CameraConfiguration(  # without zoom, focus and recognition, as a new node
                tag,
                uid=tag,
                width=camera.width,
                height=camera.height,
                fieldOfView=camera.fieldOfView,
                near=camera.near,
                planar=True,
                minFieldOfView=camera.fieldOfView,
                maxFieldOfView=camera.fieldOfView,
                recognition=False,
                segmentation=False,
                exposure=camera.exposure,
            )
        case AccelerometerFields() | CompassFields() | GyroFields() | LightSensorFields() as sensor:
            return TableConfiguration(tag, sensor.lookupTable)
    return None


def _emitter(tag: int, fields: EmitterFields) -> EmitterConfiguration:
    endless = fields.baudRate == UNLIMITED
    byte_rate = -1.0 if endless else fields.baudRate / fields.byteSize / 1000
    return EmitterConfiguration(
        tag,
        fields.bufferSize,
        fields.channel,
        byte_rate,
        fields.range,
        fields.maxRange,
        fields.allowedChannels,
    )


def _motor(
    tag: int, device: Device, tags: Mapping[int, int], devices: Iterable[Device]
) -> MotorConfiguration:
    coupled = [tags[each.index] for each in couplings(devices, device) if each.index in tags]
    return dataclasses.replace(motor_of(device), tag=tag, couplings=tuple(coupled))
