"""The fields of Webots' Emitter and Receiver nodes: names, defaults, limits.

Webots reference manual, nodes Emitter and Receiver. Field names keep Webots' spelling, so that
they can be pasted from a world file. `normalise` applies the rules that span fields.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from hilgw.errors import ConfigError
from hilgw.settings import setting

TYPES = ("radio", "serial", "infra-red")
BROADCAST = -1
UNLIMITED = -1
CAP_BYTES = 16 * 1024 * 1024
"""Webots' "unlimited" buffers end here: no queue holds more bytes than this."""
CAP_PACKETS = 1 << 20
"""The limit in packets: a million packets of one byte need far more memory than their bytes."""

CHANNEL_MAX = 2**31 - 1
"""Webots' channels are SFInt32."""

DEFAULT_STEP_MS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitterFields:
    """An Emitter node."""

    type: str = setting("kind of signal", "radio", choices=TYPES)
    range: float = setting(
        "emission sphere; -1: infinite", -1.0, ge=0, also=(-1,), unit="m", le=1_000_000_000
    )
    maxRange: float = setting(
        "largest value setRange accepts; -1: infinite",
        -1.0,
        ge=0,
        also=(-1,),
        unit="m",
        le=1_000_000_000,
    )
    aperture: float = setting(
        "opening angle of the emission cone, infra-red only; -1: all around",
        -1.0,
        ge=0,
        le=2 * math.pi,
        also=(-1,),
        unit="rad",
    )
    channel: int = setting("channel; -1: broadcast", 0, ge=0, also=(-1,), le=CHANNEL_MAX)
    baudRate: int = setting(
        "line speed; -1: infinite, 0: nothing ever leaves",
        -1,
        ge=0,
        also=(-1,),
        unit="bit/s",
        le=2_147_483_647,
    )
    byteSize: int = setting(
        "bits one byte costs on the line", 8, ge=8, unit="bit", le=2_147_483_647
    )
    bufferSize: int = setting(
        "send queue; -1: 16 MiB", -1, ge=0, also=(-1,), unit="byte", le=2_147_483_647
    )
    allowedChannels: tuple[int, ...] = setting(
        "channels setChannel accepts; empty: all", (), ge=0, also=(-1,), le=CHANNEL_MAX
    )
    model: str = setting("model of the device, for the controller", "")
    translation: tuple[float, float, float] = setting(
        "position on the robot", (0.0, 0.0, 0.0), unit="m", ge=-1_000_000_000, le=1_000_000_000
    )
    rotation: tuple[float, float, float, float] = setting(
        "orientation on the robot: axis x, y, z and angle",
        (0.0, 0.0, 1.0, 0.0),
        unit="rad",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverFields:
    """A Receiver node."""

    type: str = setting("kind of signal", "radio", choices=TYPES)
    aperture: float = setting(
        "opening angle of the reception cone, infra-red only; -1: all around",
        -1.0,
        ge=0,
        le=2 * math.pi,
        also=(-1,),
        unit="rad",
    )
    channel: int = setting("channel; -1: listens to all", 0, ge=0, also=(-1,), le=CHANNEL_MAX)
    baudRate: int = setting(
        "speed of the hardware behind it; -1: any",
        -1,
        ge=0,
        also=(-1,),
        unit="bit/s",
        le=2_147_483_647,
    )
    byteSize: int = setting(
        "bits one byte costs on the line", 8, ge=8, unit="bit", le=2_147_483_647
    )
    bufferSize: int = setting(
        "receive queue; -1: 16 MiB", -1, ge=0, also=(-1,), unit="byte", le=2_147_483_647
    )
    signalStrengthNoise: float = setting(
        "standard deviation of the signal strength, relative", 0.0, ge=0, le=1_000_000
    )
    directionNoise: float = setting(
        "standard deviation of each component of the direction", 0.0, ge=0, le=1_000_000
    )
    allowedChannels: tuple[int, ...] = setting(
        "channels setChannel accepts; empty: all", (), ge=0, also=(-1,), le=CHANNEL_MAX
    )
    sampling_period_ms: int | None = setting(
        "period at which arrivals become readable; 0: disabled until the controller enables it; "
        "not set: the basic time step (32)",
        None,
        ge=0,
        unit="ms",
        le=2_147_483_647,
    )
    model: str = setting("model of the device, for the controller", "")
    translation: tuple[float, float, float] = setting(
        "position on the robot", (0.0, 0.0, 0.0), unit="m", ge=-1_000_000_000, le=1_000_000_000
    )
    rotation: tuple[float, float, float, float] = setting(
        "orientation on the robot: axis x, y, z and angle",
        (0.0, 0.0, 1.0, 0.0),
        unit="rad",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )


Fields = TypeVar("Fields", EmitterFields, ReceiverFields)


def normalise(given: Fields) -> tuple[Fields, list[str]]:
    """Return the fields as Webots would use them, and the warnings that it would print.

    Raises:
        ConfigError: a value is outside Webots' limits; `where` is the field.
    """
    for name, value, metadata in _numbers(given):
        _check(name, value, metadata)
    if given.type not in TYPES:
        raise ConfigError(
            f"type {given.type!r} does not exist", where="type", fix=f"use {', '.join(TYPES)}"
        )
    if given.allowedChannels and given.channel not in given.allowedChannels:
        raise ConfigError(
            f"channel {given.channel} is not in allowedChannels {list(given.allowedChannels)}",
            where="channel",
            fix="add it there, or leave allowedChannels empty to allow all",
        )
    if not any(given.rotation[:3]):
        raise ConfigError(
            f"rotation {list(given.rotation)} has no axis",
            where="rotation",
            fix="e.g. [0, 0, 1, 0]",
        )
    if isinstance(given, ReceiverFields):
        return _normalise_receiver(given)
    return _normalise_emitter(given)


def channel_refusal(channel: int, allowed: tuple[int, ...]) -> str | None:
    """Return why setChannel refuses this channel, in Webots' words if it has some; else None."""
    if channel < BROADCAST:
        return f"an invalid channel={channel}. Please use a channel inside the range [-1,inf)."
    if channel > CHANNEL_MAX:
        return f"an invalid channel={channel}. Please use a channel up to {CHANNEL_MAX}."
    if allowed and channel not in allowed:
        return (
            f"channel={channel}, which is not between allowed channels. "
            "Please use an allowed channel."
        )
    return None


def line_difference(emitter: EmitterFields, receiver: ReceiverFields) -> str:
    """Return a warning when the two ends of a line have different settings; "" if they agree.

    Webots ignores a Receiver's baudRate and byteSize; hardware does not. -1 agrees with all.
    """
    ends = []
    if UNLIMITED not in (emitter.baudRate, receiver.baudRate):
        ends.append(("baudRate", emitter.baudRate, receiver.baudRate))
    ends.append(("byteSize", emitter.byteSize, receiver.byteSize))
    return ", ".join(
        f"{name} {sent} at the emitter but {received} at the receiver"
        for name, sent, received in ends
        if sent != received
    )


def _normalise_emitter(given: EmitterFields) -> tuple[EmitterFields, list[str]]:
    """Normalise as WbEmitter: maxRange when the world is loaded, range only when it changes."""
    warnings = []
    if given.channel == BROADCAST:
        warnings.append("channel -1 broadcasts on all channels; Webots allows it only at run time")
    if given.maxRange == 0:
        warnings.append("maxRange 0 is not positive, -1 (infinite) is used")
        given = replace(given, maxRange=UNLIMITED)
    finite = given.maxRange != UNLIMITED
    if finite and (given.range == UNLIMITED or given.range > given.maxRange):
        warnings.append(
            f"range {given.range:g} is beyond maxRange {given.maxRange:g}; "
            "as in Webots, it holds until the controller calls setRange"
        )
    return given, warnings


def _normalise_receiver(given: ReceiverFields) -> tuple[ReceiverFields, list[str]]:
    warnings = []
    if given.bufferSize == 0:
        warnings.append("bufferSize 0 is not positive, -1 (unlimited) is used")
        given = replace(given, bufferSize=UNLIMITED)
    if given.baudRate == 0:
        warnings.append("baudRate 0 is not positive, -1 (any) is used")
        given = replace(given, baudRate=UNLIMITED)
    return given, warnings


def _numbers(given: Any) -> Iterator[tuple[str, float, Any]]:
    for declared in fields(given):
        value = getattr(given, declared.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, int | float):
                yield declared.name, item, declared.metadata


def is_allowed(number: float, metadata: Any) -> bool:
    """Return whether a number is within the limits of its field."""
    if number in metadata["also"]:
        return True
    low, high = metadata["ge"], metadata["le"]
    return (
        math.isfinite(number)
        and (low is None or number >= low)
        and (high is None or number <= high)
    )


def _check(name: str, value: float, metadata: Any) -> None:
    if not is_allowed(value, metadata):
        low, high = metadata["ge"], metadata["le"]
        limits = (
            f"{'-inf' if low is None else f'{low:g}'} .. {'inf' if high is None else f'{high:g}'}"
        )
        others = "".join(f" or {other:g}" for other in metadata["also"])
        raise ConfigError(
            f"{name} {value:g} is not allowed", where=name, fix=f"use {limits}{others}"
        )
