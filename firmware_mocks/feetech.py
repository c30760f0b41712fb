"""Feetech STS servos on one bus, from the maker's memory table and protocol manual (SCS)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable, creator
from firmware_mocks.parameters import Parameters, parameter

SUMMARY = "Feetech STS servos on one bus: position, speed and PWM control, without a watchdog"
PING, READ, WRITE, SYNC_READ, SYNC_WRITE, BROADCAST = 1, 2, 3, 0x82, 0x83, 254
MODEL, ID, LEVEL, LIMITS, PHASE, UNLOAD, MODE, EEPROM = 3, 5, 8, 9, 18, 19, 33, 40
TORQUE, ACCELERATION, GOAL, PWM, SPEED, FORCE, LOCK = 40, 41, 42, 44, 46, 48, 55
POSITION, STATUS, MOVING, TABLE_BYTES = 56, 65, 66, 87
TURN, FASTEST = 4096, 3400  # steps, steps/s
STEP_NS, ANSWER_NS = 5 * MS, 100_000


def _ids(name: str, value: Any) -> list[int]:
    numbers = [values.whole(name, part, 0, 253) for part in str(value).strip("[] ").split(",")]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{name}: {value!r} has an id twice")
    return numbers


def _registers(name: str, value: Any) -> list[tuple[int, int, int]]:
    parts = [part.split(":") for part in str(value).split(",") if part.strip() != "none"]
    if any(len(part) != 3 for part in parts):
        raise ValueError(f"{name}: {value!r} is not ID:ADDRESS:VALUE, ...")
    return [
        (
            values.whole(name, number, 0, 253),
            values.whole(name, address, 0, TABLE_BYTES - 1),
            values.whole(name, value, 0, 255),
        )
        for number, address, value in parts
    ]


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a bus."""

    ids: list[int] = parameter("ids of the servos, 0 to 253", "1, 2", _ids, is_fixed=True)
    baud_rate: int = parameter(
        "rate of the bus", 1_000_000, values.whole, 38_400, 1_000_000, is_fixed=True
    )
    echo: bool = parameter(
        "yes: a half-duplex adapter that returns what it sends; no", "no", values.yes
    )
    volts: float = parameter(
        "supply of all servos: below 4 V and above 14 V is an error", 7.4, values.number, 0, 30
    )
    errors: int = parameter(
        "other bits of the status of all servos, e.g. 4: too hot, or 32: overload, with which the "
        "torque goes off",
        0,
        values.whole,
        0,
        63,
    )
    registers: list[tuple[int, int, int]] = parameter(
        "ID:ADDRESS:VALUE, ...: bytes that are other at power on, as 1:33:1 for speed control; "
        "while the mock runs they change at once",
        "none",
        _registers,
    )
    brown_out_s: float = parameter(
        "a servo that has turned for this long restarts, as with a weak battery (default "
        "{default}: never)",
        0,
        values.number,
        0,
        1e6,
    )


class Servo:
    """pulses, speed: of the shaft. saved: the EEPROM. turned_ns: how long it has turned.

    end: where the steps of mode 3 end. fitted: registers that have these values at power on.
    """

    def __init__(self, number: int) -> None:
        self.number, self.pulses, self.speed, self.end = number, 2048.0, 0.0, 2048
        self.saved = bytearray(EEPROM)
        self.fitted: dict[int, int] = {}
        for address, value in (
            (0, 3), (1, 10), (MODEL, 9), (MODEL + 1, 3), (ID, number), (LEVEL, 1),
            (LIMITS + 2, 0xFF), (LIMITS + 3, 0x0F), (17, 3), (16, 0xE8), (PHASE, 12), (UNLOAD, 44),
        ):  # fmt: skip
            self.saved[address] = value
        self.boot()

    def boot(self) -> None:
        """Power on: no torque, Lock 1, and the angle within one turn."""
        self.table = self.saved + bytes(TABLE_BYTES - EEPROM)
        self.table[FORCE : FORCE + 2] = self.table[16:18]
        self.table[LOCK] = 1
        self.put(SPEED, FASTEST)
        for address, value in self.fitted.items():
            self.table[address] = value
        self.pulses, self.speed, self.turned_ns = self.pulses % TURN, 0.0, 0
        self.show(0)

    def get(self, address: int, bit: int = 15) -> int:
        number = self.table[address] | self.table[address + 1] << 8
        return -(number & ~(1 << bit)) if number >> bit else number

    def put(self, address: int, number: int) -> None:
        number = abs(number) | (number < 0) << 15
        self.table[address : address + 2] = number.to_bytes(2, "little")

    @property
    def torque(self) -> bool:
        return self.table[TORQUE] == 1

    @property
    def moves(self) -> bool:
        return self.speed != 0.0

    def write(self, address: int, data: bytes) -> None:
        """Write registers: a goal position switches the torque on.

        The EEPROM keeps what comes without Lock.
        """
        data = data[: max(0, POSITION - address)]
        self.table[address : address + len(data)] = data
        if not self.table[LOCK]:
            self.saved[:] = self.table[:EEPROM]
        if address <= GOAL < address + len(data):
            self.table[TORQUE] = 1
            self.end = math.floor(self.pulses) + self.get(GOAL)
        if address <= MODE < address + len(data) and not self.table[PHASE] & 16:
            self.pulses %= TURN
        if self.table[STATUS] & self.table[UNLOAD]:
            self.table[TORQUE] = 0

    def show(self, status: int) -> None:
        """Show the registers of its sensors. Errors in Unload switch the torque off."""
        is_wide = self.table[PHASE] & 16
        self.put(POSITION, math.floor(self.pulses if is_wide else self.pulses % TURN))
        self.put(POSITION + 2, round(self.speed))
        self.table[60:62] = (100 if self.moves else 0, 0)
        self.table[STATUS], self.table[MOVING] = status, self.moves
        if status & self.table[UNLOAD]:
            self.table[TORQUE] = 0

    def turn(self, seconds: float) -> None:
        unit = 1 if self.table[PHASE] & 4 else 50
        fastest = FASTEST * min(1.0, self.get(FORCE) / 100)
        speed, mode = max(-fastest, min(fastest, self.get(SPEED) * unit)), self.table[MODE]
        if not self.torque:
            self.speed = 0.0
        elif mode in (0, 3):
            low, high = self.get(LIMITS), self.get(LIMITS + 2)
            goal = self.get(GOAL) if mode == 0 else self.end
            if mode == 0 and high:
                goal = max(low, min(high, goal))
            way, speed = goal - math.floor(self.pulses), abs(speed) or fastest
            reach = min(abs(way), speed * seconds)
            self.pulses += math.copysign(reach, way)
            self.speed = math.copysign(speed, way) if reach < abs(way) else 0.0
        else:
            speed = self.get(PWM, 10) / 1000 * FASTEST if mode == 2 else speed
            units = self.table[ACCELERATION]
            rate = units * 100 * seconds if units else math.inf
            self.speed += max(-rate, min(rate, speed - self.speed))
            self.pulses += self.speed * seconds


