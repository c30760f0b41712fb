"""Dynamixel servos: packets of protocol 2.0 (ROBOTIS e-manual, Protocol 2.0), and registers.

Registers have their addresses in series X (e-manual, XL430-W250, Control Table). offset: what a
servo of another series adds to those in its RAM.
"""

import math
from collections.abc import Mapping

from hilgw.bodies._servo_bus.bus import (
    LONGEST as LONGEST,
    PING as PING,
    Series,
    ServoAnswer as ServoAnswer,
    ServoKind,
    StatusReader as StatusReader,
)
from hilgw.framing.crc import named

STATUS = 0x55
ALERT = 0x80
DRIVE_MODE, WATCHDOG, GOAL_PWM, GOAL_CURRENT = 10, 98, 100, 102
RAM = 64  # registers from here on have other addresses in other series

_crc = named("crc-16-buypass")  # polynomial 8005, from 0, highest bit first


class Dynamixel(ServoKind):
    """Servos of series X and P."""

    def __init__(self, offsets: Mapping[int, int]) -> None:
        super().__init__(
            offsets,
            title="Dynamixel servos",
            header=b"\xff\xff\xfd\x00",
            width=2,
            overhead=10,  # header, id, length, instruction, CRC
            status_bytes=11,
            sizes={
                DRIVE_MODE: 1, 11: 1, 64: 1, 68: 1, 70: 1, WATCHDOG: 1,
                GOAL_PWM: 2, GOAL_CURRENT: 2, 104: 4, 108: 4, 112: 4, 116: 4,
            },
            mode=11,
            torque=64,
            hardware_error=70,
            goal_velocity=104,
            acceleration=108,
            speed=112,
            goal_position=116,
            profile=(108, GOAL_PWM, GOAL_CURRENT, 112),
            present=(132, 4),
            feedback=(126, 10),
            setup=(DRIVE_MODE, 2),
            limits=(36, 20),  # PWM, current, velocity and position limits
            level=(68, 2),
            read_back={WATCHDOG: "bus watchdog", 64: "torque"},
            velocity_mode=1,
            position_mode=3,
            position_modes=(3, 4, 5),
            errors={
                1: "it failed",
                2: "unknown instruction",
                3: "CRC error",
                4: "value out of range",
                5: "wrong length",
                6: "beyond the limit in the servo",
                7: "register locked",
            },
            hardware_errors={
                0: "input voltage",
                2: "overheating",
                3: "encoder",
                4: "electrical shock",
                5: "overload",
            },
        )  # fmt: skip

    def checksum(self, data: bytes) -> bytes:
        return int(_crc.compute(data)).to_bytes(2, "little")

    def packet(self, number: int, instruction: int, parameters: bytes = b"") -> bytes:
        """Return a packet with its stuffing: FD after each FF FF FD from the instruction on."""
        body = (bytes((instruction,)) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        data = self.header + bytes((number,)) + (len(body) + 2).to_bytes(2, "little") + body
        return data + self.checksum(data)

    def status(self, data: bytes) -> ServoAnswer | None:
        if data[7] != STATUS or len(data) < self.status_bytes:
            return None
        rest = data[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
        return ServoAnswer(data[4], rest[0] & 0x7F, bool(rest[0] & ALERT), rest[1:])

    def value(self, register: int, amount: int) -> bytes:
        size = self.sizes[register]
        return (amount & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def reading(self, data: bytes) -> tuple[int, int | None, int | None]:
        if len(data) < self.feedback[1]:
            return signed(data), None, None
        return signed(data[-4:]), signed(data[2:6]), signed(data[:2])

    def identity(self, number: int) -> tuple[bytes, int]:
        return self.packet(number, PING), 3

    def place(self, number: int, register: int) -> bytes:
        return super().place(number, register + (self.offsets[number] if register >= RAM else 0))


def signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


_RPM = math.tau / 60
_RPM2 = math.tau / 3600
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
