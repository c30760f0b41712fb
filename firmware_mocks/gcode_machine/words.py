"""A line of G-code in words, and the modal state that lines leave behind.

Source: Grbl wiki, "Commands" and "Interface". Lengths are in millimetres, feed in mm/min.
"""

import re
from dataclasses import dataclass, field, replace

from firmware_mocks.gcode_machine import arcs
from firmware_mocks.gcode_machine.arcs import LineError, Point

AXES, CENTRES = "XYZ", "IJK"
INCH_MM = 25.4
# Grbl 1.1, "Error codes".
NO_LETTER, BAD_NUMBER, BAD_STATEMENT, NOT_IDLE, LOCKED, TOO_LONG = 1, 2, 3, 8, 9, 11
BEYOND_TRAVEL, BAD_JOG, UNSUPPORTED, SAME_GROUP, NO_FEED, NO_AXES = 15, 16, 20, 21, 22, 26
TWO_WITH_AXES, NO_PAUSE, NOT_STRAIGHT, NO_AXES_IN_PLANE = 24, 28, 30, 32
_COMMENT = re.compile(r"\([^)]*\)|;.*")
_WORD = re.compile(r"([A-Z])([+-]?[0-9]*\.?[0-9]*)")
_CODES = {0, 1, 2, 3, 4, 17, 18, 19, 20, 21, 40, 49, 53, 54, 61, 80, 90, 91, 94}
HOME, SET_HOME, SET_ZERO, CLEAR_ZERO = 28, 28.1, 92, 92.1
_WITH_AXES = {HOME, SET_HOME, SET_ZERO, CLEAR_ZERO}
_M_CODES = {0, 2, 3, 4, 5, 7, 8, 9, 30}


