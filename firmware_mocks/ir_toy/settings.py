"""Parameters of the toy and of the emitters near it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.base import MS
from firmware_mocks.ir_toy.codes import NAMES, Key, key_of, keys_of
from firmware_mocks.ir_toy.light import Placement, Point
from firmware_mocks.parameters import OF_AIR, Parameters, parameter


def _microseconds(name: str, value: Any) -> int:
    # A time in microseconds, as nanoseconds.
    return round(values.number(name, value, 0, 1000) * 1000)


def _pairs(value: Any) -> dict[Key, Key]:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.replace(";", " ").split()]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError(f"{value!r} is not CODE=CODE, e.g. nec:4:8=nec:4:0x88")
        value = {code: answer for code, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not CODE=CODE, e.g. nec:4:8=nec:4:0x88")
    return {key_of(str(code)): key_of(str(answer)) for code, answer in value.items()}


def _times(value: Any) -> tuple[int, int]:
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


@dataclass(frozen=True)
class Settings(Parameters):
    """The checked parameters; times in nanoseconds."""

    play: list[Key] = parameter(
        "keys that a remote control next to the toy presses in turn: NAME:ADDRESS:COMMAND, e.g. "
        f"nec:0x04:0x08 ({NAMES}), or raw:9000,4500,560 in microseconds; with semicolons between "
        "them (default: none)",
        "",
        values.named,
        keys_of,
    )
    every_ns: int = parameter(
        "time between two presses", 1000, values.milliseconds, 1, name="every_ms"
    )
    start_ns: int = parameter(
        "time without a press after a client has begun to receive, as irrecord's test of the "
        "ambient light needs it",
        0,
        values.milliseconds,
        name="start_ms",
    )
    repeats: int = parameter(
        "frames of each press after the first, as a held key sends them", 0, values.whole, 0, 100
    )
    replies: dict[Key, Key] = parameter(
        "codes that a lamp next to the toy answers, with the answers: nec:4:8=nec:4:0x88, with "
        "semicolons between them, or a mapping (default: none)",
        {},
        values.named,
        _pairs,
    )
    delay_ns: int = parameter(
        "time from a code to its answer", 150, values.milliseconds, name="delay_ms"
    )
    jammer: tuple[int, int] = parameter(
        "an infrared emitter that disturbs all codes: steady, or ON_MS:OFF_MS",
        "none",
        values.named,
        _times,
    )
    position: Point = values.in_air()
    facing: Point = parameter("direction of LED and receiver: x, y, z", "1, 0, 0", _direction)
    cone: float = parameter(
        "full angle of LED and receiver in radians; -1: all around",
        -1,
        values.number,
        -1,
        2 * math.pi,
    )
    range_m: float = parameter("range of its LED in metres", 10, values.number, 0, 1e6)
    stretch_ns: int = parameter(
        "its receiver lengthens marks by this (default {default}; real ones 50 to 100)",
        0,
        _microseconds,
        name="stretch_us",
    )
    jitter_ns: int = parameter(
        "its receiver shifts each edge by up to this, at random",
        0,
        _microseconds,
        name="jitter_us",
    )
    ahead: int = parameter(
        "blocks of a transmission that it reads before it starts (default {default}, as hardware)",
        1,
        values.whole,
        1,
        1000,
    )
    hardware: int = parameter("hardware version, 1 or 2", 2, values.whole, 1, 2)
    firmware: int = parameter(
        "firmware version, 0 to 99; below 20 without transmit reports", 22, values.whole, 0, 99
    )
    seed: object = parameter(
        "seed of the jitter (default: that of the air)", OF_AIR, values.unread, is_fixed=True
    )

    @property
    def placement(self) -> Placement:
        cone = None if self.cone < 0 else self.cone
        return Placement(self.position, self.facing, cone, self.range_m)
