"""Keys, values and comments of YAML that every version reads alike, and legal names."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hilgw.settings import LONGEST_NAME

_RESERVED = {"all", "none"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_PLAIN = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}
_DECIMALS = 9
LONGEST_COMMENT = 400


class Names:
    """Source of legal names that differ.

    forbidden: characters that they may not contain. couples: they may contain "::", which couples
    motors in Webots.
    """

    def __init__(self, forbidden: str, *, couples: bool = False) -> None:
        self._forbidden = forbidden
        self._couple = "::" if couples else None
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return a free legal name, as close to `wanted` as possible; numbered as in Webots."""
        wanted = wanted[: LONGEST_NAME + len("::")]
        parts = wanted.split(self._couple) if self._couple else [wanted]
        legal = (self._couple or "").join(map(self._legal, parts))
        legal = legal[:LONGEST_NAME].strip() or "unnamed"
        if legal in _RESERVED:
            legal += "_"
        name = legal
        while name in self._taken:
            number = self._numbers[legal] = self._numbers.get(legal, 0) + 1
            end = f"({number})"
            name = legal[: LONGEST_NAME - len(end)] + end
        self._taken.add(name)
        return name

    def _legal(self, part: str) -> str:
        return "".join(
            each if each.isprintable() and each not in self._forbidden else "_" for each in part
        )


def text(value: str) -> str:
    """Return a key or a value that is text: plain if no YAML version reads it otherwise."""
    if _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN:
        return value
    return '"' + "".join(_escaped(each) for each in value) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """Return a number without an exponent that YAML versions read differently."""
    rounded = round(float(value), _DECIMALS)
    if rounded.is_integer():
        return str(int(rounded))
    return f"{rounded:.{_DECIMALS}f}".rstrip("0")


def item(value: Any) -> str:
    """Return a value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(key)}: {item(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(item(each) for each in value) + "]"
    return number(value)


def comment(words: str) -> str:
    """Return a comment in one line, with unprintable characters escaped."""
    words = words[: LONGEST_COMMENT + 1]
    words = "".join(each if each.isprintable() else repr(each)[1:-1] for each in words)
    if len(words) > LONGEST_COMMENT:
        words = words[: LONGEST_COMMENT - 3] + "..."
    return f"# {words}"
