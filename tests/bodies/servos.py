"""What tests of body `dynamixel` ask of its servos, of the mock and of `HarshBus`."""

from typing import Any

from firmware_mocks.dynamixel import packets
from hilgw.bodies.dynamixel import BODY, DynamixelSettings
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import Connected
from tests.bodies.bench import BodyBench
from tests.bodies.harsh_servos import HarshBus
from tests.bodies.kinds import LEFT, RIGHT

Packet = tuple[int, int, bytes]
MODE, TORQUE = 11, 64


def packets_of(data: bytes) -> list[Packet]:
    """Id, instruction and parameters of each packet, as the mock reads them."""
    buffer, found = bytearray(data), []
    while (taken := packets.take(buffer)) is not None:
        number, instruction, parameters, right = taken
        assert right
        found.append((number, instruction, parameters))
    return found


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