@dataclass(frozen=True, slots=True)
class Modes:
    """The modal state.

    `motion` is 0 rapid, 1 with feed, 2 and 3 arcs; `plane` 17 to 19; `feed` in mm/min; `offset`
    that of G54, which is kept without power, `zero` of G92, and `home` of G28; all in machine
    coordinates.
    """

    motion: int = 0
    plane: int = 17
    inches: bool = False
    relative: bool = False
    feed: float = 0.0
    spindle: int = 5
    offset: Point = (0.0, 0.0, 0.0)
    zero: Point = (0.0, 0.0, 0.0)
    home: Point = (0.0, 0.0, 0.0)

    @property
    def work_zero(self) -> Point:
        """Position at which the work coordinates are 0."""
        (x, y, z), (dx, dy, dz) = self.offset, self.zero
        return x + dx, y + dy, z + dz

    def text(self) -> str:
        """Return the modes as in the answer to $G."""
        units, distance = ("G20" if self.inches else "G21"), ("G91" if self.relative else "G90")
        return (
            f"[GC:G{self.motion} G54 G{self.plane} {units} {distance} G94 M{self.spindle} M9 T0 "
            f"F{self.feed:.0f} S0]"
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Orders of a line: the ends of its straight motions in mm, and a pause."""

    modes: Modes
    path: tuple[Point, ...] = ()
    rapid: bool = False
    dwell_s: float | None = None
    ends: bool = False


@dataclass(slots=True)
class _Words:
    axes: dict[str, float] = field(default_factory=dict)
    centre: dict[str, float] = field(default_factory=dict)
    radius: float | None = None
    codes: set[float] = field(default_factory=set)
    feed: float | None = None
    pause: float | None = None
    spindle: int | None = None
    ends: bool = False


def clean(line: str) -> str:
    """Return the line without comments and spaces, in capital letters."""
    return re.sub(r"\s", "", _COMMENT.sub("", line)).upper()


def read(line: str, modes: Modes, position: Point, *, jog: bool = False) -> Block:
    """Return the block of a cleaned line; raise LineError for what is refused.

    `position` is the end of the motion before, in mm. `jog` marks a line after $J=, which leaves
    no modes behind and takes G20, G21, G90, G91, axes and F alone.
    """
    words = _words(line)
    if jog and (words.codes - {20, 21, 90, 91, 53} or not words.axes):
        raise LineError(BAD_JOG)
    if words.codes - _CODES - _WITH_AXES:
        raise LineError(UNSUPPORTED)
    new = _modes(words, modes)
    if jog and words.feed is None:
        raise LineError(NO_FEED)
    if 4 in words.codes and words.pause is None:
        raise LineError(NO_PAUSE)
    dwell = words.pause if 4 in words.codes else None
    special = words.codes & _WITH_AXES
    if special:
        if len(special) > 1:
            raise LineError(SAME_GROUP)
        if words.codes & {0, 1, 2, 3} and words.axes:
            raise LineError(TWO_WITH_AXES)
        new, path = _special(special.pop(), words, new, position)
        return Block(new, path, rapid=True, dwell_s=dwell, ends=words.ends)
    path = _path(words, new, position, jog=jog)
    return Block(new, path, not jog and new.motion == 0, dwell, words.ends)


def _modes(words: _Words, modes: Modes) -> Modes:
    for low, high in ((0, 3), (17, 19), (20, 21), (90, 91)):
        if sum(low <= code <= high for code in words.codes) > 1:
            raise LineError(SAME_GROUP)
    for code in map(int, words.codes):
        if code in (0, 1, 2, 3):
            modes = replace(modes, motion=code)
        elif code in (17, 18, 19):
            modes = replace(modes, plane=code)
        elif code in (20, 21):
            modes = replace(modes, inches=code == 20)
        elif code in (90, 91):
            modes = replace(modes, relative=code == 91)
    if words.feed is not None:
        modes = replace(modes, feed=words.feed * _unit(modes))
    if words.spindle is not None:
        modes = replace(modes, spindle=words.spindle)
    return modes


def _unit(modes: Modes) -> float:
    return INCH_MM if modes.inches else 1.0


def _target(words: _Words, modes: Modes, position: Point) -> Point:
    # Machine coordinates: with G53 those of the line, else from the work zero or the position.
    zero = (0.0, 0.0, 0.0) if 53 in words.codes else modes.work_zero
    base = position if modes.relative and 53 not in words.codes else zero
    x, y, z = (
        base[at] + words.axes[axis] * _unit(modes) if axis in words.axes else position[at]
        for at, axis in enumerate(AXES)
    )
    return x, y, z


def _path(words: _Words, modes: Modes, position: Point, *, jog: bool) -> tuple[Point, ...]:
    is_arc = modes.motion in (2, 3) and not jog
    if 53 in words.codes and is_arc:
        raise LineError(NOT_STRAIGHT)
    if not words.axes:
        if words.codes & {2, 3}:
            raise LineError(NO_AXES)
        return ()
    if (jog or modes.motion != 0) and not modes.feed:
        raise LineError(NO_FEED)
    target = _target(words, modes, position)
    if not is_arc:
        return (target,)
    circle = arcs.PLANES[modes.plane][:2]
    if not {AXES[at] for at in circle} & set(words.axes):
        raise LineError(NO_AXES_IN_PLANE)
    centre = {CENTRES.index(name): to * _unit(modes) for name, to in words.centre.items()}
    radius = None if words.radius is None else words.radius * _unit(modes)
    clockwise = modes.motion == 2
    return arcs.segments(position, target, modes.plane, centre, radius, clockwise=clockwise)


def _special(
    code: float, words: _Words, modes: Modes, position: Point
) -> tuple[Modes, tuple[Point, ...]]:
    if code == SET_HOME:
        return replace(modes, home=position), ()
    if code == CLEAR_ZERO:
        return replace(modes, zero=(0.0, 0.0, 0.0)), ()
    if code == SET_ZERO:
        if not words.axes:
            raise LineError(NO_AXES)
        x, y, z = (
            position[at] - words.axes[axis] * _unit(modes) - modes.offset[at]
            if axis in words.axes
            else modes.zero[at]
            for at, axis in enumerate(AXES)
        )
        return replace(modes, zero=(x, y, z)), ()
    if not words.axes:
        return modes, (modes.home,)
    between = _target(words, modes, position)  # on the way, and only these axes go home
    x, y, z = (
        modes.home[at] if axis in words.axes else position[at] for at, axis in enumerate(AXES)
    )
    return modes, (between, (x, y, z))


def _words(line: str) -> _Words:
    words, position = _Words(), 0
    while position < len(line):
        match = _WORD.match(line, position)
        if match is None:
            raise LineError(NO_LETTER)
        letter, digits = match.groups()
        position = match.end()
        try:
            number = float(digits)
        except ValueError:
            raise LineError(BAD_NUMBER) from None
        _take(words, letter, number)
    return words


def _take(words: _Words, letter: str, number: float) -> None:
    if letter in AXES:
        words.axes[letter] = number
    elif letter in CENTRES:
        words.centre[letter] = number
    elif letter == "R":
        words.radius = number
    elif letter == "G":
        words.codes.add(number)
    elif letter == "M":
        if number not in _M_CODES:
            raise LineError(UNSUPPORTED)
        if number in (3, 4, 5):
            words.spindle = int(number)
        words.ends |= number in (2, 30)
    elif letter == "F":
        if number < 0:
            raise LineError(4)
        words.feed = number
    elif letter == "P":
        words.pause = number
    elif letter not in "STN":
        raise LineError(UNSUPPORTED)
