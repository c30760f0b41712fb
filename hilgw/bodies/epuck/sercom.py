"""The protocol sercom of the e-puck: requests and answers in binary, and lines of text.

A first byte of 80h or more begins a binary request: each command is 256 minus its letter, 00 ends
it. The robot then answers with the values in the order of the commands, as little-endian numbers
of 16 bits. A first byte below 80h begins a line of text, which LF or CR ends: one of the two, as
the second would begin another line.
"""

import re
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hilgw.control.events import Event, Write
from hilgw.control.exchange import Question
from hilgw.errors import MismatchError
from hilgw.protocols.dialogue import AskLine, LineScript, Pause

Numbers = dict[str, tuple[int, ...]]  # of each command

BAUD_RATE = 115_200
# Commands that are answered, in the order of a request: accelerometer, ground, proximity, light,
# encoders, microphones, gyro, speeds.
LETTERS = "aMNOQugE"
SPEEDS = "E"
ENCODERS, GROUND = "Q", "M"
# How many numbers the binary command M answers, by firmware; the text one may answer others.
GROUND_VALUES = range(3, 9)
_NUMBERS = {"a": 3, "M": 3, "N": 8, "O": 8, "Q": 2, "u": 3, "g": 3, "E": 2}
_SIGNED = "NOQgE"
SPEED_BYTES, LED_BYTES = 5, 3
END = b"\0"

VERSION, SELECTOR = b"V\n", b"C\n"
ZERO_ENCODERS, QUIET = b"P,0,0\n", b"S\n"
VERSION_ANSWER = re.compile(rb"^v,(.*version.*\d.*)$", re.I)
HARDWARE_ANSWER = re.compile(rb"^HW version: *([ -~]+)$")
SELECTOR_ANSWER = re.compile(rb"^c,(\d{1,2})$")
ZERO_ANSWER, QUIET_ANSWER = re.compile(rb"^p$"), re.compile(rb"^s$")
DRIVE_ANSWER = re.compile(rb"(?:^|[^ -~])d[\r\n]")  # the rest of a binary answer may precede it
# Words of the two lines that the robot sends after a reset.
WELCOME = (b"SerCom", b"EPFL education")

_OWN = re.compile(rb"[a-y](?:,[-\d]+)*|HW version.*|V|D,0,0")
LINE_ENDS = b"\r", b"\n"
# The end of a longer line is taken as the line: the rest of a binary answer may precede it.
LONGEST_LINE = 256


def command(letter: str) -> int:
    """Return the byte of a command in a binary request."""
    return 256 - ord(letter)


def drive(left: int, right: int) -> bytes:
    """Command D, steps/s: part of a binary request, not answered."""
    return struct.pack("<Bhh", command("D"), left, right)


def drive_line(left: int, right: int) -> bytes:
    """Return the same request as a line of text, which the robot answers with `d`.

    Before it: five bytes 00, which complete a binary request that was cut, and a line feed, which
    ends a line.
    """
    return 5 * END + f"\nD,{left},{right}\n".encode()


STOP = drive_line(0, 0)  # both wheels stop, whatever the robot has received before


def led(number: int, state: int) -> bytes:
    """Command L: part of a binary request, not answered. number: 0 to 7, 8 body, 9 front."""
    return bytes((command("L"), number, state))


def ask(letters: str) -> bytes:
    """Return the commands that are answered, and the end of the request."""
    return bytes(map(command, letters)) + END


def answer_size(letters: str, ground_values: int = 3) -> int:
    """Return the number of bytes of the answer.

    ground_values: what command M answers; some firmware adds two cliff sensors to the three of the
    ground.
    """
    return sum(2 * _count(letter, ground_values) for letter in letters)


def decode(letters: str, data: bytes, ground_values: int = 3) -> Numbers:
    """Return the numbers of each command; data has `answer_size` bytes."""
    numbers: Numbers = {}
    start = 0
    for letter in letters:
        count = _count(letter, ground_values)
        code = "h" if letter in _SIGNED else "H"
        numbers[letter] = struct.unpack_from(f"<{count}{code}", data, start)
        start += 2 * count
    return numbers


def _count(letter: str, ground_values: int) -> int:
    return ground_values if letter == GROUND else _NUMBERS[letter]


def is_own(line: bytes) -> bool:
    """Return whether sercom sends this line by itself, or as an echo."""
    return _OWN.fullmatch(line) is not None or any(word in line for word in WELCOME)


def describe(data: bytes, *, received: bool) -> str:
    """Describe bytes in words, for people; never raises."""
    text = data.strip(b"\r\n\0\f\a")
    if not text:
        return data.hex(" ")
    if all(0x20 <= byte < 0x7F or byte in b"\r\n\f\a" for byte in text):
        return "; ".join(line.decode() for line in re.split(rb"[\r\n\f\a]+", text) if line)
    return data.hex(" ") if received else _request(data)


def _request(data: bytes) -> str:
    words: list[str] = []
    start = 0
    while start < len(data):
        letter = chr(256 - data[start]) if data[start] >= 0x80 else ""
        if letter == "D" and start + SPEED_BYTES <= len(data):
            left, right = struct.unpack_from("<hh", data, start + 1)
            words.append(f"drive left {left}, right {right} steps/s")
            start += SPEED_BYTES
        elif letter == "L" and start + LED_BYTES <= len(data):
            words.append(f"LED {data[start + 1]} {data[start + 2]}")
            start += LED_BYTES
        elif letter and letter in LETTERS:
            words.append(f"ask {letter}")
            start += 1
        elif data[start] == 0:
            start += 1
        else:
            return "; ".join([*words, data[start:].hex(" ")])
    return "; ".join(words)


