"""Parameters of the microcontroller: names, meanings, and their values checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks.base import MS
from firmware_mocks.uart_node.framings import Framing
from firmware_mocks.uart_node.named import NAMES, framing_of, name_of

MODES = ("echo", "answer", "flood", "noise", "stall", "silent")

PARAMETERS: dict[str, str] = {
    "mode": "echo: each packet comes back; answer: those that begin with a key of `replies`; "
    "flood: numbered packets as long as it runs; noise: random bytes at the full rate; stall: "
    "reads nothing; silent: reads and says nothing (default echo, answer when there are replies)",
    "framing": f"of its packets: {NAMES}, or a mapping (default cobs-crc16)",
    "baudRate": "rate of its UART, bit/s (default 115200); what comes at another is noise to it, "
    "and it answers noise",
    "byteSize": "bits on the wire per byte, 10 is 8N1 (default 10)",
    "replies": "a packet that begins with KEY comes back with VALUE in its place, as "
    "ping:pong,marco:polo",
    "delay_ms": "from a packet's last byte to its answer (default 0)",
    "rate": "of a flood, packets/s; 0: as many as the line carries (default 0)",
    "size": "of a flood's packets, bytes (default 16)",
    "count": "packets of one flood; 0: endless (default 0)",
    "flood_on": "a packet that begins so starts a flood",
    "stall_on": "a packet that begins so makes it stop reading",
    "stall_ms": "how long it reads nothing; 0: for good (default 0)",
    "reboot_on": "a packet that begins so makes it reboot, in the middle of its answer",
    "reboot_every_ms": "it reboots by itself, in the middle of a frame; 0: never (default 0)",
    "boot_ms": "how long a start takes; what comes meanwhile is lost (default 50)",
    "banner": "text it prints at each reboot, whatever the framing; \\r, \\n, \\xNN are understood",
    "buffer": "input buffer, bytes; more than that is lost while it reads nothing (default 4096)",
    "rtscts": "1: it takes RTS back when its input buffer is half full (default 0)",
    "seed": "of the noise (default: the air's)",
}

DEFAULTS: dict[str, Any] = {
    "mode": "",
    "framing": "cobs-crc16",
    "baudRate": 115_200,
    "byteSize": 10,
    "replies": {},
    "delay_ms": 0,
    "rate": 0,
    "size": 16,
    "count": 0,
    "flood_on": "",
    "stall_on": "",
    "stall_ms": 0,
    "reboot_on": "",
    "reboot_every_ms": 0,
    "boot_ms": 50,
    "banner": "\\r\\nuart_node: starting\\r\\n",
    "buffer": 4096,
    "rtscts": False,
    "seed": 0,
}

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The parameters as the firmware uses them; times in nanoseconds."""

    mode: str
    framing: Framing
    framing_name: str
    baud_rate: int
    bits_per_byte: int
    replies: dict[bytes, bytes]
    delay_ns: int
    rate: float
    size: int
    count: int
    flood_on: bytes
    stall_on: bytes
    stall_ns: int
    reboot_on: bytes
    reboot_every_ns: int
    boot_ns: int
    banner: bytes
    buffer: int
    rtscts: bool


def behaviour_of(values: Mapping[str, Any]) -> Behaviour:
    """Every parameter checked. ValueError names the one that does not fit."""
    for name in values:
        if name not in PARAMETERS:
            raise ValueError(f"{name}: no such parameter; one of {', '.join(PARAMETERS)}")
    all_ = {**DEFAULTS, **values}
    replies = _named("replies", lambda: _replies(all_["replies"]))
    mode = str(all_["mode"]) or ("answer" if replies else "echo")
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is unknown; one of {', '.join(MODES)}")
    return Behaviour(
        mode=mode,
        framing=_named("framing", lambda: framing_of(all_["framing"])),
        framing_name=name_of(all_["framing"]),
        baud_rate=_whole(all_, "baudRate", 50, 4_000_000),
        bits_per_byte=_whole(all_, "byteSize", 9, 12),
        replies=replies,
        delay_ns=_time(all_, "delay_ms"),
        rate=_number(all_, "rate", 0, 1_000_000),
        size=_whole(all_, "size", 1, 65_535),
        count=_whole(all_, "count", 0, 10**9),
        flood_on=_text(all_, "flood_on"),
        stall_on=_text(all_, "stall_on"),
        stall_ns=_time(all_, "stall_ms"),
        reboot_on=_text(all_, "reboot_on"),
        reboot_every_ns=_time(all_, "reboot_every_ms"),
        boot_ns=_time(all_, "boot_ms"),
        banner=_text(all_, "banner"),
        buffer=_whole(all_, "buffer", 1, 1 << 20),
        rtscts=_switch(all_, "rtscts"),
    )


def _named(name: str, read: Any) -> Any:
    """What `read` gives; its ValueError with the parameter's name."""
    try:
        return read()
    except (ValueError, TypeError, AttributeError) as error:
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


def _time(values: Mapping[str, Any], name: str) -> int:
    return round(_number(values, name, 0, DAY_MS) * MS)


def _switch(values: Mapping[str, Any], name: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    word = str(values[name]).lower()
    if word not in words:
        raise ValueError(f"{name}: {values[name]!r} is neither 1 nor 0")
    return words[word]


def _text(values: Mapping[str, Any], name: str) -> bytes:
    return _named(name, lambda: _bytes(values[name]))  # type: ignore[no-any-return]


def _bytes(text: Any) -> bytes:
    """Text as UTF-8; a backslash stands for what it does in C."""
    try:
        return str(text).encode().decode("unicode_escape").encode("latin-1")
    except ValueError:
        raise ValueError(f"{text!r} has a strange backslash") from None


def _replies(value: Any) -> dict[bytes, bytes]:
    if isinstance(value, str):
        pairs = [pair.partition(":") for pair in value.strip("{} ").split(",") if pair.strip()]
        if not all(key.strip() and colon for key, colon, _ in pairs):
            raise ValueError(f"{value!r}; write KEY:VALUE, as ping:pong")
        value = {key.strip(" \"'"): answer.strip(" \"'") for key, _, answer in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r}; write KEY:VALUE, as ping:pong")
    return {_bytes(key): _bytes(answer) for key, answer in value.items()}
