"""The devices of a robot in Webots, from the messages that configure them (C_CONFIGURE)."""

from __future__ import annotations

import math
from typing import Any

from hilgw.devices.fields import UNLIMITED, EmitterFields, ReceiverFields
from hilgw.devices.kinds import LED, LINEAR_MOTOR
from hilgw.devices.properties import (
    COORDINATE_SYSTEMS,
    DISTANCE_SENSOR_TYPES,
    FIELDS,
    GPS_COORDINATE_SYSTEMS,
    JOINTS,
    TOUCH_SENSOR_TYPES,
    AccelerometerFields,
    BrakeFields,
    CompassFields,
    DeviceFields,
    DistanceSensorFields,
    GpsFields,
    GyroFields,
    InertialUnitFields,
    LedFields,
    LightSensorFields,
    LinearMotorFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
)
from hilgw.protocols.webots.codec import Message
from hilgw.protocols.webots.device_messages import (
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

BITS = 8
"""Of one byte: the wire has bytes per ms, and neither baudRate nor byteSize."""

_TABLES: dict[str, type[AccelerometerFields | CompassFields | GyroFields | LightSensorFields]] = {
    "Accelerometer": AccelerometerFields,
    "Compass": CompassFields,
    "Gyro": GyroFields,
    "LightSensor": LightSensorFields,
}


def fields_of(kind: str, model: str, message: Message | None) -> DeviceFields | None:
    """The fields of a device's node; None where it did not send its configuration, which a node
    without fields of its own (LED) does not."""
    match message:
        case None:
            return LedFields(model=model) if kind == LED else None
        case EmitterConfiguration():
            return _emitter(message, model)
        case ReceiverConfiguration(_, size, channel, allowed):
            return ReceiverFields(
                bufferSize=size, channel=channel, allowedChannels=allowed, model=model
            )
        case MotorConfiguration():
            return _motor(kind, message, model)
        case DistanceSensorConfiguration(_, number, _, _, aperture, table):
            kind_ = _choice(DISTANCE_SENSOR_TYPES, number)
            return DistanceSensorFields(
                type=kind_, aperture=aperture, lookupTable=table, model=model
            )
        case TouchSensorConfiguration(_, number, table):
            kind_ = _choice(TOUCH_SENSOR_TYPES, number)
            return TouchSensorFields(type=kind_, lookupTable=table, model=model)
        case TableConfiguration(_, table):
            return _TABLES[kind](lookupTable=table, model=model)
        case GpsConfiguration(_, number):
            system = _choice(GPS_COORDINATE_SYSTEMS, number)
            return GpsFields(gpsCoordinateSystem=system, model=model)
        case InertialUnitConfiguration(_, noise, axes):
            system = axes if axes in COORDINATE_SYSTEMS else COORDINATE_SYSTEMS[0]
            return InertialUnitFields(noise=noise, coordinateSystem=system, model=model)
        case JointConfiguration(_, number):
            joint = _choice(JOINTS, number)
            both = PositionSensorFields if kind == "PositionSensor" else BrakeFields
            return both(type=joint, model=model)
    return FIELDS[kind](model=model)


def _choice(names: tuple[str, ...], number: int) -> str:
    """The value of a field for its number on the wire; the default for an unknown number."""
    return names[number] if 0 <= number < len(names) else names[0]


def _emitter(message: EmitterConfiguration, model: str) -> EmitterFields:
    rate = message.byteRate
    baud = round(rate * 1000 * BITS) if 0 <= rate < math.inf else UNLIMITED
    return EmitterFields(
        bufferSize=message.bufferSize,
        channel=message.channel,
        baudRate=baud,
        byteSize=BITS,
        range=message.range,
        maxRange=message.maxRange,
        allowedChannels=message.allowedChannels,
        model=model,
    )


def _motor(
    kind: str, message: MotorConfiguration, model: str
) -> LinearMotorFields | RotationalMotorFields:
    fields: dict[str, Any] = {
        "minPosition": message.minPosition,
        "maxPosition": message.maxPosition,
        "maxVelocity": message.maxVelocity,
        "acceleration": message.acceleration,
        "controlPID": (message.p, message.i, message.d),
        "multiplier": message.multiplier,
        "position": message.targetPosition,
    }
    if kind == LINEAR_MOTOR:
        return LinearMotorFields(**fields, maxForce=message.maxForce, model=model)
    return RotationalMotorFields(**fields, maxTorque=message.maxForce, model=model)