DRAIN_S = 0.15  # what the robot was asked for before has come by then
SETTLE_S = 0.02
LINE_S = 0.3  # for an answer to one line
TRIES = 3


# --- units: the scales of Webots' own remote control ----------------------------------------------

RAD_PER_STEP = 0.00628  # 1000 steps a turn
STEPS_PER_RAD = 159.23
MAX_STEPS_S = {"e-puck": 1000, "e-puck2": 1200}
_ACCELEROMETERS = {"e-puck": (2000, 800), "e-puck2": (2048, 768)}  # at rest, and for 1 g more
_G = 9.81


def steps_s(velocity: float, limit: int) -> int:
    """Return steps per second for rad/s, cut towards zero and to the limit of the robot."""
    return int(max(-limit, min(limit, velocity / RAD_PER_STEP)))


def acceleration(raw: tuple[int, ...], model: str) -> tuple[float, ...]:
    """Return the m/s^2 of the three axes; the robot's x axis points the other way."""
    zero, per_g = _ACCELEROMETERS[model]
    x, y, z = ((number - zero) * _G / per_g for number in raw)
    return 0.0 - x, y, z


# --- dialogues in lines of text -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SercomAnswer:
    """Answer of a robot. selector: None where it was not answered."""

    version: str
    hardware: str
    selector: int | None

    def __str__(self) -> str:
        words = [self.version]
        if self.hardware:
            words.append(f"HW version {self.hardware}")
        if self.selector is not None:
            words.append(f"selector {self.selector}")
        return ", ".join(words)


def handshake(
    seen: deque[bytes], answer_s: float, *, at_first: bool
) -> LineScript[Event, SercomAnswer | None]:
    """Stop the robot, and ask for its identity.

    None: it is silent, or what comes is not text.

    seen: the last lines that came, which the session keeps. at_first: the encoders begin at 0.
    Raises MismatchError for another device.
    """
    line_s = LINE_S + answer_s
    yield Write(STOP)
    yield Pause(DRAIN_S + answer_s)
    seen.clear()
    asked = yield AskLine(VERSION, VERSION_ANSWER, timeout_s=line_s, tries=TRIES)
    if asked is None:
        _refuse_others(seen)
        return None
    hardware = yield AskLine(b"", HARDWARE_ANSWER, timeout_s=LINE_S)
    selector = yield AskLine(SELECTOR, SELECTOR_ANSWER, timeout_s=line_s)
    if at_first:
        yield AskLine(ZERO_ENCODERS, ZERO_ANSWER, timeout_s=line_s)
    if (yield AskLine(QUIET, QUIET_ANSWER, timeout_s=line_s, tries=TRIES)) is None:
        return None
    yield Pause(SETTLE_S)
    return SercomAnswer(
        printable(asked[1]),
        "" if hardware is None else printable(hardware[1]),
        None if selector is None else int(selector[1]),
    )


def printable(data: bytes) -> str:
    """Text of a device, short and safe to show."""
    text = data.decode("ascii", "replace").strip()
    return "".join(each if each.isprintable() else "?" for each in text)[:80]


def _refuse_others(seen: Iterable[bytes]) -> None:
    others = [line for line in seen if not is_own(line)]
    if others and all(0x20 <= byte < 0x7F for line in others for byte in line):
        raise MismatchError(
            f"not an e-puck with sercom: it answers '{printable(others[-1])}' to V",
            fix="correct the port, or start sercom on the robot (its selector, then reset)",
        )


@dataclass(slots=True, eq=False)
class Fence(Question[bytes]):
    """A line of text that ends whatever the robot is in the middle of.

    has_missed: an answer before it did not come in time.
    """

    has_missed: bool
    received: bytes = b""

    @property
    def answer_bytes(self) -> int:
        return 64  # with the end of a late answer

    def take(self, answer: bytes) -> bool:
        self.received = (self.received + answer)[-LONGEST_LINE:]
        return True

    @property
    def is_answered(self) -> bool:
        return DRIVE_ANSWER.search(self.received) is not None


@dataclass(slots=True, eq=False)
class SercomRequest(Question[bytes]):
    """A request that was written.

    letters: its commands that are answered, the speeds last. speeds: those that the robot has then.
    indices: the sensors whose values are wanted. echo: the line returns the request before the
    answer.
    """

    letters: str
    speeds: tuple[int, int]
    indices: list[int]
    ground_values: int
    echo: bool
    received: bytearray = field(default_factory=bytearray)

    def take(self, answer: bytes) -> bool:
        self.received += answer
        return True

    @property
    def answer_bytes(self) -> int:
        """Bytes that come back."""
        answer = answer_size(self.letters, self.ground_values)
        return answer + (len(self.request) if self.echo else 0)

    def count_ground(self) -> bool:
        """Count the ground's numbers in an answer that is over.

        Return whether the count is one of `GROUND_VALUES`.
        """
        count = self.ground_values - (self.answer_bytes - len(self.received)) // 2
        if GROUND not in self.letters or count not in GROUND_VALUES:
            return False
        self.ground_values = count
        return True

    @property
    def is_answered(self) -> bool:
        return len(self.received) >= self.answer_bytes

    def values(self) -> Numbers | None:
        """Return the numbers of each command.

        None: bytes were lost or added on the way, as the speeds at the end are not those that were
        set.
        """
        received = bytes(self.received)
        if len(received) != self.answer_bytes or (
            self.echo and not received.startswith(self.request)
        ):
            return None
        data = received[len(self.request) :] if self.echo else received
        numbers = decode(self.letters, data, self.ground_values)
        return numbers if numbers[SPEEDS] == self.speeds else None
