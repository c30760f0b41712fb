"""The firmware: one byte after the other, as its main loop takes them.

While it waits, 00 is ignored. A byte of 80h or more begins binary commands, which end with 00; any
other byte begins a line, which CR or LF ends. A line feed before a line is skipped, but a line has
begun then: what follows is text, whatever its first byte.
"""

import re
import struct
from collections.abc import Generator, Sequence
from typing import Protocol

from firmware_mocks.epuck.settings import Settings

BANNER = (
    b"\f\aWELCOME to the SerCom protocol on e-Puck\r\n"
    b'the EPFL education robot type "H" for help\r\n'
)
LONGEST = 4139  # bytes of its buffer
BODY_LED, FRONT_LED = 8, 9


class Hardware(Protocol):
    """The hardware under the firmware. Speeds in steps/s, LEDs by number, encoders in steps."""

    speeds: tuple[int, int]
    leds: dict[int, int]
    lines: list[str]
    requests: list[str]
    settings: Settings

    @property
    def free_fall(self) -> int: ...
    def answer(self, data: bytes) -> None: ...
    def restart(self) -> None: ...
    def command_encoders(self, left: int, right: int) -> None: ...
    def encoders(self) -> list[int]: ...
    def acceleration(self) -> list[int]: ...
    def proximity(self) -> list[int]: ...
    def light(self) -> list[int]: ...
    def ground(self) -> list[int]: ...
    def binary_ground(self) -> list[int]: ...
    def volumes(self) -> list[int]: ...
    def rotation(self) -> list[int] | None: ...


class Sercom:
    """The main loop of one robot."""

    def __init__(self, robot: Hardware) -> None:
        self._robot = robot

    def run(self) -> Generator[None, int, None]:
        """Read commands without an end; each byte of the line is sent to this generator."""
        while True:
            byte = yield
            if byte >= 0x80:
                yield from self._binary(byte)
            elif byte:
                yield from self._line(byte)

    # --- binary -------------------------------------------------------------------------------

    def _binary(self, byte: int) -> Generator[None, int, None]:
        robot = self._robot
        answer, letters = bytearray(), ""
        while byte:
            letter = chr(-byte & 0xFF)
            letters += letter
            if letter == "D":
                robot.speeds = yield from self._two_numbers()
            elif letter == "P":
                robot.command_encoders(*(yield from self._two_numbers()))
            elif letter == "L":
                number = yield
                state = yield
                self._set_led(number, state)
            else:
                answer += self._read(letter)
            byte = yield
        robot.requests.append(letters)
        if answer:
            robot.answer(bytes(answer))

    def _two_numbers(self) -> Generator[None, int, tuple[int, int]]:
        data = bytearray()
        for _ in range(4):
            data.append((yield))
        left, right = struct.unpack("<hh", data)
        return left, right

    def _read(self, letter: str) -> bytes:
        robot = self._robot
        if letter == "A":
            return struct.pack("<3f", *self._sphere())
        if letter == "I":  # an image of 40 x 40 pixels, two bytes each
            return bytes((1, 40, 40)) + bytes(3200)
        numbers: Sequence[int] | None = {
            "a": robot.acceleration,
            "E": lambda: robot.speeds,
            "M": robot.binary_ground,
            "N": robot.proximity,
            "O": robot.light,
            "Q": robot.encoders,
            "u": robot.volumes,
            "g": robot.rotation,
        }.get(letter, lambda: None)()
        return b"".join((each & 0xFFFF).to_bytes(2, "little") for each in numbers or ())

    def _sphere(self) -> tuple[float, float, float]:
        # Acceleration, orientation, inclination; on a level floor.
        x, y, z = (number - self._robot.free_fall for number in self._robot.acceleration())
        return (x * x + y * y + z * z) ** 0.5, 0.0, 0.0

    # --- text ---------------------------------------------------------------------------------

    def _line(self, byte: int) -> Generator[None, int, None]:
        while byte in b"\r\n":
            byte = yield
        text = bytearray((byte,))
        while (byte := (yield)) not in b"\r\n":
            if len(text) < LONGEST:
                text.append(byte)
        self._execute(text.split(b"\0")[0].decode("latin-1"))

    def _execute(self, line: str) -> None:
        robot = self._robot
        letter, rest = line[:1].upper(), line[1:]
        robot.lines.append(letter + rest)
        if letter == "R":
            robot.answer(b"r\r\n")
            robot.restart()
            return
        values = self._values(letter)
        if values is not None:
            text = ",".join([letter.lower(), *map(str, values)])
        elif letter in ("B", "D", "F", "J", "L", "P", "S"):
            self._set(letter, _numbers(rest))
            text = letter.lower()
        else:
            text = self._words(letter)
        robot.answer(f"{text}\r\n".encode("latin-1", "replace"))

    def _values(self, letter: str) -> Sequence[int] | None:
        robot = self._robot
        read = {
            "A": robot.acceleration,
            "C": lambda: [robot.settings.selector],
            "E": lambda: robot.speeds,
            "I": lambda: [1, 40, 40, 8, 3200],
            "M": robot.ground,
            "N": robot.proximity,
            "O": robot.light,
            "Q": robot.encoders,
            "U": robot.volumes,
        }.get(letter)
        return None if read is None else read()

    def _words(self, letter: str) -> str:
        robot = self._robot
        if letter == "V":
            settings = robot.settings
            return f"v,{settings.version}\r\nHW version: {settings.hardware}"
        if letter == "H":
            return "\nA B C D E F H I J K L M N O P Q R S U V"
        if letter == "K":
            return "k, Calibration finished"
        return "z,Command not found"

    def _set(self, letter: str, given: list[int]) -> None:
        robot = self._robot
        if letter == "S":
            robot.speeds = (0, 0)
            robot.leds = dict.fromkeys(robot.leds, 0)
        elif letter == "D" and given:
            robot.speeds = (given[0], given[1] if len(given) > 1 else robot.speeds[1])
        elif letter == "P" and len(given) == 2:
            robot.command_encoders(*given)
        elif letter == "L" and len(given) == 2:
            self._set_led(given[0], given[1], limit=8)
        elif letter in "BF" and given:
            self._set_led(BODY_LED if letter == "B" else FRONT_LED, given[0])

    def _set_led(self, number: int, state: int, limit: int = 10) -> None:
        # 0: off, 1: on, 2: the other one. Of another number: all lights of the ring.
        leds = self._robot.leds
        for led in [number] if 0 <= number < limit else range(8):
            leds[led] = 1 - leds[led] if state == 2 else int(state > 0)


def _numbers(text: str) -> list[int]:
    # The numbers after a letter as C reads them, up to the first that is none; 16 bits each.
    numbers: list[int] = []
    position = 0
    while match := re.compile(r",\s*([+-]?\d{1,9})").match(text, position):
        numbers.append((int(match[1]) + 0x8000 & 0xFFFF) - 0x8000)
        position = match.end()
    return numbers
