"""Scripts of the Webots controller mock: statements between semicolons.

A NAME with blanks is in single quotes:

enable NAME MS, disable NAME           sampling period; a motor's force feedback
position|velocity|force|acceleration|available NAME X
pid NAME P I D, led NAME N, damping NAME X
send NAME TEXT, channel NAME N, range NAME X, next NAME
associated NAME TYPE                   an immediate request
data TEXT, battery MS, keyboard MS, urdf TEXT
step MS [x N]                          N steps; x 0: for ever
wait MS, freeze, die, garbage          what a controller does wrong
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from firmware_mocks import parameters as values
from firmware_mocks._webots.library import MOTOR, Device, Library
from firmware_mocks._webots.wire import nodes, text

MOTOR_COMMANDS = {"position": 1, "velocity": 2, "available": 3, "force": 4, "acceleration": 6}
# Statement: number of words after it; the last one takes the rest of the line.
DEVICE_WORDS = {
    "enable": 2, "disable": 1, **dict.fromkeys(MOTOR_COMMANDS, 2), "pid": 4, "led": 2,
    "damping": 2, "send": 2, "channel": 2, "range": 2, "next": 1, "associated": 2,
}  # fmt: skip
ROBOT_WORDS = {"data": 1, "battery": 1, "keyboard": 1, "urdf": 1}
FAULTS = {"wait": 1, "freeze": 0, "die": 0, "garbage": 0}
WORDS = {**DEVICE_WORDS, **ROBOT_WORDS, **FAULTS}
IMMEDIATE = ("associated", "urdf")
# Statements with whole numbers, and their limits on the wire.
INTEGERS = {
    "enable": (-(2**15), 2**16 - 1),
    "led": (-(2**31), 2**31 - 1),
    "channel": (-(2**31), 2**31 - 1),
    "battery": (0, 2**16 - 1),
    "keyboard": (0, 2**16 - 1),
    "wait": (0, values.DAY_MS),
}


class Statement(NamedTuple):
    """times: of a step; 0 is for ever."""

    word: str
    given: list[str]
    step_ms: int = 0
    times: int = 1


def parsed(given: object) -> list[Statement]:
    """Return the statements of a script; ValueError names the one that is wrong."""
    if not isinstance(given, str):
        raise ValueError(f"script: {given!r} is not text")
    parts = [part.strip() for part in given.replace("\n", ";").split(";")]
    return [_statement(part) for part in parts if part]


def _statement(part: str) -> Statement:
    word, *_ = part.split()
    try:
        if word == "step":
            return _step(part)
        count = WORDS[word]
        given = _words(part, count)[1:]
        if len(given) != count:
            raise ValueError
        _check_numbers(word, given)
    except (KeyError, ValueError):
        raise ValueError(f"script: {part!r} is not a statement, e.g. enable ds 64") from None
    return Statement(word, given)


def _words(part: str, count: int) -> list[str]:
    # The statement's word and what follows, of which the last takes the rest of the line.
    word, quote, quoted = part.partition(" '")
    if not quote or word not in DEVICE_WORDS:
        return part.split(None, count)
    name, _, rest = quoted.partition("'")
    return [word, name, *rest.split(None, count - 2)] if count > 1 else [word, name]


def _step(part: str) -> Statement:
    step_ms, *times = part.replace(" x ", " ").split()[1:]
    count = values.whole("times", times[0], 0, 10**9) if times else 1
    return Statement("step", [], values.whole("step", step_ms, 0, 2**31 - 1), count)


def _check_numbers(word: str, given: list[str]) -> None:
    if word in ("send", "data", "urdf"):
        values.text("text", given[-1])
    elif word == "associated":
        nodes("R2025a")[given[1]]
    else:
        for number in given[word in DEVICE_WORDS :]:
            low, high = INTEGERS.get(word, (0, 0))
            values.whole(word, number, low, high) if high else float(number)


def run(statement: Statement, library: Library) -> bool:
    """Do what the statement asks of the library; true: an immediate request follows."""
    word, given = statement.word, statement.given
    if word in ROBOT_WORDS:
        _robot(word, given[0], library)
    else:
        device = library.find(given[0])
        if device is None:
            library.counts["unknown device"] += 1
            return False
        numbers = [0] if word == "disable" else given[1:]
        if not _ACTIONS[word](device, [str(each) for each in numbers], library):
            library.counts["rejected"] += 1
    return word in IMMEDIATE


def _robot(word: str, given: str, library: Library) -> None:
    sized = text(values.unescaped(given).decode(errors="replace"))
    if word == "data":
        library.robot[37] = struct.pack("<H", len(sized)) + sized
    elif word == "urdf":
        library.robot[46] = struct.pack("<H", len(sized)) + sized
    else:
        library.robot[{"battery": 31, "keyboard": 34}[word]] = struct.pack("<H", int(given))


def _enable(device: Device, given: list[str], library: Library) -> bool:
    period_ms = int(given[0])
    if period_ms < 0 or device.kind in ("LED", "Emitter", "Brake"):
        return False
    if device.kind in MOTOR:
        device.set(5, struct.pack("<H", period_ms))
    else:
        device.enable(period_ms)
    return True


def _motor(number: int) -> Callable[[Device, list[str], Library], bool]:
    def command(device: Device, given: list[str], library: Library) -> bool:
        value = float(given[0])
        if device.kind not in MOTOR or value != value:
            return False
        device.set(number, struct.pack("<d", value))
        return True

    return command


def _pid(device: Device, given: list[str], library: Library) -> bool:
    p, i, d = map(float, given)
    if device.kind not in MOTOR or not (p > 0 and i >= 0 and d >= 0):
        return False
    device.set(7, struct.pack("<3d", p, i, d))
    return True


def _led(device: Device, given: list[str], library: Library) -> bool:
    if device.kind != "LED":
        return False
    device.set(1, struct.pack("<i", int(given[0])))
    return True


def _damping(device: Device, given: list[str], library: Library) -> bool:
    if device.kind != "Brake":
        return False
    device.set(2, struct.pack("<d", float(given[0])))
    return True


def _send(device: Device, given: list[str], library: Library) -> bool:
    return device.kind == "Emitter" and device.send(values.unescaped(given[0]))


def _channel(device: Device, given: list[str], library: Library) -> bool:
    return device.kind in ("Emitter", "Receiver") and device.set_channel(int(given[0]))


def _range(device: Device, given: list[str], library: Library) -> bool:
    return device.kind == "Emitter" and device.set_range(float(given[0]))


def _next(device: Device, given: list[str], library: Library) -> bool:
    if device.packets:
        device.packets.popleft()
    return True


def _associated(device: Device, given: list[str], library: Library) -> bool:
    payload = struct.pack("<H", nodes(library.version)[given[0]])
    number = 8 if device.kind in MOTOR else {"PositionSensor": 2, "Brake": 4}.get(device.kind, 0)
    if number:
        device.associated = 0
        device.set(number, payload)
    return bool(number)


_ACTIONS: dict[str, Callable[[Device, list[str], Library], bool]] = {
    "enable": _enable,
    "disable": _enable,
    **{word: _motor(number) for word, number in MOTOR_COMMANDS.items()},
    "pid": _pid,
    "led": _led,
    "damping": _damping,
    "send": _send,
    "channel": _channel,
    "range": _range,
    "next": _next,
    "associated": _associated,
}
