"""The robot: its parameters, its motion, and the numbers that its sensors show.

The firmware has no watchdog: a robot that got a speed drives on when the line is dead.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.base import MS, Adjustable
from firmware_mocks.epuck.arena import Arena
from firmware_mocks.epuck.sercom import BANNER, Sercom

PARAMETERS: dict[str, str] = {
    "position": "x, y in metres from a corner of the arena, and the heading in radians (default: "
    "the middle)",
    "width": "width of the arena in metres (default 0.6)",
    "depth": "depth of the arena in metres (default 0.45)",
    "model": "e-puck: wheels up to 1000 steps/s; e-puck2: up to 1200 steps/s, and a gyro "
    "(default e-puck)",
    "version": "answer to V after `v,` (default: Version 1.5.3 November 2016 (Webots), and "
    "Version 2.0 e-puck2)",
    "hardware": "hardware version, four hexadecimal digits (default FFFF)",
    "selector": "position of the selector, 0 to 15 (default 3)",
    "ground": "value of the three ground sensors; none: it has none, and answers 0 (default none)",
    "ground_values": "numbers that command M answers: 3, or 5 with two cliff sensors (default 3)",
    "ground_binary": "numbers that the binary command M answers, 3 to 8, such as 4 of an e-puck2 "
    "since 2019; 0: as many as the text (default 0)",
    "ignores_zero": "yes: command P does not set the encoders; no (default no)",
    "light": "value of the eight light sensors, 4095 in the dark (default 3500)",
    "acceleration": "m/s^2 of the axes x, y, z as in Webots (default: 0, 0, 9.81)",
    "rotation": "numbers of the gyro (default: 0, 0, 0)",
    "sound": "volume of the three microphones (default 12)",
    "delay_ms": "time from a request to its answer, e.g. of Bluetooth (default 1)",
    "echo": "yes: the line returns what it gets; no (default no)",
    "baud_rate": "rate of its line (default 115200)",
}
DEFAULTS: dict[str, Any] = {
    "position": (0.0, 0.0, 0.0),
    "width": 0.6,
    "depth": 0.45,
    "model": "e-puck",
    "version": "",
    "hardware": "FFFF",
    "selector": 3,
    "ground": "none",
    "ground_values": 3,
    "ground_binary": 0,
    "ignores_zero": "no",
    "light": 3500,
    "acceleration": (0.0, 0.0, 9.81),
    "rotation": (0.0, 0.0, 0.0),
    "sound": 12,
    "delay_ms": 1,
    "echo": "no",
    "baud_rate": 115_200,
}
FASTEST = {"e-puck": 1000, "e-puck2": 1200}  # steps/s
VERSIONS = {
    "e-puck": "Version 1.5.3 November 2016 (Webots)",
    "e-puck2": "Version 2.0 e-puck2",
}
STEP_NS = 5 * MS


class Robot(Adjustable):
    """`speeds`: steps/s of the left and right wheel in the last command, before the limit. leds:
    the state of each, by number. lines, requests: those it has executed."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name, settings, PARAMETERS)
        self.speeds = (0, 0)
        self.leds = dict.fromkeys(range(10), 0)
        self.lines: list[str] = []
        self.requests: list[str] = []
        self.offsets = [0, 0]  # of the encoders
        self._now = 0
        self._moved_ns: int | None = None
        self._is_off = False
        self.arena = Arena(0.0, 0.0, 0.0, 0.0, 0.0)
        self._configure()
        self._place()
        self._firmware = self._start()

    def _start(self) -> Generator[None, int, None]:
        firmware = Sercom(self).run()
        next(firmware)
        return firmware

    def _place(self) -> None:
        arena = self.arena
        x, y, heading = values.position("position", self._settings["position"])
        if (x, y) == (0.0, 0.0):
            x, y = arena.width / 2, arena.depth / 2
        arena.x, arena.y, arena.heading = x, y, heading

    def _configure(self) -> None:
        settings = self._settings
        self.arena.width = values.number("width", settings["width"], 0.1, 100.0)
        self.arena.depth = values.number("depth", settings["depth"], 0.1, 100.0)
        self.model = values.choice("model", settings["model"], tuple(FASTEST))
        self.version = str(settings["version"]) or VERSIONS[self.model]
        self.hardware = str(settings["hardware"])
        self.selector = values.whole("selector", settings["selector"], 0, 15)
        ground = settings["ground"]
        self._ground = 0 if ground == "none" else values.whole("ground", ground, 0, 4095)
        self._ground_values = int(
            values.choice("ground_values", settings["ground_values"], ("3", "5"))
        )
        binary = values.whole("ground_binary", settings["ground_binary"], 0, 8)
        self._ground_binary = binary or self._ground_values
        ignores = values.choice("ignores_zero", settings["ignores_zero"], ("no", "yes"))
        self._ignores_zero = ignores == "yes"
        self._light = values.whole("light", settings["light"], 0, 4095)
        self._sound = values.whole("sound", settings["sound"], 0, 4095)
        self._acceleration = values.position("acceleration", settings["acceleration"])
        self._rotation = values.position("rotation", settings["rotation"])
        self._delay_ns = values.milliseconds("delay_ms", settings["delay_ms"], 0, 10_000)
        self._echo = values.choice("echo", settings["echo"], ("no", "yes")) == "yes"
        rate = values.whole("baud_rate", settings["baud_rate"], 1200, 1_000_000)
        self.uart.baud_rate = rate

    # --- the host -----------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        self._place() if name == "position" else self._configure()

    def reset(self, now: int) -> None:
        """Switched on, or its reset button."""
        self._is_off = False
        self.timers.clear()
        self.uart.clear()
        self._moved_ns = self._now = now
        self.restart()

    def switch_off(self) -> None:
        self._is_off = True
        self.timers.clear()
        self.uart.clear()
        self.speeds = (0, 0)

    def describe(self) -> str:
        left, right = self.speeds
        return f"{self.model} with selector {self.selector}, wheels at {left} and {right} steps/s"

    def receive(self, data: bytes, now: int) -> None:
        if self._is_off:
            return
        data = self.uart.distort(data)
        if self._echo:
            self.uart.write(data, now)
        self._now = now
        self._move(now)
        for byte in data:
            self._firmware.send(byte)
        if self.speeds != (0, 0) and "step" not in self.timers:
            self.timers.start("step", now + STEP_NS, self._step)

    def _step(self, now: int) -> None:
        self._move(now)
        if self.speeds != (0, 0):
            self.timers.start("step", now + STEP_NS, self._step)

    def _move(self, now: int) -> None:
        before, self._moved_ns = self._moved_ns, now
        if before is not None and now > before:
            limit = FASTEST[self.model]
            left, right = (max(-limit, min(limit, speed)) for speed in self.speeds)
            self.arena.move(left, right, (now - before) / 1e9)

    # --- called by the firmware ---------------------------------------------------------------

    def answer(self, data: bytes) -> None:
        self.uart.write(data, self._now + self._delay_ns)

    def restart(self) -> None:
        """The processor starts: wheels and LEDs are off, the encoders at 0. Earlier
        commands are lost."""
        self.speeds = (0, 0)
        self.leds = dict.fromkeys(range(10), 0)
        self.set_encoders(0, 0)
        self._firmware = self._start()
        self.answer(BANNER)

    def command_encoders(self, left: int, right: int) -> None:
        """Command P."""
        if not self._ignores_zero:
            self.set_encoders(left, right)

    def set_encoders(self, left: int, right: int) -> None:
        turned = self.arena.steps
        self.offsets = [left - math.floor(turned[0]), right - math.floor(turned[1])]

    def encoders(self) -> list[int]:
        """16 bits each, which wrap around."""
        pairs = zip(self.arena.steps, self.offsets, strict=True)
        return [_signed(math.floor(steps) + offset) for steps, offset in pairs]

    @property
    def free_fall(self) -> int:
        """The number of each axis without an acceleration."""
        return 2048 if self.model == "e-puck2" else 2000

    def acceleration(self) -> list[int]:
        """The x axis of the chip points the other way."""
        per_g = 768 if self.model == "e-puck2" else 800
        x, y, z = (per_g * each / 9.81 for each in self._acceleration)
        zero = self.free_fall
        return [round(zero - x), round(zero + y), round(zero + z)]

    def proximity(self) -> list[int]:
        return self.arena.proximity()

    def light(self) -> list[int]:
        return [self._light] * 8

    def ground(self) -> list[int]:
        return [self._ground] * self._ground_values

    def binary_ground(self) -> list[int]:
        return [self._ground] * self._ground_binary

    def volumes(self) -> list[int]:
        return [self._sound] * 3

    def rotation(self) -> list[int] | None:
        """None: this model has no gyro."""
        return [round(each) for each in self._rotation] if self.model == "e-puck2" else None


def _signed(number: int) -> int:
    return (number + 0x8000 & 0xFFFF) - 0x8000
