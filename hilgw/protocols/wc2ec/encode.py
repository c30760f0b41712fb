"""WC2EC messages to bytes."""

from __future__ import annotations

import math
import struct

from hilgw.errors import FrameError
from hilgw.protocols.wc2ec import layout
from hilgw.protocols.wc2ec.messages import (
    Command,
    DisableSensor,
    EnableSensor,
    Error,
    PacketData,
    RegisterSensor,
    SendPacket,
    SensorData,
    Sent,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
)

_HEADER = struct.Struct("<BBB")
_VALUE = struct.Struct("<BBBd")
_MOTOR = struct.Struct("<BBBdddd")


def encode(message: Sent) -> bytes:
    """The message on the wire.

    FrameError when it cannot be carried: a number that does not fit its field, NaN, an infinity
    that is no position, a name over 255 bytes or with a NUL, a packet over 65,536 bytes.
    """
    try:
        return _encode(message)
    except (struct.error, OverflowError) as error:
        raise FrameError(f"{message!r:.120} does not fit the wire: {error}") from None


def encode_value(number: int, index: int, value: float) -> bytes:
    """SensorData of a finite value, without the message: of many values a step, each counts."""
    return _VALUE.pack(Command.SENSOR_DATA, number, index, value)


def _encode(message: Sent) -> bytes:
    head = (message.type, message.index)
    match message:
        case SensorData(_, _, value):
            return _VALUE.pack(Command.SENSOR_DATA, *head, _finite(value))
        case SetValue(_, _, value):
            return _VALUE.pack(Command.SET_VALUE, *head, _position(value))
        case RegisterSensor(_, _, name):
            return _HEADER.pack(Command.REGISTER_SENSOR, *head) + _counted_name(name)
        case SetMotor(_, _, position, velocity, acceleration, available):
            rest = (_finite(velocity), _finite(acceleration), _finite(available))
            return _MOTOR.pack(Command.SET_SENSOR, *head, _position(position), *rest)
        case SetPeriod(_, _, period):
            return _VALUE.pack(Command.SET_SENSOR, *head, _finite(period))
        case Error():
            return _HEADER.pack(Command.ERROR, *head)
        case EnableSensor():
            return _HEADER.pack(Command.ENABLE_SENSOR, *head)
        case DisableSensor():
            return _HEADER.pack(Command.DISABLE_SENSOR, *head)
        case _:
            return _encode_extension(message)


def _encode_extension(message: SendPacket | PacketData | SetEmitter | SetReceiver) -> bytes:
    head = (message.type, message.index)
    match message:
        case SendPacket(_, _, channel, data):
            body = layout.SEND_PACKET.body.pack(channel, _size(data)) + data
            return _HEADER.pack(Command.SET_VALUE, *head) + body
        case PacketData(_, _, channel, strength, direction, data):
            numbers = (_finite(strength), *map(_finite, direction))
            body = layout.PACKET_DATA.body.pack(channel, *numbers, _size(data)) + data
            return _HEADER.pack(Command.SENSOR_DATA, *head) + body
        case SetEmitter(_, _, channel, range_m):
            body = layout.SET_EMITTER.body.pack(channel, _finite(range_m))
            return _HEADER.pack(Command.SET_SENSOR, *head) + body
        case SetReceiver(_, _, channel, period):
            body = layout.SET_RECEIVER.body.pack(channel, period)
            return _HEADER.pack(Command.SET_SENSOR, *head) + body


def _counted_name(name: bytes) -> bytes:
    if len(name) > layout.LONGEST_NAME or b"\0" in name:
        raise FrameError(f"name {name[:40]!r} is over {layout.LONGEST_NAME} bytes or has a NUL")
    return bytes((len(name),)) + name


def _size(data: bytes) -> int:
    if len(data) > layout.LONGEST_PACKET:
        raise FrameError(f"packet of {len(data)} bytes; the longest has {layout.LONGEST_PACKET}")
    return len(data)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise FrameError(f"{value} cannot be sent: only a position may be infinite")
    return value


def _position(value: float) -> float:
    return value if value == math.inf else _finite(value)
