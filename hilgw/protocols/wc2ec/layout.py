"""The bodies of WC2EC: little endian, no padding; length implied by command and type."""

from __future__ import annotations

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
from hilgw.errors import PeerError
from hilgw.protocols.wc2ec.messages import (
    Command,
    PacketData,
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
"""Indices are 0..254: the original refuses more than 255 devices."""


class Layout(NamedTuple):
    """One body: its numbers, the message they make after type and index, and whether the last of
    them counts the bytes of a packet that follow."""

    body: struct.Struct
    message: Callable[..., Sent]
    counted: bool = False


_ONE = struct.Struct("<d")
_FOUR = struct.Struct("<dddd")
ORIGINAL: dict[tuple[int, str], Layout] = {
    (Command.SENSOR_DATA, DISTANCE_SENSOR): Layout(_ONE, SensorData),
    (Command.SENSOR_DATA, LINEAR_MOTOR): Layout(_ONE, SensorData),
    (Command.SENSOR_DATA, ROTATIONAL_MOTOR): Layout(_ONE, SensorData),
    (Command.SET_VALUE, LINEAR_MOTOR): Layout(_ONE, SetValue),
    (Command.SET_VALUE, ROTATIONAL_MOTOR): Layout(_ONE, SetValue),
    (Command.SET_SENSOR, DISTANCE_SENSOR): Layout(_ONE, SetPeriod),
    (Command.SET_SENSOR, LINEAR_MOTOR): Layout(_FOUR, SetMotor),
    (Command.SET_SENSOR, ROTATIONAL_MOTOR): Layout(_FOUR, SetMotor),
}
PACKET_DATA = Layout(struct.Struct("<iddddI"), PacketData, counted=True)
SEND_PACKET = Layout(struct.Struct("<iI"), SendPacket, counted=True)
SET_EMITTER = Layout(struct.Struct("<id"), SetEmitter)
SET_RECEIVER = Layout(struct.Struct("<ii"), SetReceiver)
EXTENSION: dict[tuple[int, str], Layout] = {
    (Command.SENSOR_DATA, RECEIVER): PACKET_DATA,
    (Command.SET_VALUE, EMITTER): SEND_PACKET,
    (Command.SET_SENSOR, EMITTER): SET_EMITTER,
    (Command.SET_SENSOR, RECEIVER): SET_RECEIVER,
}
BODILESS = frozenset({Command.ERROR, Command.ENABLE_SENSOR, Command.DISABLE_SENSOR})

_ACRONYMS = {"GPS", "LED"}
_NAMELESS = re.compile(r"node (\d{1,3})")
# WC2EC's own document says 37 for a distance sensor, which R2020a, its Webots, gives to DISPLAY:
# there both numbers are taken for one.
_ALIASES = {"R2020a": {37: DISTANCE_SENSOR}}


class Numbers:
    """Node numbers (WbNodeType) of one Webots version. Raises ConfigError for an unknown one."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._numbers = {kind: nodes.number(version, _upper(kind)) for kind in KINDS}
        self._kinds = {number: kind for kind, number in self._numbers.items()}
        self._kinds |= _ALIASES.get(version.strip()[:6], {})

    def number(self, kind: str) -> int:
        """The number of a node by its Webots name, or by what `kind` calls one without a name;
        ConfigError when this version has none."""
        own = self._numbers.get(kind)
        if own is None and (nameless := _NAMELESS.fullmatch(kind)):
            return int(nameless[1])
        return nodes.number(self.version, _upper(kind)) if own is None else own

    def known(self, kind: str) -> list[int]:
        """All numbers that are taken for this node: its own, and an alias."""
        return [number for number, each in self._kinds.items() if each == kind]

    def kind(self, number: int) -> str:
        """The Webots node name behind a number; "node N" when no device has it."""
        kind = self._kinds.get(number)
        if kind is not None:
            return kind
        name = nodes.name(self.version, number)
        return f"node {number}" if name is None else _camel(name)


def _upper(kind: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()


def _camel(name: str) -> str:
    return name if name in _ACRONYMS else name.title().replace("_", "")


class Layouts:
    """The bodies two peers agree on. extensions: those of Emitter and Receiver as well."""

    def __init__(self, version: str, *, extensions: bool = False) -> None:
        self.numbers = Numbers(version)
        self.extensions = extensions
        self.of_kind = ORIGINAL | EXTENSION if extensions else ORIGINAL
        self.of_type = {
            (int(command), number): layout
            for (command, kind), layout in self.of_kind.items()
            for number in self.numbers.known(kind)
        }

    def unknown(self, command: int, number: int) -> PeerError:
        """Why a body of this command and type cannot be measured, and what may be the cause."""
        kind = self.numbers.kind(number)
        what = f"command {command} of type {number} ({kind}) has no known length"
        if (command, kind) in EXTENSION:
            return PeerError(what, fix="set extensions: true if the peer speaks them too")
        return PeerError(what, fix=f"check that webots: {self.numbers.version} is the peer's")
