"""Values of parameters, as text or as YAML gives them, checked.

A ValueError begins with the name of the parameter.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

DAY_MS = 86_400_000


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """ValueError for a name that is not a parameter."""
    for name in given:
        if name not in known:
            raise unknown(name, known)


def unknown(name: str, known: Iterable[str]) -> ValueError:
    return ValueError(f"{name}: no such parameter; {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """The advice for an unknown name: the most similar known one, or all of them."""
    import difflib  # slow to import, and used for errors only

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return f"did you mean {near[0]}?" if near else f"one of {', '.join(names)}"


def number(name: str, value: Any, low: float, high: float) -> float:
    try:
        read = float(value)
    except (TypeError, ValueError):
        read = math.nan
    if not low <= read <= high:
        raise ValueError(f"{name}: {value!r} is not a number from {low:g} to {high:g}")
    return read


def whole(name: str, value: Any, low: int, high: int) -> int:
    read = number(name, value, low, high)
    if not read.is_integer():
        raise ValueError(f"{name}: {value!r} is not a whole number")
    return int(read)


def milliseconds(name: str, value: Any, low: float = 0, high: float = DAY_MS) -> int:
    """A time in milliseconds, as nanoseconds."""
    return round(number(name, value, low, high) * 1_000_000)


def choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the words allowed; YAML reads yes and no, on and off as true and false."""
    text = str(value)
    for word in {"True": ("yes", "on"), "False": ("no", "off")}.get(text, (text,)):
        if word in allowed:
            return word
    raise ValueError(f"{name}: {value!r} is not one of {', '.join(allowed)}")


def position(name: str, value: Any) -> tuple[float, float, float]:
    """x, y, z in metres, as text or a list."""
    parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
    try:
        x, y, z = (number(name, part, -1e9, 1e9) for part in parts)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {value!r} is not x, y, z in metres") from None
    return x, y, z


def lookup_table(name: str, value: Any) -> list[tuple[float, float, float]]:
    """Rows of measured value, returned value and noise, as lists or as numbers in a text."""
    try:
        numbers = value.split() if isinstance(value, str) else [x for row in value for x in row]
        read = [number(name, each, -1e9, 1e9) for each in numbers]
        rows = list(zip(read[::3], read[1::3], read[2::3], strict=True))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {value!r} is not rows of three numbers") from None
    if any(row[0] >= after[0] for row, after in itertools.pairwise(rows)):
        raise ValueError(f"{name}: the first numbers of the rows must increase")
    return rows


def look_up(rows: Sequence[tuple[float, float, float]], measured: float) -> float:
    """Webots reference manual, DistanceSensor, Lookup Table: linear between two rows, without its
    noise, and the value of the end beyond them; without rows the measured number."""
    if not rows or measured <= rows[0][0]:
        return rows[0][1] if rows else measured
    for (x0, y0, _), (x1, y1, _) in itertools.pairwise(rows):
        if measured <= x1:
            return y0 + (y1 - y0) * (measured - x0) / (x1 - x0)
    return rows[-1][1]


def named(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    """`read(value)`; its ValueError with the parameter's name."""
    try:
        return read(value)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None


def template(name: str, value: Any, fields: Sequence[str]) -> str:
    """Text with {words} to be filled in; each word has to be one of `fields`."""
    for word in re.findall(r"\{(\w+)\}", str(value)):
        if word not in fields:
            raise ValueError(f"{name}: {{{word}}} is unknown; one of {', '.join(fields)}")
    return str(value)


def text(name: str, value: Any) -> bytes:
    """Text with escapes as in C, as bytes."""
    try:
        return unescaped(value)
    except ValueError:
        raise ValueError(f"{name}: {value!r} has an invalid escape, unlike \\r or \\x41") from None


def line_end(name: str, value: Any) -> bytes:
    try:
        end = unescaped(value)
    except ValueError:
        end = b""
    if not end:
        raise ValueError(f"{name}: {value!r} is not a line end, e.g. \\r\\n")
    return end


def unescaped(value: Any) -> bytes:
    """Text with escapes as in C, as bytes. ValueError without the parameter's name."""
    if isinstance(value, bytes):
        return value
    return str(value).encode().decode("unicode_escape").encode("latin-1")


def replies(name: str, value: Any) -> dict[bytes, bytes]:
    """A mapping, or text as ping:pong,marco:polo: the beginning of a packet -> its reply."""
    if isinstance(value, str):
        pairs = [pair.partition(":") for pair in value.strip("{} ").split(",") if pair.strip()]
        if not all(key.strip() and colon for key, colon, _ in pairs):
            raise ValueError(f"{name}: {value!r} is not KEY:VALUE, e.g. ping:pong")
        value = {key.strip(" \"'"): answer.strip(" \"'") for key, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: {value!r} is not KEY:VALUE, e.g. ping:pong")
    try:
        return {unescaped(key): unescaped(answer) for key, answer in value.items()}
    except ValueError:
        raise ValueError(f"{name}: {value!r} has an invalid escape, unlike \\r or \\x41") from None


def reply_to(table: Mapping[bytes, bytes], packet: bytes) -> bytes | None:
    """The packet with the value in place of the first key that it begins with, or None."""
    for key, answer in table.items():
        if packet.startswith(key):
            return answer + packet[len(key) :]
    return None


def replies_text(table: Mapping[bytes, bytes]) -> str:
    """The keys, for people."""
    return "answers " + ", ".join(repr(key.decode("latin-1")) for key in table)
