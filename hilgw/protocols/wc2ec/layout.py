"""The message bodies of WC2EC: little endian, no padding, length implied by command and type."""

import re
import struct
from collections.abc import Callable
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
from hilgw.protocols.wc2ec.messages import (
    CommandByte,
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
        self.extensions = extensions
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