class Bus(Adjustable[Settings]):
    """The servos, which answer one after the other."""

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings)
        self.uart.baud_rate = settings.baud_rate
        self.servos = {number: Servo(number) for number in settings.ids}
        self._input = bytearray()
        self._moved_ns = 0
        self._fit()

    def _fit(self) -> None:
        for number, address, value in self.settings.registers:
            if number not in self.servos:
                raise ValueError(f"registers: there is no servo {number}")
            self.servos[number].fitted[address] = self.servos[number].table[address] = value

    def _adopt(self, name: str) -> None:
        if name == "registers":
            for servo in self.servos.values():
                servo.fitted.clear()
            self._fit()

    def reset(self, now: int) -> None:
        self._cancel()
        self._input.clear()
        self._moved_ns = now
        self._fit()
        for servo in self.servos.values():
            servo.boot()
        self._step(now)

    def describe(self) -> str:
        shown = (f"{each.number}: {each.pulses:.0f}" for each in self.servos.values())
        return f"Feetech bus, {', '.join(shown)}"

    def _step(self, now: int) -> None:
        self._move(now)
        self.timers.start("step", now + STEP_NS, self._step)

    def _move(self, now: int) -> None:
        passed, self._moved_ns = max(0, now - self._moved_ns), max(now, self._moved_ns)
        volts = self.settings.volts
        status = self.settings.errors | (not 4 <= volts <= 14)
        for servo in self.servos.values():
            servo.turned_ns += passed * servo.moves
            servo.turn(passed / 1e9)
            if 0 < self.settings.brown_out_s * 1e9 <= servo.turned_ns:
                servo.boot()
            servo.show(status)

    def receive(self, data: bytes, now: int) -> None:
        self._move(now)
        if self.settings.echo:
            self.uart.write(data, now)
        self._input += self.uart.distort(data)
        for number, instruction, parameters in self._packets():
            self._execute(number, instruction, parameters, now)
            self._move(now)

    def _packets(self) -> Iterator[tuple[int, int, bytes]]:
        buffer = self._input
        while (start := buffer.find(b"\xff\xff")) >= 0 and len(buffer) >= start + 4:
            del buffer[:start]
            size = 4 + buffer[3]
            if buffer[2] == 0xFF or size < 6:
                del buffer[:1]
            elif len(buffer) < size:
                return
            elif sum(buffer[2:size]) & 0xFF != 0xFF:
                del buffer[:1]
            else:
                packet = bytes(buffer[:size])
                del buffer[:size]
                yield packet[2], packet[4], packet[5:-1]

    def _execute(self, number: int, instruction: int, data: bytes, now: int) -> None:
        if instruction == SYNC_READ:
            for asked in data[2:]:
                self._answer(asked, self._read(asked, data), now)
        elif instruction == SYNC_WRITE and len(data) > 2:
            step = data[1] + 1
            for start in range(2, len(data) - data[1], step):
                if data[start] in self.servos:
                    self.servos[data[start]].write(data[0], data[start + 1 : start + step])
        elif number in self.servos:
            if instruction == WRITE and data:
                self.servos[number].write(data[0], data[1:])
            if instruction in (PING, READ) or self.servos[number].table[LEVEL]:
                self._answer(number, self._read(number, data) if instruction == READ else b"", now)

    def _read(self, number: int, data: bytes) -> bytes:
        table = self.servos[number].table if number in self.servos else b""
        return bytes(table[data[0] : data[0] + data[1]]) if len(data) > 1 else b""

    def _answer(self, number: int, data: bytes, now: int) -> None:
        if number in self.servos:
            body = bytes((number, len(data) + 2, self.servos[number].table[STATUS])) + data
            packet = b"\xff\xff" + body + bytes((~sum(body) & 0xFF,))
            self.uart.write(packet, max(now, self.uart.idle_at(now)) + ANSWER_NS)


PARAMETERS = Settings.texts()
create = creator(Bus, Settings)
