"""WC2EC messages: three header bytes, then data whose length follows from command and type.

Numbers are little endian, as on the x86 of both originals.
"""

import struct
from typing import NamedTuple

REGISTER_SENSOR, SENSOR_DATA, ERROR = 0, 1, 127
ENABLE_SENSOR, DISABLE_SENSOR, SET_VALUE, SET_SENSOR = 128, 129, 130, 131


class Types(NamedTuple):
    """WbNodeType numbers of one Webots version."""

    distance_sensor: int
    emitter: int
    linear_motor: int
    receiver: int
    rotational_motor: int


# By the first version that has them.
TYPES = {
    "R2019a": Types(37, 38, 45, 51, 52),
    "R2019b": Types(38, 39, 46, 52, 53),
    "R2020b": Types(39, 40, 47, 53, 54),
    "R2021b": Types(40, 41, 48, 54, 55),
    "R2022b": Types(41, 42, 49, 55, 56),
    "R2023b": Types(42, 43, 50, 56, 57),
}


def types_of(version: str, *, document: bool = False) -> Types:
    """Return the numbers of a version; raise ValueError for one before R2019a.

    On request those that the WC2EC document lists are in their place.
    """
    known = [first for first in TYPES if first <= version[:6]]
    if not known or not version.startswith("R20"):
        raise ValueError(f"webots: {version!r} is not a Webots version from R2019a on")
    types = TYPES[known[-1]]
    if document:
        return types._replace(distance_sensor=37, linear_motor=46, rotational_motor=53)
    return types


def registration(number: int, index: int, name: bytes) -> bytes:
    return bytes((REGISTER_SENSOR, number, index, len(name))) + name


def value(command: int, number: int, index: int, amount: float) -> bytes:
    """Return sensorData or setValue of one number."""
    return struct.pack("<BBBd", command, number, index, amount)


def bare(command: int, number: int, index: int) -> bytes:
    """Return error, enableSensor or disableSensor."""
    return bytes((command, number, index))


def received_packet(
    number: int,
    index: int,
    channel: int,
    strength: float,
    direction: tuple[float, float, float],
    data: bytes,
) -> bytes:
    """Return sensorData of a Receiver (extension)."""
    head = struct.pack("<BBBi", SENSOR_DATA, number, index, channel)
    return head + struct.pack("<ddddI", strength, *direction, len(data)) + data


def message_size(buffer: bytes | bytearray, types: Types, *, extended: bool) -> int | None:
    """Return the bytes of the message that `buffer` begins with; 0: unknown yet; None: no message.

    `extended` adds the starred commands and the packets of Emitter and Receiver.
    """
    if len(buffer) < 3:
        return 0
    command, number = buffer[0], buffer[1]
    if command == REGISTER_SENSOR:
        return 4 + buffer[3] if len(buffer) > 3 else 0
    if extended and command in (ERROR, ENABLE_SENSOR, DISABLE_SENSOR):
        return 3
    if extended and (command, number) in _counted(types):
        fixed = 3 + _counted(types)[command, number]
        return fixed + int.from_bytes(buffer[fixed - 4 : fixed], "little") * (len(buffer) >= fixed)
    body = _sizes(types, extended=extended).get((command, number))
    return None if body is None else 3 + body


def whole_messages(data: bytes, types: Types, *, extended: bool) -> list[bytes] | None:
    """Return the messages in a frame; None when it holds other bytes too."""
    messages = []
    while data:
        size = message_size(data, types, extended=extended)
        if not size or size > len(data):
            return None
        messages.append(data[:size])
        data = data[size:]
    return messages


def _sizes(types: Types, *, extended: bool) -> dict[tuple[int, int], int]:
    motors = (types.linear_motor, types.rotational_motor)
    sizes = {(SENSOR_DATA, number): 8 for number in (types.distance_sensor, *motors)}
    sizes |= {(SET_VALUE, number): 8 for number in motors}
    if extended:
        sizes |= {(SET_SENSOR, number): 32 for number in motors}
        sizes[SET_SENSOR, types.distance_sensor] = 8
        sizes[SET_SENSOR, types.emitter] = 12
        sizes[SET_SENSOR, types.receiver] = 8
    return sizes


def _counted(types: Types) -> dict[tuple[int, int], int]:
    # Data that end in a count (included here with 4 bytes) and this many bytes.
    return {(SET_VALUE, types.emitter): 8, (SENSOR_DATA, types.receiver): 40}
