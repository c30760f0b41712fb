"""Diagrams of text: boxes in a row, and a bus with names on both sides."""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

NARROWEST = 12  # text in a box; with less room the boxes stand one below the other
BORDERS = 4  # of a box, with a space at each side


class Glyphs(NamedTuple):
    """The characters of lines. corners: top left, top right, bottom left, bottom right."""

    line: str
    wall: str
    corners: tuple[str, str, str, str]


UNICODE = Glyphs("─", "│", ("┌", "┐", "└", "┘"))
ASCII = Glyphs("-", "|", ("+", "+", "+", "+"))


def glyphs_of(encoding: str | None) -> Glyphs:
    """Return those that this encoding of the output has."""
    try:
        "".join((UNICODE.line, UNICODE.wall, *UNICODE.corners)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


class End(NamedTuple):
    """A box at the left or the right.

    arrow: what passes between it and the middle: "<->", "->", or nothing. lines: its text, a title
    first.
    """

    arrow: str
    lines: Sequence[str]


def boxes(
    left: End, middle: Sequence[str], ends: Sequence[End], width: int, glyphs: Glyphs
) -> list[str]:
    """Return left and middle box, and the ends one below the other, no wider than `width`."""
    right = [line for end in ends for line in end.lines]
    line = glyphs.line
    arrows = {"<->": f"<{line * 3}>", "->": f"{line * 4}>", "": " " * 5}
    room = width - 2 * len(arrows[""]) - 3 * BORDERS
    wanted = [_longest(left.lines), _longest(middle), _longest(right)]
    widths = _shared(room, wanted)
    if widths != wanted and min(widths) < NARROWEST:
        return _stacked(left, middle, ends, width, glyphs)
    column: list[str] = []
    marks: dict[int, str] = {}  # row: arrow
    for end in ends:
        marks[len(column) + 1] = arrows[end.arrow]
        column += _box(end.lines, widths[2], glyphs)
    sides = [(left.lines, widths[0]), (middle, widths[1])]
    height = max(len(column), *(len(_wrapped(*side)) + 2 for side in sides))
    column += [""] * (height - len(column))
    first, second = (_box(lines, width, glyphs, height) for lines, width in sides)
    between = [arrows[left.arrow] if row == 1 else arrows[""] for row in range(height)]
    beyond = [marks.get(row, arrows[""]) for row in range(height)]
    rows = zip(first, between, second, beyond, column, strict=True)
    return ["".join(row).rstrip() for row in rows]


def _stacked(
    left: End, middle: Sequence[str], ends: Sequence[End], width: int, glyphs: Glyphs
) -> list[str]:
    texts = [left.lines, middle, *(end.lines for end in ends)]
    room = max(NARROWEST, min(width - BORDERS, max(map(_longest, texts))))
    lines = _box(left.lines, room, glyphs)
    arrows = [left.arrow, *(end.arrow for end in ends)]
    for arrow, text in zip(arrows, texts[1:], strict=True):
        lines.append(f"  {glyphs.wall}" if arrow else "")
        lines += _box(text, room, glyphs)
    return lines


def _shared(room: int, wanted: list[int]) -> list[int]:
    widths = list(wanted)
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _box(text: Sequence[str], width: int, glyphs: Glyphs, height: int = 0) -> list[str]:
    top_left, top_right, low_left, low_right = glyphs.corners
    edge = glyphs.line * (width + 2)
    lines = _wrapped(text, width)
    lines += [""] * (height - 2 - len(lines))
    inside = [f"{glyphs.wall} {line:<{width}} {glyphs.wall}" for line in lines]
    return [f"{top_left}{edge}{top_right}", *inside, f"{low_left}{edge}{low_right}"]


def _wrapped(text: Sequence[str], width: int) -> list[str]:
    return [part for line in text for part in textwrap.wrap(line, width) or [""]]


def _longest(lines: Sequence[str]) -> int:
    return max(map(len, lines), default=0)


def bus(
    left: Sequence[tuple[str, str]], right: Sequence[str], width: int, glyphs: Glyphs
) -> list[str]:
    """Return names at the left with their arrows, and others at the right.

    An arrow at the left is "->" to the bus or "<-" from it; those at the right go both ways.
    """
    names = max((len(name) for name, _ in left), default=0)
    arrows = {"->": f"{glyphs.line * 2}>", "<-": f"<{glyphs.line * 2}", "": "   "}
    margin = names + 6
    room = max(width - margin - 6, 20)
    others: list[str] = []
    for text in right:
        first, *more = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        others.append(f"<{glyphs.line * 2}> {first}")
        others += [f"     {line}" for line in more]
    rows = zip_longest(left, others, fillvalue=None)
    lines = []
    for here, there in rows:
        name, arrow = here if isinstance(here, tuple) else ("", "")
        other = there if isinstance(there, str) else ""
        lines.append(f"{name:<{names}} {arrows[arrow]} {glyphs.wall}{other}".rstrip())
    return lines
