"""A Khepera III in a walled room, from its user manual (K-Team, appendix "Communication protocol").

A command is a capital letter and its arguments, separated by commas and ended by CR, LF or both;
the answer begins with the small letter. A number of 32 bits has the prefix l, one of 8 or 16 bits
may have d. The robot has no watchdog: it keeps its last speed when the line is dead.

K-Team's kh3server (2012) answers the same commands in the place of the robot; the answer to an
unknown one ($) is from there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable

SUMMARY = "a Khepera III robot with its letter protocol, in a walled room"
PARAMETERS: dict[str, str] = {
    "position": "x, y in metres from a corner of the room, and the heading in radians (default: "
    "the middle)",
    "width": "width of the room in metres (default 0.6)",
    "depth": "depth of the room in metres (default 0.5)",
    "version": "version of its firmware, as in the answer to B (default 3.0)",
    "baud_rate": "rate of its line (default 115200)",
    "answer_ms": "time from a command to its answer (default 1)",
    "refused_speed": "speeds from here on are refused, and the last speeds stay; 0: none is, they "
    "are cut (default 0)",
}
DEFAULTS: dict[str, Any] = {
    "position": (0.0, 0.0, 0.0),
    "width": 0.6,
    "depth": 0.5,
    "version": "3.0",
    "baud_rate": 115_200,
    "answer_ms": 1,
    "refused_speed": 0,
}
MM_PER_PULSE = 0.047  # manual, commands P and I
SPEED_PER_MM_S = 144.01  # manual, section Speed
AXLE_MM = 88.41
RADIUS_M = 0.065
FASTEST = 43_000  # about 300 mm/s
TICK_NS = 5 * MS
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


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Khepera:
    """A robot. It ignores the position in the air: the parameter of that name is its pose in its
    room. ValueError names the parameter with a wrong value."""
    values.check_names(parameters, PARAMETERS)
    return Khepera(name, {**DEFAULTS, **parameters})


class Khepera(Adjustable):
    """speed: of the left and right motor, as commanded. commands: those executed, by letter.
    leds: LED -> on."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name, settings, PARAMETERS)
        self._configure()
        self._place()
        self._power_up()

    def _place(self) -> None:
        x, y, self.heading = values.position("position", self._settings["position"])
        middle = (x, y) == (0.0, 0.0)
        self.x, self.y = (self.width / 2, self.depth / 2) if middle else (x, y)

    def _configure(self) -> None:
        settings = self._settings
        self.width = values.number("width", settings["width"], 0.2, 100)
        self.depth = values.number("depth", settings["depth"], 0.2, 100)
        rate = values.whole("baud_rate", settings["baud_rate"], 9600, 921_600)
        self._answer_ns = values.milliseconds("answer_ms", settings["answer_ms"], 0, 10_000)
        self.uart.baud_rate = rate
        self._refused = values.whole("refused_speed", settings["refused_speed"], 0, FASTEST)

    def _power_up(self) -> None:
        self.speed = (0, 0)
        self.pulses = [0.0, 0.0]
        self.leds: dict[int, bool] = {}
        self.commands: dict[str, int] = {}
        self._input = bytearray()
        self._ticks = 0
        self._moved_ns: int | None = None

    # --- the host -----------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        self._place() if name == "position" else self._configure()

    def reset(self, now: int) -> None:
        self.timers.clear()
        self.uart.clear()
        self._power_up()
        self._moved_ns = now

    def describe(self) -> str:
        left, right = self.speed
        return f"Khepera III at {self.x:.2f}, {self.y:.2f} m, speeds {left} and {right}"

    def receive(self, data: bytes, now: int) -> None:
        self._move(now)
        for byte in self.uart.distort(data):
            if byte in b"\r\n":
                line, self._input = bytes(self._input), bytearray()
                if line:
                    self._execute(line.decode("latin-1"), now)
            elif len(self._input) < INPUT_BYTES:
                self._input.append(byte)
        if self.speed != (0, 0) and "tick" not in self.timers:
            self.timers.start("tick", now + TICK_NS, self._tick)

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
        self.uart.write(line.encode("latin-1") + b"\r\n", now + self._answer_ns)

    def _version(self, numbers: list[int]) -> list[object] | None:
        return None if numbers else [self._settings["version"], 1]

    def _set_speed(self, numbers: list[int]) -> list[object] | None:
        if len(numbers) != 2 or 0 < self._refused <= max(map(abs, numbers)):
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
        """LED number; 0 off, 1 on, 2 the other."""
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
        """The value of the sensor at this angle to the heading."""
        distance = self.distance(angle)
        for (x0, y0), (x1, y1) in pairwise(LIGHT):
            if distance < x1:
                return round(y0 + (y1 - y0) * (distance - x0) / (x1 - x0))
        return LIGHT[-1][1]

    def distance(self, angle: float) -> float:
        """The distance from the robot's rim to the wall, in metres."""
        dx, dy = math.cos(self.heading + angle), math.sin(self.heading + angle)
        reach_x = (self.width - self.x if dx > 0 else self.x) / max(abs(dx), 1e-12)
        reach_y = (self.depth - self.y if dy > 0 else self.y) / max(abs(dy), 1e-12)
        return max(0.0, min(reach_x, reach_y) - RADIUS_M)

    def _tick(self, now: int) -> None:
        self._move(now)
        if self.speed != (0, 0):
            self.timers.start("tick", now + TICK_NS, self._tick)

    def _move(self, now: int) -> None:
        before, self._moved_ns = self._moved_ns, now
        if before is None or now <= before:
            return
        left, right = (each / SPEED_PER_MM_S * (now - before) / 1e9 for each in self.speed)  # mm
        self.pulses[0] += left / MM_PER_PULSE
        self.pulses[1] += right / MM_PER_PULSE
        turn = (right - left) / AXLE_MM
        middle, way = self.heading + turn / 2, (left + right) / 2000
        self.heading = math.remainder(self.heading + turn, math.tau)
        x, y = self.x + way * math.cos(middle), self.y + way * math.sin(middle)
        self.x = min(max(x, RADIUS_M), self.width - RADIUS_M)
        self.y = min(max(y, RADIUS_M), self.depth - RADIUS_M)


def _signed(pulses: float) -> int:
    """A counter of 32 bits that wraps around."""
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
