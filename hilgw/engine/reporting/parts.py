"""Large objects that are made, and written as JSON, part by part: in turns of the event loop."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

TOGETHER = 10
"""Parts that are made in one turn, at most."""
Parts = Iterable[tuple[str, Any]]
"""The keys and values of an object. A value that is such an iterator is one, too."""
_ENCODE, _DECODE = json.JSONEncoder().encode, json.JSONDecoder(parse_constant=str).decode


def whole(parts: Parts) -> dict[str, Any]:
    """Return the object of these parts."""
    return {key: whole(each) if isinstance(each, Iterator) else each for key, each in parts}


def fill(made: dict[str, Any], parts: Parts) -> Iterator[None]:
    """Put the parts into an object, in plain types: one before each yield."""
    for key, each in parts:
        if isinstance(each, Iterator):
            made[key] = {}
            yield from fill(made[key], each)
        else:
            made[key] = _DECODE(_ENCODE(each))
            yield


def texts(parts: Parts) -> Iterator[str]:
    """Yield the JSON of the object of these parts, at most one of them in each text."""
    before = "{"
    for key, each in parts:
        head, before = f"{before}{_ENCODE(key)}: ", ", "
        if isinstance(each, Iterator):
            yield head
            yield from texts(each)
        else:
            yield head + _ENCODE(each)
    yield "}" if before == ", " else "{}"
