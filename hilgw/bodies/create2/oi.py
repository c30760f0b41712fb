"""The Open Interface (OI) of the iRobot Create 2: commands, sensor packets, the stream.

iRobot Create 2 Open Interface (OI) Specification based on the iRobot Roomba 600, sections "Mode
Commands", "Actuator Commands", "Input Commands" and "Sensor Packets". Numbers are big-endian.
"""

import math
import struct
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

START, SAFE, FULL = b"\x80", b"\x83", b"\x84"
PASSIVE_MODE, SAFE_MODE, FULL_MODE = 1, 2, 3
MODES = ("off", "passive", "safe", "full")
FASTEST_MM_S = 500
MM_PER_COUNT = math.pi * 72.0 / 508.8  # packets 43 and 44: wheel diameter, counts per turn
STREAM_PERIOD_MS = 15
HEADER = 19
OVERHEAD = 3  # header, length, checksum

OVERCURRENT, MODE = 14, 35
LEFT_ENCODER, RIGHT_ENCODER = 43, 44


class SensorField(NamedTuple):
    """A number in a sensor packet. bit: of a packet of flags, -1 for the whole packet."""

    packet: int
    bit: int = -1


SIZES = {
    packet: 2
    if packet in {19, 20, 22, 23, 25, 26, *range(27, 32), 33}
    or 39 <= packet <= 44
    or 46 <= packet <= 51
    or 54 <= packet <= 57
    else 1
    for packet in range(7, 59)
}
SIGNED = {23, 24}
SOURCES: dict[str, SensorField] = {
    "bump_right": SensorField(7, 0),
    "bump_left": SensorField(7, 1),
    "wheel_drop_right": SensorField(7, 2),
    "wheel_drop_left": SensorField(7, 3),
    "wall": SensorField(8),
    "cliff_left": SensorField(9),
    "cliff_front_left": SensorField(10),
    "cliff_front_right": SensorField(11),
    "cliff_right": SensorField(12),
    "virtual_wall": SensorField(13),
    "dirt": SensorField(15),
    "infrared": SensorField(17),
    "infrared_left": SensorField(52),
    "infrared_right": SensorField(53),
    "buttons": SensorField(18),
    "charging_state": SensorField(21),
    "voltage": SensorField(22),
    "current": SensorField(23),
    "temperature": SensorField(24),
    "battery_charge": SensorField(25),
    "battery_capacity": SensorField(26),
    "wall_signal": SensorField(27),
    "cliff_left_signal": SensorField(28),
    "cliff_front_left_signal": SensorField(29),
    "cliff_front_right_signal": SensorField(30),
    "cliff_right_signal": SensorField(31),
    "home_base": SensorField(34, 1),
    "light_bump_left": SensorField(46),
    "light_bump_front_left": SensorField(47),
    "light_bump_center_left": SensorField(48),
    "light_bump_center_right": SensorField(49),
    "light_bump_front_right": SensorField(50),
    "light_bump_right": SensorField(51),
    "stasis": SensorField(58, 0),
}


def drive_direct(left: int, right: int) -> bytes:
    """Command 145, mm/s. The right wheel comes first."""
    return struct.pack(">Bhh", 145, right, left)


def drive(left: float, right: float, radius_m: float) -> bytes:
    """Return the drive command for two velocities in rad/s, each cut to the robot's 500 mm/s.

    One beyond the robot's 500 mm/s is cut to it.
    """
    return drive_direct(_mm_s(left, radius_m), _mm_s(right, radius_m))


def _mm_s(velocity: float, radius_m: float) -> int:
    return round(max(-FASTEST_MM_S, min(FASTEST_MM_S, velocity * radius_m * 1000)))


# Both wheels stop. The first bytes may complete a command that was cut: the emergency stop writes
# this twice, which is longer than any command of ours, and the 0 completes a count of packets.
STOP = b"\0" + 3 * drive_direct(0, 0)


def leds(bits: int, colour: int, intensity: int) -> bytes:
    """Command 139.

    bits: debris, spot, dock, check robot; colour: of the power LED, 0 green to 255 red.
    """
    return bytes((139, bits, colour, intensity))


