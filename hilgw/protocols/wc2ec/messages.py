"""The messages of WC2EC as on the wire, and the other results of the decoder.

`type` is the node number from the wire: it sets the length of the body. `index` is Webots' device
index ("sensor id"): the device with this index sets the meaning of the body.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from hilgw.errors import PeerError
from hilgw.reasons import RequestReason


class Wc2ecRefused(RequestReason):
    """Reasons of the WC2EC sessions."""

    WRONG_HALF = "wrong_half", "a command that only the other end may send"
    EMPTY_PACKET = "empty_packet", "a packet without data"
    BAD_NAME = "bad_name", "the name of a device contains a NUL"
    INDEX_TAKEN = "index_taken", "another device has this index"
    TOO_MANY = "too_many", "more devices than WC2EC carries"
    NO_EXTENSIONS = "no_extensions", "packets need extensions: true"
    ORIGINAL_PEER = "original_peer", "the original program does not support this command"
    UNKNOWN_POSITION = "unknown_position", "the motor has not reported the position it needs"


class CommandByte(IntEnum):
    """Byte 0. 0..127 come from the Webots controller, 128..255 from the external controller."""

    REGISTER_SENSOR = 0
    SENSOR_DATA = 1
    ERROR = 127
    ENABLE_SENSOR = 128
    DISABLE_SENSOR = 129
    SET_VALUE = 130
    SET_SENSOR = 131


class Side(IntEnum):
    """The sender of a stream; the value is the lowest command of its half."""

    WEBOTS = 0
    EXTERNAL = 128


@dataclass(frozen=True, slots=True)
class OfDevice:
    """A message of the device with this type byte and index."""

    type: int
    index: int


@dataclass(frozen=True, slots=True)
class RegisterSensor(OfDevice):
    """Command 0. name: as on the wire, at most 255 bytes, no NUL."""

    name: bytes


@dataclass(frozen=True, slots=True)
class SensorData(OfDevice):
    """Command 1, one number.

    A sensor's value, a linear motor's position, a rotational motor's velocity.
    """

    value: float


@dataclass(frozen=True, slots=True)
class PacketData(OfDevice):
    """Command 1 of a Receiver (extension): one packet it received."""

    channel: int
    signal_strength: float
    direction: tuple[float, float, float]
    data: bytes


@dataclass(frozen=True, slots=True)
class Error(OfDevice):
    """Command 127: the device failed, or refused a request."""


@dataclass(frozen=True, slots=True)
class EnableSensor(OfDevice):
    """Command 128."""


@dataclass(frozen=True, slots=True)
class DisableSensor(OfDevice):
    """Command 129."""


@dataclass(frozen=True, slots=True)
class SetValue(OfDevice):
    """Command 130 of a motor: position of a linear one, velocity of a rotational one."""

    value: float


@dataclass(frozen=True, slots=True)
class SendPacket(OfDevice):
    """Command 130 of an Emitter (extension): send one packet."""

    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SetMotor(OfDevice):
    """Command 131 of a motor: all its settings."""

    position: float
    velocity: float
    acceleration: float
    available: float


@dataclass(frozen=True, slots=True)
class SetPeriod(OfDevice):
    """Command 131 of a distance sensor: its sampling period in ms, 0 switches it off."""

    period: float


@dataclass(frozen=True, slots=True)
class SetEmitter(OfDevice):
    """Command 131 of an Emitter (extension)."""

    channel: int
    range: float


@dataclass(frozen=True, slots=True)
class SetReceiver(OfDevice):
    """Command 131 of a Receiver (extension); period in ms."""

    channel: int
    period: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A complete message that must not be executed. reason: a machine word for the counts."""

    command: int
    type: int
    index: int
    reason: str
    text: str

    def __post_init__(self) -> None:
        RequestReason.check(self.reason)


@dataclass(frozen=True, slots=True)
class Failure:
    """The length of the next message is unknown: the last result of a decoder.

    tail: the undecoded bytes for the log, at most 256; their number depends on the chunks.
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
