"""Feetech STS servos: packets and registers.

Packets: Feetech, Communication Protocol (SCS), "Instruction packet", "Status packet", "Sync write",
"Sync read"; they are those of Dynamixel protocol 1.0. Registers: Feetech, Magnetic Encoded STS
Servo, Memory Table, sections 2.2 "EPROM configuration" to 2.4 "SRAM feedback", 3.1 "Servo phase"
and 3.2 "Servo status"; signs as in LeRobot, motors/feetech/tables.py,
STS_SMS_SERIES_ENCODINGS_TABLE. The maker's own client (FTServo_Python, scservo_sdk/sms_sts.py) sets
acceleration, goal, time and speed in one write (WritePosEx), too, and writes Mode without Lock
(WheelMode).
"""

import math
from collections.abc import Mapping

from hilgw.bodies._servo_bus.bus import (
    BROADCAST,
    LONGEST as LONGEST,
    PING as PING,
    Series,
    ServoAnswer as ServoAnswer,
    ServoKind,
    StatusReader as StatusReader,
)
from hilgw.units import NS_PER_MS

TURN = 4096
STEP = math.tau / TURN
STS = Series("STS", 0, 2048, 32_767, STEP, 100 * STEP, TURN)
LOCK, TORQUE_LIMIT = 55, 48
FINE_SPEEDS, MULTI_TURN = 0x04, 0x10  # of Phase: steps/s in place of 50 steps/s; it counts turns
COARSE = 50
LARGEST_ACCELERATION = 254
LOAD_SIGN = 10  # bit
# Data bytes of our own reads and writes on an adapter that echoes: no answer has as many.
ECHOES = (2, 3)


class Feetech(ServoKind):
    """Servos of series STS."""

    def __init__(self, offsets: Mapping[int, int]) -> None:
        super().__init__(
            offsets,
            title="Feetech servos",
            header=b"\xff\xff",
            width=1,
            overhead=6,  # header, id, length, instruction, checksum
            status_bytes=6,
            sizes={8: 1, 33: 1, 40: 1, 41: 1, 42: 2, 46: 2, TORQUE_LIMIT: 2, LOCK: 1},
            mode=33,
            torque=40,
            hardware_error=65,
            goal_velocity=46,
            acceleration=41,
            speed=46,
            goal_position=42,
            profile=(41, TORQUE_LIMIT),
            present=(56, 6),  # position, speed, load
            feedback=(56, 6),
            setup=(18, 16),  # Phase to Mode
            limits=(9, 4),
            level=(8, 1),
            read_back={LOCK: "lock", 40: "torque", 33: "mode"},
            velocity_mode=1,
            position_mode=0,
            position_modes=(0,),
            hardware_errors={
                0: "input voltage",
                1: "encoder",
                2: "overheating",
                3: "current",
                4: "angle",
                5: "overload",
            },
            unlimited=32_767,  # 0 is unlimited, or a stop, as in Phase
            busy_ns=15 * NS_PER_MS,  # while its EEPROM takes the mode
            ends_cut=b"\0\0",  # as a length it is not valid; FF of the next header would be
        )

    def checksum(self, data: bytes) -> bytes:
        return bytes((~sum(data[2:]) & 0xFF,))

    def packet(self, number: int, instruction: int, parameters: bytes = b"") -> bytes:
        data = self.header + bytes((number, len(parameters) + 2, instruction)) + parameters
        return data + self.checksum(data)

    def status(self, data: bytes) -> ServoAnswer | None:
        """Return the answer. Its error byte is the state of the servo: no answer is a refusal."""
        number, error, rest = data[2], data[4], data[5:-1]
        if number == BROADCAST or len(rest) in ECHOES:
            return None
        return ServoAnswer(number, 0, error != 0, rest)

    def value(self, register: int, amount: int) -> bytes:
        """Return a number with its sign in bit 15."""
        return (abs(amount) | (amount < 0) << 15).to_bytes(self.sizes[register], "little")

    def reading(self, data: bytes) -> tuple[int, int | None, int | None]:
        return signed(data[:2]), signed(data[2:4]), signed(data[4:], LOAD_SIGN)

    def identity(self, number: int) -> tuple[bytes, int]:
        """Return a read of firmware and model: an answer to a ping looks like that to a write."""
        return self.read(number, 0, 5), 5


def signed(data: bytes, bit: int = 15) -> int:
    """Return a number whose sign is this bit."""
    number = int.from_bytes(data, "little")
    return -(number - (1 << bit)) if number >> bit & 1 else number
