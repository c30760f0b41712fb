"""The messages of WC2EC as on the wire, and the other results of the decoder.

`type` is the node number from the wire: it sets the length of the body. `index` is Webots' device
index ("sensor id"): the device with this index sets the meaning of the body.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from hilgw.devices import nodes
from hilgw.devices.kinds import (
    DISTANCE_SENSOR,
    EMITTER,
    KINDS,
    LINEAR_MOTOR,
    RECEIVER,
    ROTATIONAL_MOTOR,
)
from hilgw.errors import ConfigError, PeerError
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


HEADER_BYTES = 3
LONGEST_NAME = 255
LONGEST_PACKET = 65_536
MOST_DEVICES = 255
"""Indices are 0..254: the original implementation refuses more than 255 devices."""


class Layout(NamedTuple):
    """The layout of one body.

    body: its numbers. message: the message class, called with type, index and these numbers.
    counted: the last number is the length of a packet that follows.
    """

    body: struct.Struct
    message: Callable[..., Sent]
    counted: bool = False


_ONE = struct.Struct("<d")
_FOUR = struct.Struct("<dddd")
ORIGINAL: dict[tuple[int, str], Layout] = {
    (CommandByte.SENSOR_DATA, DISTANCE_SENSOR): Layout(_ONE, SensorData),
    (CommandByte.SENSOR_DATA, LINEAR_MOTOR): Layout(_ONE, SensorData),
    (CommandByte.SENSOR_DATA, ROTATIONAL_MOTOR): Layout(_ONE, SensorData),
    (CommandByte.SET_VALUE, LINEAR_MOTOR): Layout(_ONE, SetValue),
    (CommandByte.SET_VALUE, ROTATIONAL_MOTOR): Layout(_ONE, SetValue),
    (CommandByte.SET_SENSOR, DISTANCE_SENSOR): Layout(_ONE, SetPeriod),
    (CommandByte.SET_SENSOR, LINEAR_MOTOR): Layout(_FOUR, SetMotor),
    (CommandByte.SET_SENSOR, ROTATIONAL_MOTOR): Layout(_FOUR, SetMotor),
}
EXTENSION: dict[tuple[int, str], Layout] = {
    (CommandByte.SENSOR_DATA, RECEIVER): Layout(struct.Struct("<iddddI"), PacketData, counted=True),
    (CommandByte.SET_VALUE, EMITTER): Layout(struct.Struct("<iI"), SendPacket, counted=True),
    (CommandByte.SET_SENSOR, EMITTER): Layout(struct.Struct("<id"), SetEmitter),
    (CommandByte.SET_SENSOR, RECEIVER): Layout(struct.Struct("<ii"), SetReceiver),
}
BODILESS: dict[int, type[Error | EnableSensor | DisableSensor]] = {
    CommandByte.ERROR: Error,
    CommandByte.ENABLE_SENSOR: EnableSensor,
    CommandByte.DISABLE_SENSOR: DisableSensor,
}
FORMS: dict[Callable[..., Sent], tuple[int, struct.Struct]] = {
    layout.message: (command, layout.body)
    for (command, _), layout in (ORIGINAL | EXTENSION).items()
}
"""The command and the body of each message. The body of a registration is a name."""
for _command, _message in (*BODILESS.items(), (CommandByte.REGISTER_SENSOR, RegisterSensor)):
    FORMS[_message] = _command, struct.Struct("")

_UNNAMED = re.compile(r"node (\d{1,3})")
# The WC2EC document uses 37 for a distance sensor; in its Webots version, R2020a, 37 is DISPLAY.
# For R2020a both numbers mean a distance sensor.
_ALIASES = {"R2020a": {37: DISTANCE_SENSOR}}
_DOCUMENT = {DISTANCE_SENSOR: 37, LINEAR_MOTOR: 46, ROTATIONAL_MOTOR: 53}
"""The numbers that the WC2EC document lists; no version of Webots has all three."""


class Numbers:
    """Node numbers (WbNodeType) of one Webots version; ConfigError for an unknown version.

    document: the three numbers that the WC2EC document lists replace those of the version, which
    are still accepted.
    """

    def __init__(self, version: str, *, document: bool = False) -> None:
        self.version = version
        listed = _DOCUMENT if document else {}
        of_version = {kind: nodes.number(version, nodes.of_kind(kind)) for kind in KINDS}
        self._listed = {number: kind for kind, number in listed.items()}
        self._numbers = of_version | listed
        self._kinds = {number: kind for kind, number in of_version.items()}
        self._kinds |= _ALIASES.get(version.strip()[:6], {}) | self._listed

    def number(self, kind: str) -> int:
        """Return the number of a node by its Webots name, or by the name "node N" of `kind`.

        Raises:
          ConfigError: this version has no such node, or its number means another one to the
              peer.
        """
        number = self._number(kind)
        meant = self._listed.get(number, kind)
        if meant != kind:
            raise ConfigError(
                f"{kind} has the number {number}, which the WC2EC document gives to {meant}",
                fix="use wc2ec_types: webots",
            )
        return number

    def _number(self, kind: str) -> int:
        own = self._numbers.get(kind)
        if own is None and (unnamed := _UNNAMED.fullmatch(kind)):
            return int(unnamed[1])
        return nodes.number(self.version, nodes.of_kind(kind)) if own is None else own

    def known(self, kind: str) -> list[int]:
        """Return all numbers that mean this node: its own, and an alias."""
        return [number for number, each in self._kinds.items() if each == kind]

    def kind(self, number: int) -> str:
        """Return the Webots node name of a number; "node N" if there is none."""
        kind = self._kinds.get(number)
        if kind is not None:
            return kind
        name = nodes.name(self.version, number)
        return f"node {number}" if name is None else nodes.kind_of(name)


class Layouts:
    """The bodies of one connection.

    types: the source of the numbers, "webots" (the version) or "document" (see `Numbers`).
    extensions: includes those of Emitter and Receiver.
    """

    def __init__(self, version: str, *, types: str = "webots", extensions: bool = False) -> None:
        self.numbers = Numbers(version, document=types == "document")
        self.of_kind = ORIGINAL | EXTENSION if extensions else ORIGINAL
        self.of_type = {
            (int(command), number): layout
            for (command, kind), layout in self.of_kind.items()
            for number in self.numbers.known(kind)
        }

    def unknown(self, command: int, number: int) -> PeerError:
        """Return the error for a body of unknown length, with the probable cause."""
        kind = self.numbers.kind(number)
        problem = f"command {command} of type {number} ({kind}) has an unknown length"
        if (command, kind) in EXTENSION:
            return PeerError(problem, fix="set extensions: true if the peer supports them")
        return PeerError(
            problem, fix=f"check that webots: {self.numbers.version} is the version of the peer"
        )
