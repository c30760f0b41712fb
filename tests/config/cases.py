"""Tables of faulty configurations: what is written, and the error that it causes."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

from hilgw.config.load import load_text
from hilgw.config.source.text import ConfigErrors

Lines = Callable[..., list[str]]


def faults(text: str, file: str = "f", **more: Any) -> list[str]:
    """The errors of a file in words, none of a good one; more: of `load_text`."""
    try:
        load_text(text, file, **more)
    except ConfigErrors as errors:
        return list(map(str, errors.diagnostics))
    return []


def rows(table: str) -> list[list[str]]:
    """Split each line of a table at ` => `; ⏎ is the end of a line, # begins a comment."""
    lines = [line for line in dedent(table).splitlines() if line.strip() and line[0] != "#"]
    return [line.replace("⏎", "\n").split(" => ") for line in lines]


def cases(name: str) -> list[list[str]]:
    """Return the rows of a table beside this file: old, new and error of each."""
    return rows(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def install(folder: Path, name: str, entry_points: str) -> None:
    """Make a distribution in this folder, which is in the path of modules."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
