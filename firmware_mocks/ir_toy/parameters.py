"""Parameters of the toy and of what shines near it: names, meanings, and their values checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks.base import MS
from firmware_mocks.ir_toy.codes import NAMES, Key, key_of, keys_of
from firmware_mocks.ir_toy.light import Place, Point

PARAMETERS: dict[str, str] = {
    "play": "a remote control beside the toy is pressed by itself: NAME:ADDRESS:COMMAND, as "
    f"nec:0x04:0x08 ({NAMES}), or raw:9000,4500,560 in microseconds; several one after the other, "
    "with semicolons between",
    "every_ms": "from one press to the next (default 1000)",
    "repeats": "frames of each press beyond the first, as a held key sends them (default 0)",
    "replies": "a lamp beside the toy answers codes it sees: nec:4:8=nec:4:0x88, several with "
    "semicolons between, or a mapping",
    "delay_ms": "from a code to its answer (default 150)",
    "jammer": "light that spoils what else there is: steady, or ON_MS:OFF_MS (default none)",
    "position": "x, y, z in metres",
    "facing": "where LED and receiver look: x, y, z of a direction (default 1, 0, 0)",
    "cone": "full angle within which they shine and see, radians; -1: all around (default)",
    "range_m": "how far its light is seen (default 10)",
    "stretch_us": "by how much its receiver lengthens marks (default 0; real ones 50 to 100)",
    "jitter_us": "by how much, at most, its receiver shifts an edge at random (default 0)",
    "ahead": "blocks of a transmission it takes before it shines (default 1, as hardware does)",
    "hardware": "version it gives, 1 or 2 (default 2)",
    "firmware": "version it gives, 0 to 99; below 20 it reports nothing it transmits (default 22)",
    "seed": "of the jitter (default: the air's)",
}

DEFAULTS: dict[str, Any] = {
    "play": "",
    "every_ms": 1000,
    "repeats": 0,
    "replies": {},
    "delay_ms": 150,
    "jammer": "",
    "position": (0.0, 0.0, 0.0),
    "facing": (1.0, 0.0, 0.0),
    "cone": -1,
    "range_m": 10,
    "stretch_us": 0,
    "jitter_us": 0,
    "ahead": 1,
    "hardware": 2,
    "firmware": 22,
    "seed": 0,
}

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Settings:
    """The parameters as they are used; times in nanoseconds."""

    play: tuple[Key, ...]
    every_ns: int
    repeats: int
    replies: dict[Key, Key]
    delay_ns: int
    jam_on_ns: int
    jam_off_ns: int
    place: Place
    stretch_ns: int
    jitter_ns: int
    ahead: int
    hardware: int
    firmware: int


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Every parameter checked. ValueError names the one that does not fit."""
    for name in values:
        if name not in PARAMETERS:
            raise ValueError(f"{name}: no such parameter; one of {', '.join(PARAMETERS)}")
    all_ = {**DEFAULTS, **values}
    cone = _number(all_, "cone", -1, 2 * math.pi)
    jam_on_ns, jam_off_ns = _named(all_, "jammer", _jammer)
    return Settings(
        play=tuple(_named(all_, "play", keys_of)),
        every_ns=round(_number(all_, "every_ms", 1, DAY_MS) * MS),
        repeats=_whole(all_, "repeats", 0, 100),
        replies=_named(all_, "replies", _replies),
        delay_ns=round(_number(all_, "delay_ms", 0, DAY_MS) * MS),
        jam_on_ns=jam_on_ns,
        jam_off_ns=jam_off_ns,
        place=Place(
            position=_named(all_, "position", _point),
            facing=_named(all_, "facing", _direction),
            cone=None if cone < 0 else cone,
            range_m=_number(all_, "range_m", 0, 1e6),
        ),
        stretch_ns=round(_number(all_, "stretch_us", 0, 1000) * 1000),
        jitter_ns=round(_number(all_, "jitter_us", 0, 1000) * 1000),
        ahead=_whole(all_, "ahead", 1, 1000),
        hardware=_whole(all_, "hardware", 1, 2),
        firmware=_whole(all_, "firmware", 0, 99),
    )


def _named(values: Mapping[str, Any], name: str, read: Callable[[Any], Any]) -> Any:
    """What `read` makes of a value; its ValueError with the parameter's name."""
    try:
        return read(values[name])
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None


def _number(values: Mapping[str, Any], name: str, low: float, high: float) -> float:
    try:
        value = float(values[name])
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name}: {values[name]!r} is no number from {low:g} to {high:g}")
    return value


def _whole(values: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = _number(values, name, low, high)
    if not value.is_integer():
        raise ValueError(f"{name}: {values[name]!r} is no whole number")
    return int(value)


def _replies(value: Any) -> dict[Key, Key]:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.replace(";", " ").split()]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError("write CODE=CODE, as nec:4:8=nec:4:0x88")
        value = {code: answer for code, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r}; write CODE=CODE, as nec:4:8=nec:4:0x88")
    return {key_of(str(code)): key_of(str(answer)) for code, answer in value.items()}


def _jammer(value: Any) -> tuple[int, int]:
    """How long on, and off."""
    text = str(value or "none").strip().lower()
    if text in ("none", "steady"):
        return (0, 0) if text == "none" else (MS, 0)
    on, _, off = text.partition(":")
    try:
        times = [round(float(part) * MS) for part in (on, off)]
    except (ValueError, OverflowError):
        times = [0]
    if min(times) < 1:
        raise ValueError(f"write steady, none, or ON_MS:OFF_MS, not {value!r}")
    return times[0], times[1]


def _point(value: Any) -> Point:
    parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
    try:
        x, y, z = (float(part) for part in parts)
    except (ValueError, TypeError, OverflowError):
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError(f"three numbers are needed, x, y, z, not {value!r}")
    return (x, y, z)


def _direction(value: Any) -> Point:
    point = _point(value)
    if point == (0.0, 0.0, 0.0):
        raise ValueError("0, 0, 0 is no direction")
    return point
