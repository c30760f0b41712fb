"""`--set adapters.xbee0.channel=13`: changes the data of a file before validation."""

import re
from collections.abc import Iterable
from typing import Any

from hilgw.config.source.document import Document, compose
from hilgw.config.source.text import NOT_TEXT, Diagnostic, Path, Position, descend, spell
from hilgw.errors import quoted, suggest

_STEP = re.compile(r"""\.?(?:"([^"]*)"|\[([0-9]{1,6})\]|([^.\["=]+))""")
_NAME = re.compile(r"""(?:"[^"]*"|[^"=])*""")
_NAMED = (  # mappings whose keys are the user's own names
    ("robots",),
    ("adapters",),
    ("airs",),
    ("robots", None, "devices"),
    ("airs", None, "nodes"),
)


def apply(document: Document, overrides: Iterable[str]) -> None:
    """Apply each override to the document; add errors to its problems."""
    for override in overrides:
        position = Position(f"--set {quoted(override)[1:-1]}")
        problem = _apply_one(document, override, position)
        if problem:
            path, text, fix = problem
            document.problems.append(Diagnostic.at(position, path, text, fix))


def put(document: Document, path: Path, value: Any, position: Position) -> None:
    """Set a value of the document; its source position is the option."""
    parent = document.data
    for part in path[:-1]:
        parent = parent[part]
    _forget(document, path)
    parent[path[-1]] = value
    document.keys[path] = document.values[path] = position


def _apply_one(
    document: Document, override: str, position: Position
) -> tuple[Path, str, str] | None:
    name = _NAME.match(override)[0]  # type: ignore[index]
    equals, text = override.startswith("=", len(name)), override[len(name) + 1 :]
    path = _parse(name)
    if not equals or path is None:
        return (), "is not an override", "write KEY.KEY=VALUE, such as adapters.xbee0.channel=13"
    if NOT_TEXT.search(text):
        return path, "has unprintable characters", "write printable text"
    value = compose(text or '""', position.file)
    if value.problems:
        first = value.problems[0]
        return path, first.message, first.fix
    path = _with_numbers(document.data, path)
    if problem := _open(document, path, position):
        return problem
    put(document, path, value.data, position)
    document.words |= {path + inner: word for inner, word in value.words.items()}
    document.key_words |= {path + inner: word for inner, word in value.key_words.items()}
    document.values |= dict.fromkeys((path + inner for inner in value.values), position)
    document.keys |= dict.fromkeys((path + inner for inner in value.keys), position)
    return None


def _parse(name: str) -> Path | None:
    parts: list[str | int] = []
    position = 0
    while position < len(name):
        step = _STEP.match(name, position)
        if step is None:
            return None
        quoted_name, index, plain = step.groups()
        parts.append(int(index) if index else plain if plain is not None else quoted_name)
        position = step.end()
    return tuple(parts) or None


def _with_numbers(data: Any, path: Path) -> Path:
    converted: list[str | int] = []
    for part in path:
        digits = isinstance(part, str) and part.isdecimal() and len(part) < 20
        number = int(part) if digits else part
        is_key = isinstance(data, dict) and number in data
        converted.append(number if is_key or isinstance(data, list) else part)
        data = descend(data, (converted[-1],))
    return tuple(converted)


def _open(document: Document, path: Path, position: Position) -> tuple[Path, str, str] | None:
    current = document.data
    for depth, part in enumerate(path):
        here, last = path[:depth], depth == len(path) - 1
        if isinstance(current, list):
            if not isinstance(part, int) or part >= len(current):
                return (
                    path,
                    f"{spell(here)} has no item {quoted(str(part))}",
                    f"it has {len(current)} items",
                )
        elif isinstance(current, dict):
            if not last and part not in current:
                if _is_named(here):
                    return (
                        path,
                        f"{spell(here)} has no entry {quoted(str(part))}",
                        suggest(part, current),
                    )
                current[part] = {}
                document.keys[path[: depth + 1]] = document.values[path[: depth + 1]] = position
            if not last and current[part] is None:
                current[part] = {}
        else:
            return path, f"{spell(here) or 'the file'} is not a mapping", "set the whole value"
        current = None if last else current[part]
    return None


def _is_named(path: Path) -> bool:
    return any(
        len(path) == len(pattern)
        and all(want in (None, part) for want, part in zip(pattern, path, strict=True))
        for pattern in _NAMED
    )


def _forget(document: Document, path: Path) -> None:
    length = len(path)
    for table in (document.keys, document.values, document.words, document.key_words):
        for known in [known for known in table if known[:length] == path]:
            del table[known]
    document.unmark_below(path)
    document.partial = {known for known in document.partial if known[:length] != path}
