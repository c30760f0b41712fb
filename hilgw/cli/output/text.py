"""Text of the command line: escaped bytes, durations, lists, colours."""

import argparse
import math
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from hilgw.cli.output.console import ConsoleWriter

NARROWEST = 20
COLUMNS = 80
STATUS_MODES = ("off", "short", "full")

_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}


def one_line(text: str) -> str:
    """Return text from a file or another program on one line.

    What a terminal obeys, or shows in another order (U+202E), is escaped.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(ord(c)) for c in text.expandtabs(4))


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def duration(text: str) -> float:
    """Convert '10s', '500ms', '2min', '1h' or seconds to seconds; an argparse type."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _UNITS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write 10s, 500ms, 2min or 1h"
        )
    return float(match[1]) * _UNITS[match[2]]


def finite(text: str) -> float:
    """Return a finite number; an argparse type."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number; write e.g. 2.5")
    return number


def table(
    rows: Iterable[tuple[str, str]], *, indent: str = "", columns: int | None = None
) -> list[str]:
    """Set two columns as lines; the second is wrapped.

    Args:
        rows: The texts of both columns.
        indent: What each line begins with.
        columns: The width without a terminal; None: one line for each row, for programs that read
            them.
    """
    import textwrap

    pairs = list(rows)
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
    left = max((len(name) for name, _ in pairs), default=0)
    margin = " " * (len(indent) + left + 2)
    lines: list[str] = []
    for name, text in pairs:
        width = max((columns or sys.maxsize) - len(margin), NARROWEST)
        first, *others = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
        lines.append(f"{indent}{name:<{left}}  {first}".rstrip())
        lines += [margin + other for other in others]
    return lines


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def hanging(line: str, width: int, indent: int) -> list[str]:
    """Return a line in pieces of at most this width, as far as its words allow.

    Colours have no width. All pieces but the first begin with this indent.
    """
    pieces, current, length = [], "", 0
    for word in re.findall(r" *[^ ]+", line):
        size = len(_COLOUR.sub("", word))
        if current and length + size > width and length > indent:
            pieces.append(current)
            current, length = " " * indent, indent
            word = word.lstrip(" ")
            size = len(_COLOUR.sub("", word))
        current += word
        length += size
    return [*pieces, current]


def cut(text: str, width: int, tail: int = 0) -> str:
    """Return the text in at most this width, with ".." where something is missing.

    `tail` is how much of its end is kept.
    """
    if len(text) <= width:
        return text
    return f"{text[: max(width - 2 - tail, 0)]}..{text[len(text) - tail :]}"[:width]


def second_column(line: str) -> int:
    """Return where the second column of a line such as "  name    text" begins."""
    match = re.match(r" *\S+ +", line)
    return min(len(match[0]), NARROWEST) if match else 0


def paragraphs(text: str, width: int = 80) -> str:
    """Return the text with no line longer than the width.

    Lines that are too long are filled, together with those that continue where they end; one that
    is indented keeps its indent.
    """
    lines: list[str] = []
    joined = ""
    for line in text.split("\n"):
        is_plain = bool(line) and not line.startswith((" ", "-"))
        if joined and is_plain:
            line = f"{joined} {line}"
        elif joined:
            lines += hanging(joined, width, 0)
        joined = ""
        if len(line) <= width or line.startswith(" "):
            indent = len(line) - len(line.lstrip(" "))
            lines += hanging(line, width, indent + 2) if len(line) > width else [line]
        else:
            joined = line
    return "\n".join(lines + (hanging(joined, width, 0) if joined else []))


def status_mode(text: str) -> str:
    """Check off, short or full; an argparse type."""
    if text not in STATUS_MODES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a status; write off, short or full")
    return text


def print_json(data: object) -> None:
    """Print mappings, lists and dataclasses as JSON."""
    import dataclasses
    import json

    print(json.dumps(data, indent=2, default=dataclasses.asdict))


def use_colour(stream: "TextIO | ConsoleWriter") -> bool:
    """Return whether to use colours: on a terminal that has them, without NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Style:
    """Colours by meaning; plain text when not on a terminal."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on else text

    def good(self, text: str) -> str:
        return self._wrap("32", text)

    def bad(self, text: str) -> str:
        return self._wrap("31", text)

    def of(self, severity: str, text: str) -> str:
        """Return the text of an event of this severity."""
        code = {"good": "32", "warn": "33", "bad": "31"}.get(severity)
        return self._wrap(code, text) if code else text

    def dim(self, text: str) -> str:
        return self._wrap("2", text)

    def strong(self, text: str) -> str:
        return self._wrap("1", text)
