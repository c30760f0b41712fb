"""Packets of Dynamixel protocol 2.0 (ROBOTIS e-manual, Protocol 2.0), and the registers used.

Registers have their addresses in series X (e-manual, XL430-W250, Control Table). offset: what a
servo of another series adds to those in its RAM.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hilgw.framing.crc import named

HEADER = b"\xff\xff\xfd\x00"
BROADCAST = 254
PING, READ, WRITE, STATUS = 0x01, 0x02, 0x03, 0x55
SYNC_READ, SYNC_WRITE, BULK_READ, BULK_WRITE = 0x82, 0x83, 0x92, 0x93
OVERHEAD = 10  # header, id, length, instruction, CRC
LONGEST = 256
ALERT = 0x80
ERRORS = {
    1: "it failed",
    2: "unknown instruction",
    3: "CRC error",
    4: "value out of range",
    5: "wrong length",
    6: "beyond the limit in the servo",
    7: "register locked",
}
HARDWARE_ERRORS = {
    0: "input voltage",
    2: "overheating",
    3: "encoder",
    4: "electrical shock",
    5: "overload",
}
DRIVE_MODE, MODE, TORQUE, STATUS_RETURN, HARDWARE_ERROR, WATCHDOG = 10, 11, 64, 68, 70, 98
GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY = 100, 102, 104
PROFILE_ACCELERATION, PROFILE_VELOCITY, GOAL_POSITION = 108, 112, 116
LOAD, POSITION = 126, 132
RAM = 64  # registers from here on have other addresses in other series
LIMITS, LIMITS_SIZE = 36, 20  # PWM, current, velocity and position limits
SIZES = {
    DRIVE_MODE: 1, MODE: 1, TORQUE: 1, STATUS_RETURN: 1, HARDWARE_ERROR: 1, WATCHDOG: 1,
    GOAL_PWM: 2, GOAL_CURRENT: 2, GOAL_VELOCITY: 4, PROFILE_ACCELERATION: 4, PROFILE_VELOCITY: 4,
    GOAL_POSITION: 4, POSITION: 4,
}  # fmt: skip

_crc = named("crc-16-buypass")  # polynomial 8005, from 0, highest bit first


class Status(NamedTuple):
    """The answer of one servo. error: its number; alert: it has a hardware error."""

    number: int
    error: int
    alert: bool
    data: bytes


def checksum(data: bytes) -> bytes:
    return int(_crc.compute(data)).to_bytes(2, "little")


def packet(number: int, instruction: int, parameters: bytes = b"") -> bytes:
    """A packet with its stuffing: FD after each FF FF FD from the instruction on."""
    body = (bytes((instruction,)) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    data = HEADER + bytes((number,)) + (len(body) + 2).to_bytes(2, "little") + body
    return data + checksum(data)


def value(address: int, number: int) -> bytes:
    """A number as the bytes of this register."""
    size = SIZES[address]
    return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _place(register: int, offset: int) -> bytes:
    return (register + (offset if register >= RAM else 0)).to_bytes(2, "little")


def write(number: int, register: int, amount: int, offset: int = 0) -> bytes:
    return packet(number, WRITE, _place(register, offset) + value(register, amount))


def read(number: int, register: int, size: int, offset: int = 0) -> bytes:
    return packet(number, READ, _place(register, offset) + size.to_bytes(2, "little"))


def write_all(register: int, amounts: Mapping[int, int], offsets: Mapping[int, int]) -> bytes:
    """Sets a register of several servos, which do not answer, in one packet.

    A sync write, or a bulk write where they have it at different addresses. amounts, offsets: by
    the servos' ids.
    """
    places = {number: _place(register, offsets[number]) for number in amounts}
    size = SIZES[register].to_bytes(2, "little")
    data = {number: value(register, amount) for number, amount in amounts.items()}
    if len(set(places.values())) > 1:
        each = (bytes((number,)) + places[number] + size + data[number] for number in amounts)
        return packet(BROADCAST, BULK_WRITE, b"".join(each))
    head = next(iter(places.values())) + size
    each = (bytes((number,)) + data[number] for number in amounts)
    return packet(BROADCAST, SYNC_WRITE, head + b"".join(each))


def read_all(register: int, size: int, offsets: Mapping[int, int]) -> bytes:
    """Reads adjacent registers of several servos, which answer in this order.

    A sync read, or a bulk read where they have them at different addresses. offsets: by the servos'
    ids.
    """
    places = {number: _place(register, offset) for number, offset in offsets.items()}
    length = size.to_bytes(2, "little")
    if len(set(places.values())) > 1:
        each = (bytes((number,)) + place + length for number, place in places.items())
        return packet(BROADCAST, BULK_READ, b"".join(each))
    return packet(BROADCAST, SYNC_READ, next(iter(places.values())) + length + bytes(places))


def signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


class StatusReader:
    """Status packets from bytes in any chunks.

    Other packets are skipped: on a half-duplex adapter that echoes, those of the gateway itself.
    dropped: damaged packets, and bytes of none.
    """

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._buffer = bytearray()

    def clear(self) -> None:
        self._buffer.clear()

    def feed(self, data: bytes) -> list[Status]:
        self._buffer += data
        found = []
        while (body := self._next()) is not None:
            status = _status(body)
            if status is not None:
                found.append(status)
        return found

    def _next(self) -> bytes | None:
        """The next whole packet without header, length and CRC; None: there is none yet."""
        buffer = self._buffer
        while True:
            at = buffer.find(HEADER)
            skipped = max(0, len(buffer) - 3) if at < 0 else at
            self.dropped["noise"] += skipped
            del buffer[:skipped]
            if len(buffer) < 7 or at < 0:
                return None
            size = 7 + int.from_bytes(buffer[5:7], "little")
            if OVERHEAD <= size <= LONGEST:
                if len(buffer) < size:
                    return None
                whole = bytes(buffer[:size])
                if checksum(whole[:-2]) == whole[-2:]:
                    del buffer[:size]
                    return whole[4:5] + whole[7:-2]
            self.dropped["damaged"] += 1
            del buffer[:4]


def _status(body: bytes) -> Status | None:
    number, instruction, rest = body[0], body[1], body[2:]
    if instruction != STATUS or not rest:
        return None
    rest = rest.replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
    return Status(number, rest[0] & 0x7F, bool(rest[0] & ALERT), rest[1:])


_RPM = math.tau / 60
_RPM2 = math.tau / 3600


@dataclass(frozen=True, slots=True)
class Series:
    """offset: what is added to an address in the RAM of series X.

    zero: the pulse in the middle. reach: the largest pulse beyond one turn. rad_s, rad_s2: units of
    velocity and acceleration. turns: model -> pulses of one turn; other models have `pulses`.
    """

    name: str
    offset: int
    zero: int
    reach: int
    rad_s: float
    rad_s2: float
    pulses: int
    turns: Mapping[int, int] = field(default_factory=dict)


X = Series("X", 0, 2048, 1_048_575, 0.229 * _RPM, 214.577 * _RPM2, 4096)
P = Series(
    "P",
    448,
    0,
    2_147_483_647,
    0.01 * _RPM,
    _RPM2,
    1_003_846,
    {
        2000: 607_500,  # PH42-020
        2010: 1_003_846,  # PH54-100
        2020: 1_003_846,  # PH54-200
        2100: 526_374,  # PM42-010
        2110: 502_834,  # PM54-040
        2120: 502_834,  # PM54-060
    },
)
SERIES = {each.name: each for each in (X, P)}


def series_of(model: int) -> Series:
    return P if model in P.turns else X
