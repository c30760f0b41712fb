"""Dynamixel servos for tests: on the mock, and as the e-manual allows them at worst."""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firmware_mocks.dynamixel import packets
from hilgw.bodies.dynamixel import BODY, DynamixelSettings
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import Connected
from tests.bodies.bench import LEFT, RIGHT, BodyBench

FASTEST = 61 * 4096 / 60  # pulses/s
UNIT = 0.229 * 4096 / 60
MODE, TORQUE, ERROR, WATCHDOG, VELOCITY, PROFILE, POSITION, PRESENT = (
    11, 64, 70, 98, 104, 112, 116, 132
)  # fmt: skip
GOAL_VALUES = range(100, 108), range(116, 120)
FACTORY = {36: 885, 44: 265, 48: 4095, MODE: 3, 63: 52}


@dataclass
class HarshServo:
    """torque_on: how often its torque was switched on. mute: it answers nothing."""

    number: int
    pulses: float = 2048.0
    table: bytearray = field(default_factory=lambda: bytearray(256))
    tripped: bool = False
    torque_on: int = 0
    mute: bool = False
    fed_ns: int = 0

    def __post_init__(self) -> None:
        for address, value in FACTORY.items():
            self.put(address, value, 2)

    def get(self, address: int, size: int) -> int:
        return int.from_bytes(self.table[address : address + size], "little", signed=size > 1)

    def put(self, address: int, value: int, size: int) -> None:
        self.table[address : address + size] = value.to_bytes(size, "little", signed=value < 0)

    def restart(self) -> None:
        """Its supply failed for a moment. A goal that comes without torque stays."""
        self.table[64:] = bytes(256 - 64)
        self.tripped = False

    def turn(self, seconds: float) -> None:
        if not self.table[TORQUE] or self.tripped:
            return
        if self.table[MODE] == 1:
            self.pulses += self.get(VELOCITY, 4) * UNIT * seconds
        elif self.table[MODE] in (3, 4, 5):
            way = self.get(POSITION, 4) - self.pulses
            speed = min(FASTEST, self.get(PROFILE, 4) * UNIT or FASTEST)
            self.pulses += math.copysign(min(abs(way), speed * seconds), way)
        else:
            self.pulses += FASTEST * seconds

    def write(self, address: int, data: bytes) -> int:
        if address < 64 and self.table[TORQUE]:
            return 7
        if self.tripped and any(address in goal for goal in GOAL_VALUES):
            return 4
        self.torque_on += address == TORQUE and data[0] > self.table[TORQUE]
        self.table[address : address + len(data)] = data
        if address == WATCHDOG:
            self.tripped = False
        return 0


