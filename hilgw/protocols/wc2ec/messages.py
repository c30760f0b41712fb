"""The messages of WC2EC, as they are on the wire, and what a decoder says beside them.

`type` is the node number the sender wrote: it decides the length of a body. `index` is Webots'
device index ("sensor id"): the device behind it decides what the body means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from hilgw.errors import PeerError


class Command(IntEnum):
    """Byte 0. 0..127 come from the Webots controller, 128..255 from the external controller."""

    REGISTER_SENSOR = 0
    SENSOR_DATA = 1
    ERROR = 127
    ENABLE_SENSOR = 128
    DISABLE_SENSOR = 129
    SET_VALUE = 130
    SET_SENSOR = 131


class Side(IntEnum):
    """Who sent a stream: the value is the lowest command of its half."""

    WEBOTS = 0
    EXTERNAL = 128


@dataclass(frozen=True, slots=True)
class RegisterSensor:
    """Command 0. name: as on the wire, at most 255 bytes, no NUL."""

    type: int
    index: int
    name: bytes


@dataclass(frozen=True, slots=True)
class SensorData:
    """Command 1, one number: a sensor's value, a linear motor's position, a rotational motor's
    velocity."""

    type: int
    index: int
    value: float


@dataclass(frozen=True, slots=True)
class PacketData:
    """Command 1 of a Receiver (extension): one packet it received."""

    type: int
    index: int
    channel: int
    signal_strength: float
    direction: tuple[float, float, float]
    data: bytes


@dataclass(frozen=True, slots=True)
class Error:
    """Command 127: the device failed, or what was asked of it was refused."""

    type: int
    index: int


@dataclass(frozen=True, slots=True)
class EnableSensor:
    """Command 128."""

    type: int
    index: int


@dataclass(frozen=True, slots=True)
class DisableSensor:
    """Command 129."""

    type: int
    index: int


@dataclass(frozen=True, slots=True)
class SetValue:
    """Command 130 of a motor: position of a linear one, velocity of a rotational one."""

    type: int
    index: int
    value: float


@dataclass(frozen=True, slots=True)
class SendPacket:
    """Command 130 of an Emitter (extension): send one packet."""

    type: int
    index: int
    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SetMotor:
    """Command 131 of a motor: all it can be told."""

    type: int
    index: int
    position: float
    velocity: float
    acceleration: float
    available: float


@dataclass(frozen=True, slots=True)
class SetPeriod:
    """Command 131 of a distance sensor: its sampling period in ms, 0 switches it off."""

    type: int
    index: int
    period: float


@dataclass(frozen=True, slots=True)
class SetEmitter:
    """Command 131 of an Emitter (extension)."""

    type: int
    index: int
    channel: int
    range: float


@dataclass(frozen=True, slots=True)
class SetReceiver:
    """Command 131 of a Receiver (extension); period in ms."""

    type: int
    index: int
    channel: int
    period: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A message whose end is known and which must not be obeyed. reason: a word to count."""

    command: int
    type: int
    index: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of the next message is unknowable: the last thing a decoder says.

    tail: the bytes from there on, at most 256, for the log; how many depends on the chunks.
    """

    error: PeerError = field(compare=False)
    text: str
    tail: bytes = field(default=b"", compare=False)


Sent = (
    RegisterSensor
    | SensorData
    | PacketData
    | Error
    | EnableSensor
    | DisableSensor
    | SetValue
    | SendPacket
    | SetMotor
    | SetPeriod
    | SetEmitter
    | SetReceiver
)
Message = Sent | Rejected | Failure
