"""The lines of events as JSON, and the values in them. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from itertools import islice
from typing import Any

from hilgw.errors import printable
from hilgw.events.fields import LINK_COUNTS, Numbers
from hilgw.events.kinds import FIELDS, KINDS, NAMES, Link, StatusJson, plain

MOST_OF_LINK = 64  # names of robots, and of listeners
DATA_AT = {kind: names.index("data") for kind, names in FIELDS.items() if "data" in names}
_ENCODE = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode_event(event: Any, mono_ns: int, wall_s: float, time_ns: int) -> bytes:
    """Return the line of an event; that of a `StatusJson` is JSON already."""
    message = plain(event, mono_ns=mono_ns, wall_s=wall_s, time_ns=time_ns)
    status = message.pop("status") if isinstance(event, StatusJson) else ""
    text = _ENCODE(message)
    return (f'{text[:-1]},"status":{status}}}\n' if status else f"{text}\n").encode()


def encode_with_data(
    kind: type[Any], values: tuple[Any, ...], mono_ns: int, wall_s: float, time_ns: int
) -> bytes:
    """Return the line of an event with these values, whose `data` are bytes.

    The others are mostly as before, and then are not encoded anew. See `json_around_data`.
    """
    before, after = json_around_data(kind, values)
    times = f'"mono_ns":{mono_ns},"wall_s":{wall_s},"time_ns":{time_ns}'
    data = values[DATA_AT[kind]].hex()
    return f'{{"event":"{NAMES[kind]}",{times},{before}"data":"{data}"{after}}}\n'.encode()


def json_around_data(kind: type[Any], values: tuple[Any, ...]) -> tuple[str, str]:
    """Return the fields before and after `data` in the JSON of an event, each with its comma.

    A mapping is given by its items, so that all can be hashed.
    """
    index = DATA_AT[kind]
    return _around_data(NAMES[kind], values[:index] + values[index + 1 :])


@lru_cache(1024)
def _around_data(kind_name: str, values: tuple[Any, ...]) -> tuple[str, str]:
    kind = KINDS[kind_name].form
    declared = [each for each in fields(kind) if each.name in FIELDS[kind] and each.name != "data"]
    encoded = [
        f'"{each.name}":{_ENCODE(dict(value) if each.type.startswith("dict") else value)}'
        for each, value in zip(declared, values, strict=True)
    ]
    index = DATA_AT[kind]
    return "".join(f"{each}," for each in encoded[:index]), "".join(
        f",{each}" for each in encoded[index:]
    )


def link(name: str, status: Mapping[str, Any]) -> Link:
    """Return the event of a link, whose `status` is its part of `hilgw status --json`."""
    counts = {key: status[key] for key in LINK_COUNTS[:-1]}
    latency, listeners = status["latency"], islice(status["listeners"].items(), MOST_OF_LINK)
    return Link(
        name,
        status["state"],
        status["reason"],
        latency["p50_ms"],
        latency["p99_ms"],
        status["round_trip_ms"],
        status["clock_offset_s"],
        {**counts, "dropped": sum(status["dropped"].values())},
        [printable(each) for each in islice(status["robots"], MOST_OF_LINK)],
        {printable(name): each["type"] for name, each in listeners},
    )


def number(value: float) -> float | str:
    """Return a number as in JSON."""
    return value if math.isfinite(value) else str(value)


def numbers(value: float | tuple[float, ...]) -> Numbers:
    """Return a value of a sensor as in JSON."""
    return [number(each) for each in value] if isinstance(value, tuple) else number(value)
