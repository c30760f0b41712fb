"""Tables of faulty configurations: what is written, and the error that it causes."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

Lines = Callable[..., list[str]]


def rows(table: str) -> list[list[str]]:
    """Split each line of a table at ` => `; ⏎ is the end of a line, # begins a comment."""
    lines = [line for line in dedent(table).splitlines() if line.strip() and line[0] != "#"]
    return [line.replace("⏎", "\n").split(" => ") for line in lines]


def cases(name: str) -> list[list[str]]:
    """Return the rows of a table beside this file: old, new and error of each."""
    return rows(Path(__file__).with_name(name).read_text(encoding="utf-8"))
