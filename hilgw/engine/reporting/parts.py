"""Large objects that are made, and written as JSON, part by part: in turns of the event loop."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

TOGETHER = 10
"""Parts that are made in one turn, at most."""
Parts = Iterable[tuple[str, Any]]
"""The keys and values of an object. A value that is such an iterator is one, too."""
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_DECODE = json.JSONDecoder(parse_constant=str).decode


def whole(parts: Parts) -> dict[str, Any]:
    """Return the object of these parts."""
    return {key: whole(each) if isinstance(each, Iterator) else each for key, each in parts}


def fill(made: dict[str, Any], parts: Parts) -> Iterator[None]:
    """Put the parts into an object: one before each yield."""
    for key, part in parts:
        made[key] = {} if isinstance(part, Iterator) else part
        yield from fill(made[key], part) if isinstance(part, Iterator) else (None,)


def plain(value: Any) -> str:
    """Return the JSON of a value, in which a number that is not finite is its name as text."""
    text = _ENCODE(value)
    return _ENCODE(_DECODE(text)) if "Infinity" in text or "NaN" in text else text


def texts(parts: Parts, encode: Callable[[Any], str] = _ENCODE) -> Iterator[str]:
    """Yield the JSON of the object of these parts, at most one of them in each text."""
    before = "{"
    for key, part in parts:
        head, before = f"{before}{_ENCODE(key)}:", ","
        if isinstance(part, Iterator):
            yield head
            yield from texts(part, encode)
        else:
            yield head + encode(part)
    yield "}" if before == "," else "{}"
