"""The robot: its motion, and the numbers that its sensors show.

The firmware has no watchdog: a robot that got a speed drives on when the line is dead.
"""

import math
from collections.abc import Generator

from firmware_mocks._room import Rover
from firmware_mocks.air import Air
from firmware_mocks.epuck.arena import Arena
from firmware_mocks.epuck.sercom import BANNER, Sercom
from firmware_mocks.epuck.settings import FASTEST, Settings


class Robot(Rover[Settings]):
    """The robot.

    `speeds` are the steps/s of the left and right wheel in the last command, before the limit;
    `leds` the state of each, by number; `lines` and `requests` those it has executed.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        self.arena = Arena()
        super().__init__(name, air, settings, self.arena)
        self.speeds = (0, 0)
        self.leds = dict.fromkeys(range(10), 0)
        self.lines: list[str] = []
        self.requests: list[str] = []
        self.offsets = [0, 0]  # of the encoders
        self._now = 0
        self._is_off = False
        self._firmware = self._start()

    def _start(self) -> Generator[None, int, None]:
        firmware = Sercom(self).run()
        next(firmware)
        return firmware

    def _configure(self) -> None:
        super()._configure()
        self.uart.baud_rate = self.settings.baud_rate

    # --- the host -----------------------------------------------------------------------------

    def reset(self, now: int) -> None:
        # Switched on, or its reset button.
        self._is_off = False
        self._cancel()
        self._moved_ns = self._now = now
        self.restart()

    def switch_off(self) -> None:
        self._is_off = True
        self._cancel()
        self.speeds = (0, 0)

    def describe(self) -> str:
        left, right = self.speeds
        model, selector = self.settings.model, self.settings.selector
        return f"{model} with selector {selector}, wheels at {left} and {right} steps/s"

    def receive(self, data: bytes, now: int) -> None:
        if self._is_off:
            return
        data = self.uart.distort(data)
        if self.settings.echo:
            self.uart.write(data, now)
        self._now = now
        self._move(now)
        for byte in data:
            self._firmware.send(byte)
        self._keep_moving(now)

    @property
    def _drives(self) -> bool:
        return self.speeds != (0, 0)

    def _roll(self, time_ns: int) -> None:
        limit = FASTEST[self.settings.model]
        left, right = (max(-limit, min(limit, speed)) for speed in self.speeds)
        self.arena.move(left, right, time_ns / 1e9)

    # --- called by the firmware ---------------------------------------------------------------

    def answer(self, data: bytes) -> None:
        self.uart.write(data, self._now + self.settings.delay_ns)

    def restart(self) -> None:
        """Start the processor: wheels and LEDs off, encoders at 0, earlier commands lost."""
        self.speeds = (0, 0)
        self.leds = dict.fromkeys(range(10), 0)
        self.set_encoders(0, 0)
        self._firmware = self._start()
        self.answer(BANNER)

    def command_encoders(self, left: int, right: int) -> None:
        if not self.settings.ignores_zero:
            self.set_encoders(left, right)

    def set_encoders(self, left: int, right: int) -> None:
        turned = self.arena.steps
        self.offsets = [left - math.floor(turned[0]), right - math.floor(turned[1])]

    def encoders(self) -> list[int]:
        """Return the encoders, 16 bits each, which wrap around."""
        pairs = zip(self.arena.steps, self.offsets, strict=True)
        return [_signed(math.floor(steps) + offset) for steps, offset in pairs]

    @property
    def free_fall(self) -> int:
        """The number of each axis without an acceleration."""
        return 2048 if self.settings.model == "e-puck2" else 2000

    def acceleration(self) -> list[int]:
        """Return the acceleration; the x axis of the chip points the other way."""
        per_g = 768 if self.settings.model == "e-puck2" else 800
        x, y, z = (per_g * each / 9.81 for each in self.settings.acceleration)
        zero = self.free_fall
        return [round(zero - x), round(zero + y), round(zero + z)]

    def proximity(self) -> list[int]:
        return self.arena.proximity()

    def light(self) -> list[int]:
        return [self.settings.light] * 8

    def ground(self) -> list[int]:
        return [self.settings.ground] * int(self.settings.ground_values)

    def binary_ground(self) -> list[int]:
        settings = self.settings
        return [settings.ground] * (settings.ground_binary or int(settings.ground_values))

    def volumes(self) -> list[int]:
        return [self.settings.sound] * 3

    def rotation(self) -> list[int] | None:
        """Return the rotation; None for a model without a gyro."""
        return (
            [round(each) for each in self.settings.rotation]
            if self.settings.model == "e-puck2"
            else None
        )


def _signed(number: int) -> int:
    return (number + 0x8000 & 0xFFFF) - 0x8000
