"""Parameters of the microcontroller: names, meanings, and their values checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks._framing.framings import Framing
from firmware_mocks._framing.specs import NAMES, framing_of, name_of

MODES = ("echo", "answer", "flood", "noise", "stall", "silent")

PARAMETERS: dict[str, str] = {
    "mode": "echo: it returns each packet; answer: it answers packets with `replies`; flood: it "
    "sends numbered packets all the time; noise: it sends random bytes at the full rate; stall: it "
    "reads nothing; silent: it reads and sends nothing (default: answer with `replies`, else echo)",
    "framing": f"framing of its packets: {NAMES}, or a mapping (default cobs-crc16)",
    "baudRate": "UART rate, bit/s (default 115200); it reads bytes at another rate as noise, and "
    "answers noise",
    "byteSize": "bits per byte on the UART, 10 is 8N1 (default 10)",
    "replies": "KEY:VALUE, e.g. ping:pong,marco:polo: it returns a packet that begins with KEY, "
    "with VALUE in place of KEY (default: none)",
    "delay_ms": "time from the last byte of a packet to its answer (default 0)",
    "rate": "packets/s of a flood; 0: the full rate of the line (default 0)",
    "size": "bytes of a packet of a flood (default 16)",
    "count": "packets of one flood; 0: endless (default 0)",
    "flood_on": "beginning of the packets that start a flood (default: none)",
    "stall_on": "beginning of the packets that make it stop reading (default: none)",
    "stall_ms": "time without reading; 0: for ever (default 0)",
    "reboot_on": "beginning of the packets that make it reboot, in the middle of its answer "
    "(default: none)",
    "reboot_every_ms": "it reboots by itself, in the middle of a frame; 0: never (default 0)",
    "boot_ms": "duration of a start; bytes that come meanwhile are lost (default 50)",
    "banner": "text that it sends at each reboot, without framing; \\r, \\n, \\xNN are escapes "
    "(default \\r\\nuart_node: starting\\r\\n)",
    "buffer": "bytes of its input buffer; more are lost while it does not read (default 4096)",
    "rtscts": "1: it switches RTS off when its input buffer is half full (default 0)",
    "seed": "seed of the noise (default: that of the air)",
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


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked parameters; times in nanoseconds."""

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


def settings_of(given: Mapping[str, Any]) -> Settings:
    """All parameters checked. ValueError names the first one with a wrong value."""
    values.check_names(given, PARAMETERS)
    all_ = {**DEFAULTS, **given}
    replies = values.replies("replies", all_["replies"])
    mode = values.choice("mode", str(all_["mode"]) or ("answer" if replies else "echo"), MODES)
    return Settings(
        mode=mode,
        framing=values.named("framing", framing_of, all_["framing"]),
        framing_name=name_of(all_["framing"]),
        baud_rate=values.whole("baudRate", all_["baudRate"], 50, 4_000_000),
        bits_per_byte=values.whole("byteSize", all_["byteSize"], 9, 12),
        replies=replies,
        delay_ns=values.milliseconds("delay_ms", all_["delay_ms"]),
        rate=values.number("rate", all_["rate"], 0, 1_000_000),
        size=values.whole("size", all_["size"], 1, 65_535),
        count=values.whole("count", all_["count"], 0, 10**9),
        flood_on=values.text("flood_on", all_["flood_on"]),
        stall_on=values.text("stall_on", all_["stall_on"]),
        stall_ns=values.milliseconds("stall_ms", all_["stall_ms"]),
        reboot_on=values.text("reboot_on", all_["reboot_on"]),
        reboot_every_ns=values.milliseconds("reboot_every_ms", all_["reboot_every_ms"]),
        boot_ns=values.milliseconds("boot_ms", all_["boot_ms"]),
        banner=values.text("banner", all_["banner"]),
        buffer=values.whole("buffer", all_["buffer"], 1, 1 << 20),
        rtscts=_switch("rtscts", all_["rtscts"]),
    )


def _switch(name: str, value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    word = str(value).lower()
    if word not in words:
        raise ValueError(f"{name}: {value!r} is not 1 or 0")
    return words[word]