def stream(packets: Iterable[int]) -> bytes:
    """Command 148: a frame with these packets every 15 ms."""
    wanted = bytes(packets)
    return bytes((148, len(wanted))) + wanted


def frame_size(packets: Iterable[int]) -> int:
    """Return the number of bytes of a frame of the stream with these packets."""
    return OVERHEAD + sum(1 + SIZES[packet] for packet in packets)


def value_of(packet: int, data: bytes) -> int:
    return int.from_bytes(data, "big", signed=packet in SIGNED)


class StreamReader:
    """Frames of the stream from bytes in any chunks.

    A frame is `13 N (id data)... checksum`; the sum of all its bytes is 0 modulo 256. What does not
    parse is dropped up to the next header, so that a good frame after it is found; the buffer never
    holds more than the longest frame plus what came last. dropped: bytes.
    """

    def __init__(self, packets: Iterable[int]) -> None:
        self.dropped: Counter[str] = Counter()
        self.known = frozenset(packets)
        self._longest = frame_size(self.known)
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes that may belong to a frame that is not complete."""
        return len(self._buffer)

    def clear(self) -> None:
        self._buffer.clear()

    def feed(self, data: bytes) -> list[dict[int, int]]:
        """Return the values of each frame by packet, in order."""
        buffer, frames = self._buffer, []
        buffer += data
        start = 0
        while (start := self._next_header(start)) >= 0:
            if len(buffer) - start < 2:
                break
            size = buffer[start + 1] + OVERHEAD
            if size > self._longest:
                start = self._skip(start)
            elif len(buffer) - start < size:
                break
            elif (values := self._parse(bytes(buffer[start : start + size]))) is None:
                start = self._skip(start)
            else:
                frames.append(values)
                start += size
        del buffer[: len(buffer) if start < 0 else start]
        return frames

    def _next_header(self, start: int) -> int:
        header = self._buffer.find(HEADER, start)
        skipped = (len(self._buffer) if header < 0 else header) - start
        if skipped:
            self.dropped["noise"] += skipped
        return header

    def _skip(self, start: int) -> int:
        self.dropped["noise"] += 1
        return start + 1

    def _parse(self, frame: bytes) -> dict[int, int] | None:
        if sum(frame) & 0xFF:
            return None
        values: dict[int, int] = {}
        index, end = 2, len(frame) - 1
        while index < end:
            packet = frame[index]
            if packet not in self.known or packet in values:
                return None
            after = index + 1 + SIZES[packet]
            if after > end:
                return None
            values[packet] = value_of(packet, frame[index + 1 : after])
            index = after
        return values


_WORDS = {128: "start", 131: "safe mode", 132: "full mode"}
_DATA = {139: 3, 145: 4}


def describe(data: bytes, *, received: bool) -> str:
    """Never raises; bytes that are not a command or a frame are shown in hex."""
    return _frames(data) if received else "; ".join(_commands(data))


def _frames(data: bytes) -> str:
    frames = StreamReader(SIZES).feed(data)
    shown = [" ".join(f"{packet}={value}" for packet, value in each.items()) for each in frames]
    return "; ".join(shown) or data.hex(" ")


def _commands(data: bytes) -> list[str]:
    words: list[str] = []
    start = 0
    while start < len(data):
        command = data[start]
        size = 1 + _DATA.get(command, 0)
        if data.startswith(STOP, start):
            words.append("stop")
            start += len(STOP)
            continue
        if command == 148:
            size = 2 + (data[start + 1] if start + 1 < len(data) else 0)
        body = data[start + 1 : start + size]
        if start + size > len(data) or command not in {*_WORDS, *_DATA, 148}:
            return [*words, data[start:].hex(" ")]
        if command == 145:
            right, left = struct.unpack(">hh", body)
            text = f"drive left {left}, right {right} mm/s"
        elif command == 139:
            text = f"LEDs {body[0]:04b}, power {body[1]} {body[2]}"
        elif command == 148:
            text = f"stream {' '.join(map(str, body[1:]))}"
        else:
            text = _WORDS[command]
        if not words or words[-1] != text:
            words.append(text)
        start += size
    return words