class HarshBus:
    """Takes the place of a mock in a `BodyBench`. lost: packets that met another on the line."""

    def __init__(self, *numbers: int, baud_rate: int = 57_600) -> None:
        self.servos = {number: HarshServo(number) for number in numbers}
        self.lost = 0
        self._byte_ns = 10_000_000_000 // baud_rate
        self._free_ns = self._answers_ns = self._now = 0
        self._steps: list[tuple[int, int, Callable[[], None]]] = []  # a heap
        self._sent: list[tuple[int, int]] = []  # when something was on the bus
        self._out = bytearray()
        self._count = 0

    def reset(self, now: int) -> None:
        self._now = now

    def next_deadline(self) -> int | None:
        return self._steps[0][0] if self._steps else None

    def take(self, now: int) -> bytes:
        data, self._out = bytes(self._out), bytearray()
        return data

    def advance(self, now: int) -> None:
        while self._steps and self._steps[0][0] <= now:
            time_ns, _, step = heapq.heappop(self._steps)
            self._move(time_ns)
            step()
        self._move(now)

    def _move(self, now: int) -> None:
        for servo in self.servos.values():
            limit_ns = 20_000_000 * servo.table[WATCHDOG]
            watched = servo.table[TORQUE] and limit_ns and not servo.tripped
            if watched and now - servo.fed_ns > limit_ns:
                servo.turn(max(0, servo.fed_ns + limit_ns - self._now) / 1e9)
                servo.tripped, servo.table[WATCHDOG] = True, 255
            servo.turn((now - self._now) / 1e9)
            servo.put(PRESENT, math.floor(servo.pulses), 4)
        self._now = now

    def _at(self, when: int, step: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._steps, (when, self._count, step))

    def receive(self, data: bytes, now: int) -> None:
        buffer = bytearray(data)
        while (taken := packets.take(buffer)) is not None:
            number, instruction, parameters, _ = taken
            size = len(packets.packet(number, instruction, parameters))
            begin = max(now, self._free_ns)
            self._free_ns = end = begin + size * self._byte_ns
            self._put_on_line(begin, end, self._run(number, instruction, parameters))

    def _put_on_line(self, begin: int, end: int, arrives: Callable[[], None]) -> None:
        span = (begin, end)
        self._sent.append(span)

        def step() -> None:
            if any(a < end and begin < b for a, b in self._sent if (a, b) != span):
                self.lost += 1
            else:
                arrives()
            self._sent = [each for each in self._sent if each[1] > end - 100_000_000]

        self._at(end, step)

    def _run(self, number: int, instruction: int, parameters: bytes) -> Callable[[], None]:
        def run() -> None:
            for servo in self.servos.values():
                servo.fed_ns = self._now
            self._answers_ns = self._now
            if instruction in (0x82, 0x83):
                self._sync(instruction, parameters)
            elif number in self.servos:
                self._one(self.servos[number], instruction, parameters)

        return run

    def _one(self, servo: HarshServo, instruction: int, parameters: bytes) -> None:
        address = int.from_bytes(parameters[:2], "little")
        if instruction == 1:
            self._answer(servo, 0, (1060).to_bytes(2, "little") + b"\x2d")
        elif instruction == 2:
            size = int.from_bytes(parameters[2:4], "little")
            self._answer(servo, 0, bytes(servo.table[address : address + size]))
        elif instruction == 3:
            self._answer(servo, servo.write(address, parameters[2:]), b"")

    def _sync(self, instruction: int, parameters: bytes) -> None:
        address, size = (int.from_bytes(parameters[at : at + 2], "little") for at in (0, 2))
        rest = parameters[4:]
        if instruction == 0x82:
            for number in rest:
                servo = self.servos[number]
                self._answer(servo, 0, bytes(servo.table[address : address + size]))
            return
        for begin in range(0, len(rest), size + 1):
            if rest[begin] in self.servos:
                self.servos[rest[begin]].write(address, rest[begin + 1 : begin + 1 + size])

    def _answer(self, servo: HarshServo, error: int, data: bytes) -> None:
        alert = 0x80 if servo.table[ERROR] else 0
        answer = packets.packet(servo.number, packets.STATUS, bytes((error | alert,)) + data)
        begin = self._answers_ns + 500_000
        self._answers_ns = end = begin + len(answer) * self._byte_ns
        if not servo.mute:
            self._put_on_line(begin, end, lambda: self._out.extend(answer))


Packet = tuple[int, int, bytes]


def packets_of(data: bytes) -> list[Packet]:
    """Id, instruction and parameters of each packet, as the mock reads them."""
    buffer, result = bytearray(data), []
    while (taken := packets.take(buffer)) is not None:
        number, instruction, parameters, right = taken
        assert right
        result.append((number, instruction, parameters))
    return result


def written_to(data: bytes) -> set[int]:
    """The registers that these packets write."""
    return {
        int.from_bytes(parameters[:2], "little")
        for _, instruction, parameters in packets_of(data)
        if instruction in (0x03, 0x83)
    }


def harsh(open_ms: int = 500, **settings: Any) -> BodyBench:
    """A bus of two harsh servos at 57600 bit/s; open_ms 0: without the handshake."""
    made = DynamixelSettings(port="/dev/x", **settings)
    numbers = [each.id for each in (settings.get("motors") or _TWO).values()]
    line = BodyBench(BODY.session(made, "R2025a"), HarshBus(*numbers, baud_rate=made.baudRate))
    if open_ms:
        line.open(open_ms)
        assert len(line.found(Connected)) == 1
        line.written.clear()
    return line


_TWO = {LEFT: ServoSettings(id=1), RIGHT: ServoSettings(id=2)}


def pulses(line: BodyBench) -> list[float]:
    """Where the shafts are."""
    return [servo.pulses for servo in line.mock.servos.values()]


def stands(line: BodyBench, milliseconds: int = 500, *numbers: int, within: float = 0.0) -> bool:
    """Whether these shafts, or all, stay where they are for so long."""
    watched = [line.mock.servos[each] for each in numbers] or [*line.mock.servos.values()]
    begin = [servo.pulses for servo in watched]
    for _ in range(milliseconds):
        line.run(1)
        if any(abs(each.pulses - at) > within for each, at in zip(watched, begin, strict=True)):
            return False
    return True
