"""One line of G-code in words, and the modal state that lines leave behind (Grbl wiki, "Commands"
and "Interface"). Lengths in millimetres, feed in mm/min."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

AXES = "XYZ"
INCH_MM = 25.4
# Grbl 1.1, "Error codes".
NO_LETTER, BAD_NUMBER, BAD_STATEMENT, NOT_IDLE, LOCKED, TOO_LONG = 1, 2, 3, 8, 9, 11
BEYOND_TRAVEL, BAD_JOG, UNSUPPORTED, NO_FEED, NO_AXES = 15, 16, 20, 22, 26
_COMMENT = re.compile(r"\([^)]*\)|;.*")
_WORD = re.compile(r"([A-Z])([+-]?[0-9]*\.?[0-9]*)")
_MODES = {0, 1, 4, 17, 20, 21, 40, 49, 54, 61, 80, 90, 91, 94}
_M_CODES = {0, 2, 3, 4, 5, 7, 8, 9, 30}


class LineError(Exception):
    """The line is answered with error:CODE."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Modes:
    """motion: 0 rapid, 1 with feed. feed: in mm/min."""

    motion: int = 0
    inches: bool = False
    relative: bool = False
    feed: float = 0.0
    spindle: int = 5

    def text(self) -> str:
        """The modes as in the answer to $G."""
        units, distance = ("G20" if self.inches else "G21"), ("G91" if self.relative else "G90")
        return (
            f"[GC:G{self.motion} G54 G17 {units} {distance} G94 M{self.spindle} M9 T0 "
            f"F{self.feed:.0f} S0]"
        )


@dataclass(frozen=True, slots=True)
class Block:
    """What a line orders: the end of a motion in mm (None: no motion), and a pause."""

    modes: Modes
    target: tuple[float, float, float] | None = None
    dwell_s: float | None = None
    ends: bool = False


@dataclass(slots=True)
class _Words:
    axes: dict[str, float] = field(default_factory=dict)
    codes: set[int] = field(default_factory=set)
    feed: float | None = None
    pause: float | None = None
    spindle: int | None = None
    ends: bool = False


def clean(line: str) -> str:
    """The line without comments and spaces, in capital letters."""
    return re.sub(r"\s", "", _COMMENT.sub("", line)).upper()


def read(
    line: str, modes: Modes, position: tuple[float, float, float], *, jog: bool = False
) -> Block:
    """The block of a cleaned line. position: the end of the motion before, in mm. jog: a line after
    $J=, which leaves no modes behind and takes G20, G21, G90, G91, axes and F alone. LineError
    for what is refused."""
    words = _words(line)
    if jog and (words.codes - {20, 21, 90, 91, 53} or not words.axes):
        raise LineError(BAD_JOG)
    if words.codes - _MODES - {53}:
        raise LineError(UNSUPPORTED)
    new = modes
    for code in words.codes:
        if code in (0, 1):
            new = replace(new, motion=code)
        elif code in (20, 21):
            new = replace(new, inches=code == 20)
        elif code in (90, 91):
            new = replace(new, relative=code == 91)
    unit = INCH_MM if new.inches else 1.0
    if words.feed is not None:
        new = replace(new, feed=words.feed * unit)
    if words.spindle is not None:
        new = replace(new, spindle=words.spindle)
    if jog and words.feed is None:
        raise LineError(NO_FEED)
    target = None
    if words.axes:
        if (jog or new.motion == 1) and not new.feed:
            raise LineError(NO_FEED)
        ends = [
            words.axes[axis] * unit + (position[at] if new.relative else 0.0)
            if axis in words.axes
            else position[at]
            for at, axis in enumerate(AXES)
        ]
        target = (ends[0], ends[1], ends[2])
    if 4 in words.codes and words.pause is None:
        raise LineError(28)
    dwell = words.pause if 4 in words.codes else None
    return Block(new, target, dwell, words.ends)


def _words(line: str) -> _Words:
    found, at = _Words(), 0
    while at < len(line):
        match = _WORD.match(line, at)
        if match is None:
            raise LineError(NO_LETTER)
        letter, digits = match.groups()
        at = match.end()
        try:
            number = float(digits)
        except ValueError:
            raise LineError(BAD_NUMBER) from None
        _take(found, letter, number)
    return found


def _take(found: _Words, letter: str, number: float) -> None:
    if letter in AXES:
        found.axes[letter] = number
    elif letter == "G":
        if not number.is_integer():
            raise LineError(UNSUPPORTED)
        found.codes.add(int(number))
    elif letter == "M":
        if number not in _M_CODES:
            raise LineError(UNSUPPORTED)
        if number in (3, 4, 5):
            found.spindle = int(number)
        found.ends |= number in (2, 30)
    elif letter == "F":
        if number < 0:
            raise LineError(4)
        found.feed = number
    elif letter == "P":
        found.pause = number
    elif letter not in "STN":
        raise LineError(UNSUPPORTED)
