"""Values that parameters of radio mocks share. ValueError says why one does not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def number(name: str, value: Any, low: float, high: float) -> float:
    try:
        read = float(value)
    except (TypeError, ValueError):
        read = math.nan
    if not low <= read <= high:
        raise ValueError(f"{name}: {value!r} is no number from {low:g} to {high:g}")
    return read


def whole(name: str, value: Any, low: int, high: int) -> int:
    read = number(name, value, low, high)
    if not read.is_integer():
        raise ValueError(f"{name}: {value!r} is no whole number")
    return int(read)


def place(name: str, value: Any) -> tuple[float, float, float]:
    """x, y, z in metres, as text or a list."""
    parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
    try:
        x, y, z = (number(name, part, -1e9, 1e9) for part in parts)
    except TypeError:
        raise ValueError(f"{name}: {value!r} is no place; give three numbers, x,y,z") from None
    except ValueError as error:
        if str(error).startswith(name):
            raise
        raise ValueError(f"{name}: {value!r} is no place; give three numbers, x,y,z") from None
    return x, y, z


def named(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    """What `read` makes of a value; its ValueError with the parameter's name."""
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def template(name: str, value: Any, fills: Sequence[str]) -> str:
    """Text with {words} to be filled in; a word that nothing fills is a mistake."""
    for word in re.findall(r"\{(\w+)\}", str(value)):
        if word not in fills:
            raise ValueError(f"{name}: {{{word}}} is unknown; {', '.join(fills)}")
    return str(value)


def line_end(name: str, value: Any) -> bytes:
    try:
        end = unescaped(value)
    except ValueError:
        end = b""
    if not end:
        raise ValueError(f"{name}: {value!r} is no end of a line, as \\r\\n")
    return end


def unescaped(text: Any) -> bytes:
    """Text as bytes; a backslash stands for what it does in C."""
    if isinstance(text, bytes):
        return text
    return str(text).encode().decode("unicode_escape").encode("latin-1")


def replies(name: str, value: Any) -> dict[bytes, bytes]:
    """What begins with a key comes back with its value in the key's place."""
    if isinstance(value, str):
        pairs = [pair.partition(":") for pair in value.strip("{} ").split(",") if pair.strip()]
        if not all(key.strip() and colon for key, colon, _ in pairs):
            raise ValueError(f"{name}: {value!r}; write KEY:VALUE, as ping:pong")
        value = {key.strip(" \"'"): answer.strip(" \"'") for key, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: {value!r} is no mapping; give ping:pong")
    try:
        return {unescaped(key): unescaped(answer) for key, answer in value.items()}
    except ValueError:
        raise ValueError(f"{name}: {value!r} has a strange backslash") from None


def reply_to(table: Mapping[bytes, bytes], packet: bytes) -> bytes | None:
    for key, answer in table.items():
        if packet.startswith(key):
            return answer + packet[len(key) :]
    return None
