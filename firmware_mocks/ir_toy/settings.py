"""Parameters of the toy and of the emitters near it: names, meanings, and values checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.base import MS
from firmware_mocks.ir_toy.codes import NAMES, Key, key_of, keys_of
from firmware_mocks.ir_toy.light import Placement, Point

PARAMETERS: dict[str, str] = {
    "play": "keys that a remote control beside the toy presses in turn: NAME:ADDRESS:COMMAND, e.g. "
    f"nec:0x04:0x08 ({NAMES}), or raw:9000,4500,560 in microseconds; with semicolons between them "
    "(default: none)",
    "every_ms": "time between two presses (default 1000)",
    "start_ms": "time without a press after a client has begun to receive, as irrecord's test of "
    "the ambient light needs it (default 0)",
    "repeats": "frames of each press after the first, as a held key sends them (default 0)",
    "replies": "codes that a lamp beside the toy answers, with the answers: nec:4:8=nec:4:0x88, "
    "with semicolons between them, or a mapping (default: none)",
    "delay_ms": "time from a code to its answer (default 150)",
    "jammer": "an infrared emitter that disturbs all codes: steady, or ON_MS:OFF_MS (default none)",
    "position": "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)",
    "facing": "direction of LED and receiver: x, y, z (default 1, 0, 0)",
    "cone": "full angle of LED and receiver in radians; -1: all around (default -1)",
    "range_m": "range of its LED in metres (default 10)",
    "stretch_us": "its receiver lengthens marks by this (default 0; real ones 50 to 100)",
    "jitter_us": "its receiver shifts each edge by up to this, at random (default 0)",
    "ahead": "blocks of a transmission that it reads before it starts (default 1, as hardware)",
    "hardware": "hardware version, 1 or 2 (default 2)",
    "firmware": "firmware version, 0 to 99; below 20 without transmit reports (default 22)",
    "seed": "seed of the jitter (default: that of the air)",
}

DEFAULTS: dict[str, Any] = {
    "play": "",
    "every_ms": 1000,
    "start_ms": 0,
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


@dataclass(frozen=True)
class Settings:
    """The checked parameters; times in nanoseconds."""

    play: tuple[Key, ...]
    every_ns: int
    start_ns: int
    repeats: int
    replies: dict[Key, Key]
    delay_ns: int
    jam_on_ns: int
    jam_off_ns: int
    placement: Placement
    stretch_ns: int
    jitter_ns: int
    ahead: int
    hardware: int
    firmware: int


def settings_of(given: Mapping[str, Any]) -> Settings:
    """All parameters checked. ValueError names the first one with a wrong value."""
    values.check_names(given, PARAMETERS)
    all_ = {**DEFAULTS, **given}
    cone = values.number("cone", all_["cone"], -1, 2 * math.pi)
    jam_on_ns, jam_off_ns = values.named("jammer", _jammer, all_["jammer"])
    return Settings(
        play=tuple(values.named("play", keys_of, all_["play"])),
        every_ns=values.milliseconds("every_ms", all_["every_ms"], 1),
        start_ns=values.milliseconds("start_ms", all_["start_ms"]),
        repeats=values.whole("repeats", all_["repeats"], 0, 100),
        replies=values.named("replies", _replies, all_["replies"]),
        delay_ns=values.milliseconds("delay_ms", all_["delay_ms"]),
        jam_on_ns=jam_on_ns,
        jam_off_ns=jam_off_ns,
        placement=Placement(
            position=values.position("position", all_["position"]),
            facing=_direction("facing", all_["facing"]),
            cone=None if cone < 0 else cone,
            range_m=values.number("range_m", all_["range_m"], 0, 1e6),
        ),
        stretch_ns=round(values.number("stretch_us", all_["stretch_us"], 0, 1000) * 1000),
        jitter_ns=round(values.number("jitter_us", all_["jitter_us"], 0, 1000) * 1000),
        ahead=values.whole("ahead", all_["ahead"], 1, 1000),
        hardware=values.whole("hardware", all_["hardware"], 1, 2),
        firmware=values.whole("firmware", all_["firmware"], 0, 99),
    )


def _replies(value: Any) -> dict[Key, Key]:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.replace(";", " ").split()]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError(f"{value!r} is not CODE=CODE, e.g. nec:4:8=nec:4:0x88")
        value = {code: answer for code, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not CODE=CODE, e.g. nec:4:8=nec:4:0x88")
    return {key_of(str(code)): key_of(str(answer)) for code, answer in value.items()}


def _jammer(value: Any) -> tuple[int, int]:
    """The times on and off, in nanoseconds."""
    text = str(value or "none").strip().lower()
    if text in ("none", "steady"):
        return (0, 0) if text == "none" else (MS, 0)
    on, _, off = text.partition(":")
    try:
        times = [round(float(part) * MS) for part in (on, off)]
    except (ValueError, OverflowError):
        times = [0]
    if min(times) < 1:
        raise ValueError(f"{value!r} is not steady, none or ON_MS:OFF_MS")
    return times[0], times[1]


def _direction(name: str, value: Any) -> Point:
    point = values.position(name, value)
    if point == (0.0, 0.0, 0.0):
        raise ValueError(f"{name}: 0, 0, 0 is not a direction")
    return point
