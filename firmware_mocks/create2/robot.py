"""The robot: modes, commands, sensors. Sections of the Open Interface (OI) specification.

The OI has no watchdog: a robot that got a drive command drives on when the line is dead. In safe
mode it stops and returns to passive mode at a cliff, a wheel drop or a charger, and at nothing
else.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

from firmware_mocks import parameters as values
from firmware_mocks._room import RoomParameters, Rover
from firmware_mocks.air import Air
from firmware_mocks.base import MS
from firmware_mocks.create2 import packets
from firmware_mocks.create2.floor import LIGHT_BUMPERS, Floor
from firmware_mocks.parameters import parameter

OFF, PASSIVE, SAFE, FULL = range(4)
MODES = ("off", "passive", "safe", "full")
OVERCURRENTS = {"none": 0, "right": 8, "left": 16, "both": 24}
DROPS = {"none": 0, "right": 4, "left": 8, "both": 12}
CLIFFS = ("none", "left", "front_left", "front_right", "right")
BAUD_RATES = (300, 600, 1200, 2400, 4800, 9600, 14400, 19200, 28800, 38400, 57600, 115200)
CAPACITY_MAH = 2696
FLOOR_SIGNAL = 2500  # of a cliff sensor above a floor
STREAM_NS = 15 * MS
SLEEP_NS = 300_000 * MS  # in passive mode without a command
FASTEST = 500  # mm/s
# Data bytes of the commands; those of 140, 148 and 149 depend on their second or first byte.
DATA_BYTES = {
    **dict.fromkeys((7, 128, 130, 131, 132, 133, 134, 135, 136, 143, 173), 0),
    **dict.fromkeys((129, 138, 141, 142, 147, 150, 165), 1),
    **dict.fromkeys((162,), 2),
    **dict.fromkeys((139, 144, 168), 3),
    **dict.fromkeys((137, 145, 146, 163, 164), 4),
    167: 15,
}
SONG, STREAM, QUERY = 140, 148, 149
BOOT_TEXT = b"bl-start\r\nbattery-current-zero 266\r\n"


SIDES = "none, left, right, both"


@dataclass(frozen=True)
class Settings(RoomParameters):
    """The parameters of a robot."""

    wheel_drop: str = parameter(
        f"wheels that hang in the air: {SIDES}", "none", values.choice, tuple(DROPS)
    )
    cliff: str = parameter(
        f"cliff sensor that sees no floor: {', '.join(CLIFFS)}", "none", values.choice, CLIFFS
    )
    overcurrent: str = parameter(
        f"wheels that draw too much current, as blocked ones do: {SIDES}",
        "none",
        values.choice,
        tuple(OVERCURRENTS),
    )
    charger: bool = parameter("it stands on its home base: no, yes", "no", values.yes)
    charge: int = parameter(
        "charge of the battery in mAh, 0 to 2696", 2600, values.whole, 0, CAPACITY_MAH
    )
    baud_rate: str = parameter(
        "rate of its line after a start: 115200, or 19200 with the clean button held, or one that "
        "command 129 has set",
        115_200,
        values.choice,
        tuple(map(str, BAUD_RATES)),
    )


class Robot(Rover[Settings]):
    """The robot.

    `drive` are the speeds of the left and right wheel in mm/s of the last command; `commands` are
    those it has executed, by opcode.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        self.floor = Floor()
        super().__init__(name, air, settings, self.floor, per_metre=1000)
        self.commands: dict[int, int] = {}
        self.mode = OFF
        self.drive = (0, 0)
        self.leds = (0, 0, 0)
        self._input = bytearray()
        self.stream: list[int] = []
        self._reported_mm = self._reported_degrees = 0.0
        self.uart.baud_rate = int(settings.baud_rate)

    @property
    def _drop(self) -> int:
        return DROPS[self.settings.wheel_drop]

    @property
    def _cliff(self) -> int:
        # The number of the sensor that sees no floor; -1: all see it.
        return CLIFFS.index(self.settings.cliff) - 1

    # --- the host -----------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        super()._adopt(name)
        self._protect()

    def reset(self, now: int) -> None:
        # The battery is taken out and put in again.
        self.mode, self.drive, self.leds = OFF, (0, 0), (0, 0, 0)
        self._input.clear()
        self.stream = []
        self._cancel()
        self.uart.baud_rate = int(self.settings.baud_rate)
        self._moved_ns = now
        self._reported_mm, self._reported_degrees = self.floor.way()

    def describe(self) -> str:
        left, right = self.drive
        return f"Create 2 in {MODES[self.mode]} mode, wheels at {left} and {right} mm/s"

    def receive(self, data: bytes, now: int) -> None:
        self._move(now)
        self._input += self.uart.distort(data)
        while self._input:
            size = self._size()
            if size == 0 or len(self._input) < size:
                return
            command, body = self._input[0], bytes(self._input[1:size])
            del self._input[:size]
            self._execute(command, body, now)
            self._keep_moving(now)

    # --- commands -----------------------------------------------------------------------------

    def _size(self) -> int:
        # Bytes of the command that the input begins with; 0: unknown yet. A byte that is not an
        # opcode is a command of its own.
        command, have = self._input[0], len(self._input)
        if command in (STREAM, QUERY):
            return 2 + self._input[1] if have > 1 else 0
        if command == SONG:
            return 3 + 2 * self._input[2] if have > 2 else 0
        return 1 + DATA_BYTES.get(command, 0)

    def _execute(self, command: int, body: bytes, now: int) -> None:
        if command not in DATA_BYTES and command not in (SONG, STREAM, QUERY):
            return
        if command == 7:
            self._restart(now)
            return
        if self.mode == OFF and command != 128:
            return
        self.commands[command] = self.commands.get(command, 0) + 1
        act: Callable[[bytes, int], None] | None = {
            128: self._passive,
            129: self._baud,
            130: self._safe,
            131: self._safe,
            132: self._full,
            133: self._passive,
            134: self._passive,
            135: self._passive,
            136: self._passive,
            137: self._drive,
            139: self._set_leds,
            142: self._sensors,
            143: self._passive,
            145: self._drive_direct,
            146: self._drive_pwm,
            STREAM: self._begin_stream,
            QUERY: self._query,
            150: self._toggle_stream,
            173: self._stop,
        }.get(command)
        if act is not None:
            act(body, now)
        if self.mode == PASSIVE:
            self.timers.start("sleep", now + SLEEP_NS, self._sleep)
        else:
            self.timers.stop("sleep")

    def _enter(self, mode: int) -> None:
        self.mode = mode
        if mode in (OFF, PASSIVE):
            self.drive = (0, 0)
        self._protect()

    def _passive(self, body: bytes, now: int) -> None:
        self._enter(PASSIVE)

    def _safe(self, body: bytes, now: int) -> None:
        self._enter(SAFE)

    def _full(self, body: bytes, now: int) -> None:
        self._enter(FULL)

    def _stop(self, body: bytes, now: int) -> None:
        self.stream = []
        self.timers.stop("stream")
        self._enter(OFF)

    def _sleep(self, now: int) -> None:
        self._stop(b"", now)

    def _restart(self, now: int) -> None:
        self.reset(now)
        self.uart.write(BOOT_TEXT, now)

    def _baud(self, body: bytes, now: int) -> None:
        # The rate changes when what was written before has left.
        if body[0] >= len(BAUD_RATES):
            return
        rate = BAUD_RATES[body[0]]

        def change(when: int) -> None:
            self.uart.baud_rate = rate

        self.uart.change(change, now)

    def _set_leds(self, body: bytes, now: int) -> None:
        if self.mode in (SAFE, FULL):
            self.leds = (body[0] & 15, body[1], body[2])

    # --- driving ------------------------------------------------------------------------------

    def _set_drive(self, left: float, right: float) -> None:
        if self.mode not in (SAFE, FULL):
            return
        self.drive = (_bounded(left), _bounded(right))
        self._protect()

    def _drive_direct(self, body: bytes, now: int) -> None:
        right, left = struct.unpack(">hh", body)
        self._set_drive(left, right)

    def _drive_pwm(self, body: bytes, now: int) -> None:
        right, left = struct.unpack(">hh", body)
        self._set_drive(left * FASTEST / 255, right * FASTEST / 255)

    def _drive(self, body: bytes, now: int) -> None:
        # Speed and radius; 8000 and 7FFF hex: straight, -1: turn clockwise, 1: the other way.
        speed, radius = struct.unpack(">hh", body)
        if radius in (-32768, 32767):
            self._set_drive(speed, speed)
        elif radius in (-1, 1):
            self._set_drive(-speed * radius, speed * radius)
        elif radius:
            half = 235.0 / 2 / radius
            self._set_drive(speed * (1 - half), speed * (1 + half))

    def _protect(self) -> None:
        # OI Modes, Safe Mode: what returns the robot to passive mode with its motors stopped.
        forward = self.drive[0] + self.drive[1] > 0
        if self.mode == SAFE and (
            self._drop or self.settings.charger or (self._cliff >= 0 and forward)
        ):
            self._enter(PASSIVE)

    @property
    def _drives(self) -> bool:
        return self.drive != (0, 0)

    def _roll(self, time_ns: int) -> None:
        self.floor.move(self.drive[0], self.drive[1], time_ns / 1e9)

    # --- sensors ------------------------------------------------------------------------------

    def values(self) -> dict[int, int]:
        """Return the present values of the sensors, by packet."""
        left_bump, right_bump = self.floor.bumpers
        left, right = self.floor.counts()
        mm, degrees = self.floor.way()
        known = {
            19: round(mm - self._reported_mm),
            20: round(degrees - self._reported_degrees),
            7: right_bump | left_bump << 1 | self._drop,
            14: OVERCURRENTS[self.settings.overcurrent],
            21: 2 if self.settings.charger else 0,
            22: 15_000,
            23: -200 if self.drive == (0, 0) else -900,
            24: 25,
            25: self.settings.charge,
            26: CAPACITY_MAH,
            34: 2 * self.settings.charger,
            35: self.mode,
            37: 0,
            38: len(self.stream),
            41: self.drive[1],
            42: self.drive[0],
            43: left,
            44: right,
        }
        for place in range(4):
            known[9 + place] = int(place == self._cliff)
            known[28 + place] = 0 if place == self._cliff else FLOOR_SIGNAL
        for place, angle in enumerate(LIGHT_BUMPERS):
            known[46 + place] = self.floor.light(angle)
            known[45] = known.get(45, 0) | (known[46 + place] > 200) << place
        return known

    def _reported(self, number: int, values: dict[int, int]) -> None:
        # Distance and angle (packets 19 and 20) are those since they were last requested; what a
        # whole number leaves out counts next time.
        mm, degrees = self.floor.way()
        if 19 in packets.members(number):
            capped = abs(values[19]) > 32767
            self._reported_mm = mm if capped else self._reported_mm + values[19]
        if 20 in packets.members(number):
            capped = abs(values[20]) > 32767
            self._reported_degrees = degrees if capped else self._reported_degrees + values[20]

    def _sensors(self, body: bytes, now: int) -> None:
        if packets.is_packet(body[0]):
            values = self.values()
            self.uart.write(packets.data(body[0], values), now)
            self._reported(body[0], values)

    def _query(self, body: bytes, now: int) -> None:
        for number in body[1:]:
            self._sensors(bytes((number,)), now)

    def _begin_stream(self, body: bytes, now: int) -> None:
        # Packets beyond the 255 bytes that a frame can count are left out.
        self.stream, size = [], 0
        for number in filter(packets.is_packet, body[1:]):
            size += 1 + len(packets.data(number, {}))
            if size <= 255:
                self.stream.append(number)
        if self.stream:
            self.timers.start("stream", now + STREAM_NS, self._send_stream)
        else:
            self.timers.stop("stream")

    def _toggle_stream(self, body: bytes, now: int) -> None:
        if body[0] == 0:
            self.timers.stop("stream")
        elif body[0] == 1 and self.stream:
            self.timers.start("stream", now + STREAM_NS, self._send_stream)

    def _send_stream(self, now: int) -> None:
        # A frame that does not fit into 15 ms pushes out the next one.
        self._move(now)
        if self.uart.idle_at(now) <= now + STREAM_NS:
            values = self.values()
            self.uart.write(packets.stream_frame(self.stream, values), now)
            streamed = {each for number in self.stream for each in packets.members(number)}
            for number in streamed & {19, 20}:
                self._reported(number, values)
        self.timers.start("stream", now + STREAM_NS, self._send_stream)


def _bounded(speed: float) -> int:
    return round(max(-FASTEST, min(FASTEST, speed)))
