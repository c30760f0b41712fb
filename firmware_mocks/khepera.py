"""A Khepera III in a walled room, from its user manual (K-Team, appendix "Communication protocol").

A command is a capital letter and its arguments, separated by commas and ended by CR, LF or both;
the answer begins with the small letter. A number of 32 bits has the prefix l, one of 8 or 16 bits
may have d. The robot has no watchdog: it keeps its last speed when the line is dead.

K-Team's kh3server (2012) answers the same commands in the place of the robot; the answer to an
unknown one ($) is from there.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from firmware_mocks import parameters as values
from firmware_mocks._room import Room, RoomParameters, Rover
from firmware_mocks.air import Air
from firmware_mocks.base import creator
from firmware_mocks.parameters import parameter

SUMMARY = "a Khepera III robot with its letter protocol, in a walled room"
MM_PER_PULSE = 0.047  # manual, commands P and I
SPEED_PER_MM_S = 144.01  # manual, section Speed
AXLE_MM = 88.41
RADIUS_M = 0.065
FASTEST = 43_000  # about 300 mm/s
INPUT_BYTES = 128
UNKNOWN = "$"
# The infra-red sensors in the order of the answer to N: back left, left 90, left 45, front left,
# front right, right 45, right 90, back right, back; then ground right and left.
ANGLES = (2.35, 1.57, 0.78, 0.24, -0.24, -0.78, -1.57, -2.35, math.pi)
GROUND = 4000
# Reflected light at a distance in metres, after the calibration of a real robot.
LIGHT = (
    (0.0, 3983), (0.009, 3947), (0.0135, 3561), (0.018, 2645), (0.0225, 1945), (0.027, 1426),
    (0.0315, 1093), (0.036, 841), (0.0405, 653), (0.0495, 420), (0.0585, 284), (0.0675, 193),
    (0.0765, 138), (0.0945, 78), (0.153, 23), (0.252, 11), (0.4455, 7),
)  # fmt: skip
_NUMBER = re.compile(r"[dl]?(-?[0-9]{1,10})")


@dataclass(frozen=True)
class Settings(RoomParameters):
    """The parameters of a robot."""

    width: float = parameter("width of the room in metres", 0.6, values.number, 0.2, 100)
    depth: float = parameter("depth of the room in metres", 0.5, values.number, 0.2, 100)
    version: str = parameter("version of its firmware, as in the answer to B", "3.0", values.unread)
    baud_rate: int = parameter("rate of its line", 115_200, values.whole, 9600, 921_600)
    answer_ns: int = parameter(
        "time from a command to its answer", 1, values.milliseconds, 0, 10_000, name="answer_ms"
    )
    refused_speed: int = parameter(
        "speeds from here on are refused, and the last speeds stay; 0: none is, they are cut",
        0,
        values.whole,
        0,
        FASTEST,
    )


class Khepera(Rover[Settings]):
    """The robot.

    `speed` is that of the left and right motor, as commanded; `commands` are those executed, by
    letter; `leds` maps LED -> on.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings, Room(RADIUS_M))
        self._power_up()

    def _configure(self) -> None:
        super()._configure()
        self.uart.baud_rate = self.settings.baud_rate

    def _power_up(self) -> None:
        self.speed = (0, 0)
        self.pulses = [0.0, 0.0]
        self.leds: dict[int, bool] = {}
        self.commands: dict[str, int] = {}
        self._input = bytearray()
        self._ticks = 0
        self._moved_ns = None

    # --- the host -----------------------------------------------------------------------------

    def reset(self, now: int) -> None:
        self._cancel()
        self._power_up()
        self._moved_ns = now

    def describe(self) -> str:
        left, right = self.speed
        return f"Khepera III at {self.room.x:.2f}, {self.room.y:.2f} m, speeds {left} and {right}"

    def receive(self, data: bytes, now: int) -> None:
        self._move(now)
        for byte in self.uart.distort(data):
            if byte in b"\r\n":
                line, self._input = bytes(self._input), bytearray()
                if line:
                    self._execute(line.decode("latin-1"), now)
            elif len(self._input) < INPUT_BYTES:
                self._input.append(byte)
        self._keep_moving(now)

    # --- commands -----------------------------------------------------------------------------

    def _execute(self, line: str, now: int) -> None:
        letter, *words = line.split(",")
        matches = [_NUMBER.fullmatch(word.strip()) for word in words]
        numbers = [int(each[1]) for each in matches if each is not None]
        run = _COMMANDS.get(letter)
        answer = None
        if run is not None and len(numbers) == len(words):
            answer = run(self, numbers)
        if answer is None:
            self._answer(UNKNOWN, now)
            return
        self.commands[letter] = self.commands.get(letter, 0) + 1
        self._answer(",".join([letter.lower(), *map(str, answer)]), now)

    def _answer(self, line: str, now: int) -> None:
        self.uart.write(line.encode("latin-1") + b"\r\n", now + self.settings.answer_ns)

    def _version(self, numbers: list[int]) -> list[object] | None:
        return None if numbers else [self.settings.version, 1]

    def _set_speed(self, numbers: list[int]) -> list[object] | None:
        refused = self.settings.refused_speed
        if len(numbers) != 2 or 0 < refused <= max(map(abs, numbers)):
            return None
        left, right = (max(-FASTEST, min(FASTEST, each)) for each in numbers)
        self.speed = (left, right)
        return []

    def _read_speed(self, numbers: list[int]) -> list[object] | None:
        return None if numbers else [*self.speed]

    def _set_position(self, numbers: list[int]) -> list[object] | None:
        if len(numbers) != 2:
            return None
        self.pulses = [float(each) for each in numbers]
        return []

    def _read_position(self, numbers: list[int]) -> list[object] | None:
        return None if numbers else [_signed(each) for each in self.pulses]

    def _set_led(self, numbers: list[int]) -> list[object] | None:
        # LED number; 0 off, 1 on, 2 the other.
        if len(numbers) != 2 or numbers[0] not in (0, 1) or numbers[1] not in (0, 1, 2):
            return None
        led, action = numbers
        self.leds[led] = not self.leds.get(led, False) if action == 2 else bool(action)
        return []

    def _proximity(self, numbers: list[int]) -> list[object] | None:
        if numbers:
            return None
        self._ticks = self._ticks + 1 & 0xFFFF
        return [*(self.light(angle) for angle in ANGLES), GROUND, GROUND, self._ticks]

    def _reset_time(self, numbers: list[int]) -> list[object] | None:
        if numbers:
            return None
        self._ticks = 0
        return []

    # --- the room -----------------------------------------------------------------------------

    def light(self, angle: float) -> int:
        """Return the value of the sensor at this angle to the heading."""
        return round(values.look_up(LIGHT, self.room.distance(angle)))

    @property
    def _drives(self) -> bool:
        return self.speed != (0, 0)

    def _roll(self, time_ns: int) -> None:
        left, right = (each / SPEED_PER_MM_S * time_ns / 1e9 for each in self.speed)  # mm
        self.pulses[0] += left / MM_PER_PULSE
        self.pulses[1] += right / MM_PER_PULSE
        self.room.advance((left + right) / 2000, (right - left) / AXLE_MM)


def _signed(pulses: float) -> int:
    # A counter of 32 bits that wraps around.
    return (math.floor(pulses) + (1 << 31)) % (1 << 32) - (1 << 31)


_COMMANDS: dict[str, Callable[[Khepera, list[int]], list[object] | None]] = {
    "B": Khepera._version,
    "D": Khepera._set_speed,
    "E": Khepera._read_speed,
    "I": Khepera._set_position,
    "K": Khepera._set_led,
    "N": Khepera._proximity,
    "R": Khepera._read_position,
    "Z": Khepera._reset_time,
}
PARAMETERS = Settings.texts()

create = creator(Khepera, Settings)
