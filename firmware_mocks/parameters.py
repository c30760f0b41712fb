"""Parameters of mocks, declared once, and their values, as text or as YAML gives them, checked.

A ValueError begins with the name of the parameter.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, Self

DAY_MS = 86_400_000
# The default of a parameter that `create` has from the air: the position, the seed.
OF_AIR: Any = object()


def parameter(
    text: str,
    default: Any,
    read: Callable[..., Any],
    *arguments: Any,
    name: str = "",
    is_fixed: bool = False,
) -> Any:
    """Return a field of `Parameters`.

    Args:
        text: For people, with {default} where it is not at the end.
        default: As a user would write it.
        read: Gets the name, a value and the arguments, and returns the checked value.
        *arguments: For `read`.
        name: The parameter's, where the field has another name.
        is_fixed: It cannot change after the start.
    """
    shown = text.replace("{default}", str(default))
    if text == shown and "(default" not in text and default is not None:
        shown = f"{text} (default {default})"
    declared = {"name": name, "text": shown, "default": default, "is_fixed": is_fixed}
    return field(metadata={**declared, "read": read, "arguments": arguments})


def unused() -> Any:
    """Return the field of a parameter that this mock takes, and does not use."""
    return parameter("not used", None, unread)


def in_air() -> Any:
    """Return the field for the position of a mock with a radio or a lamp."""
    text = "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)"
    return parameter(text, OF_AIR, position)


class Parameters:
    """The checked values of a mock's parameters.

    It is the base of frozen dataclasses, whose fields are made by `parameter`.
    """

    @classmethod
    def _declared(cls) -> dict[str, tuple[str, Mapping[str, Any]]]:
        all_ = fields(cls)  # type: ignore[arg-type]
        return {each.metadata["name"] or each.name: (each.name, each.metadata) for each in all_}

    @classmethod
    def texts(cls) -> dict[str, str]:
        """Return the text of each parameter, for people."""
        return {name: declared["text"] for name, (_, declared) in cls._declared().items()}

    @classmethod
    def read(cls, given: Mapping[str, Any], of_air: Mapping[str, Any]) -> Self:
        """Return all values. ValueError names the first parameter that is wrong."""
        known = cls._declared()
        check_names(given, known)
        checked = {}
        for name, (field_name, declared) in known.items():
            default = of_air[name] if declared["default"] is OF_AIR else declared["default"]
            value = given.get(name, default)
            checked[field_name] = declared["read"](name, value, *declared["arguments"])
        return cls(**checked)

    def changed(self, name: str, value: Any) -> Self:
        """Return these values with another one of this parameter. Raises ValueError."""
        known = self._declared()
        check_names([name], known)
        field_name, declared = known[name]
        if declared["is_fixed"]:
            raise ValueError(f"{name}: cannot change after the start")
        read = declared["read"](name, value, *declared["arguments"])
        return replace(self, **{field_name: read})  # type: ignore[type-var]


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError for a name that is not a parameter."""
    for name in given:
        if name not in known:
            raise unknown(name, known)


def unknown(name: str, known: Iterable[str]) -> ValueError:
    return ValueError(f"{name}: no such parameter; {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the advice for an unknown name: the most similar known one, or all of them."""
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
    """Read a time in milliseconds, as nanoseconds."""
    return round(number(name, value, low, high) * 1_000_000)


def unread(name: str, value: Any) -> Any:
    """Return the value as it is: nothing, or another place, checks it."""
    return value


def string(name: str, value: Any) -> str:
    return str(value)


def yes(name: str, value: Any) -> bool:
    return choice(name, value, ("no", "yes")) == "yes"


def true(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name}: {value!r} is not true or false")
    return text == "true"


def choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Read one of the words allowed; YAML reads yes and no, on and off as true and false."""
    text = str(value)
    for word in {"True": ("yes", "on"), "False": ("no", "off")}.get(text, (text,)):
        if word in allowed:
            return word
    raise ValueError(f"{name}: {value!r} is not one of {', '.join(allowed)}")


def position(name: str, value: Any) -> tuple[float, float, float]:
    """Read x, y, z in metres, as text or a list."""
    parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
    try:
        x, y, z = (number(name, part, -1e9, 1e9) for part in parts)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {value!r} is not x, y, z in metres") from None
    return x, y, z


def lookup_table(name: str, value: Any) -> list[tuple[float, float, float]]:
    """Read rows of measured value, returned value and noise, as lists or as numbers in a text."""
    try:
        numbers = value.split() if isinstance(value, str) else [x for row in value for x in row]
        read = [number(name, each, -1e9, 1e9) for each in numbers]
        rows = list(zip(read[::3], read[1::3], read[2::3], strict=True))
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {value!r} is not rows of three numbers") from None
    if any(row[0] >= after[0] for row, after in itertools.pairwise(rows)):
        raise ValueError(f"{name}: the first numbers of the rows must increase")
    return rows


def look_up(rows: Sequence[Sequence[float]], measured: float) -> float:
    """Return the value of a lookup table for a measured number.

    Webots reference manual, DistanceSensor, Lookup Table: linear between two rows, without its
    noise, and the value of the end beyond them; without rows the measured number.
    """
    if not rows or measured <= rows[0][0]:
        return rows[0][1] if rows else measured
    for (x0, y0, *_), (x1, y1, *_) in itertools.pairwise(rows):
        if measured <= x1:
            return y0 + (y1 - y0) * (measured - x0) / (x1 - x0)
    return rows[-1][1]


def named(name: str, value: Any, read: Callable[[Any], Any]) -> Any:
    """Return `read(value)`; name the parameter in its ValueError."""
    try:
        return read(value)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None


def template(name: str, value: Any, fields: Sequence[str]) -> str:
    """Read text with {words} to be filled in; each word has to be one of `fields`."""
    for word in re.findall(r"\{(\w+)\}", str(value)):
        if word not in fields:
            raise ValueError(f"{name}: {{{word}}} is unknown; one of {', '.join(fields)}")
    return str(value)


def text(name: str, value: Any) -> bytes:
    """Read text with escapes as in C, as bytes."""
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
    if isinstance(value, bytes):
        return value
    return str(value).encode().decode("unicode_escape").encode("latin-1")


def replies(name: str, value: Any) -> dict[bytes, bytes]:
    """Read a table of the start of a packet -> its reply.

    It is a mapping, JSON, or text as ping:pong,marco:polo.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.lstrip().startswith("{") else _pairs(name, value)
        except json.JSONDecodeError:
            value = _pairs(name, value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: {value!r} is not KEY:VALUE, e.g. ping:pong")
    try:
        return {unescaped(key): unescaped(answer) for key, answer in value.items()}
    except ValueError:
        raise ValueError(f"{name}: {value!r} has an invalid escape, unlike \\r or \\x41") from None


def _pairs(name: str, text: str) -> dict[str, str]:
    pairs = [pair.partition(":") for pair in text.strip("{} ").split(",") if pair.strip()]
    if not all(key.strip() and colon for key, colon, _ in pairs):
        raise ValueError(f"{name}: {text!r} is not KEY:VALUE, e.g. ping:pong")
    return {key.strip(" \"'"): answer.strip(" \"'") for key, _, answer in pairs}


def reply_to(table: Mapping[bytes, bytes], packet: bytes) -> bytes | None:
    """Return the packet with the value in place of the first key that it begins with, or None."""
    for key, answer in table.items():
        if packet.startswith(key):
            return answer + packet[len(key) :]
    return None


def replies_text(table: Mapping[bytes, bytes]) -> str:
    """Return the keys, for people."""
    return "answers " + ", ".join(repr(key.decode("latin-1")) for key in table)
