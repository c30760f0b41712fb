"""Parameters of the microcontroller."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from firmware_mocks import parameters as values
from firmware_mocks._framing.framings import Framing
from firmware_mocks._framing.specs import NAMES, framing_of, name_of
from firmware_mocks.parameters import Parameters, parameter

MODES = ("echo", "answer", "flood", "noise", "stall", "silent")
SWITCH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Framed(NamedTuple):
    """The framing of its packets, and how the user named it."""

    framing: Framing
    name: str


def _framed(name: str, value: Any) -> Framed:
    return Framed(values.named(name, value, framing_of), name_of(value))


def _mode(name: str, value: Any) -> str:
    return values.choice(name, str(value), MODES) if str(value) else ""


def _switch(name: str, value: Any) -> bool:
    word = str(value).lower()
    if word not in SWITCH:
        raise ValueError(f"{name}: {value!r} is not 1 or 0")
    return SWITCH[word]


@dataclass(frozen=True)
class Settings(Parameters):
    """The checked parameters; times in nanoseconds."""

    own_mode: str = parameter(
        "echo: it returns each packet; answer: it answers packets with `replies`; flood: it sends "
        "numbered packets all the time; noise: it sends random bytes at the full rate; stall: it "
        "reads nothing; silent: it reads and sends nothing (default: answer with `replies`, else "
        "echo)",
        "",
        _mode,
        name="mode",
    )
    framed: Framed = parameter(
        f"framing of its packets: {NAMES}, or a mapping", "cobs-crc16", _framed, name="framing"
    )
    baud_rate: int = parameter(
        "UART rate, bit/s (default {default}); it reads bytes at another rate as noise, and "
        "answers noise",
        115_200,
        values.whole,
        50,
        4_000_000,
        name="baudRate",
    )
    bits_per_byte: int = parameter(
        "bits per byte on the UART, 10 is 8N1", 10, values.whole, 9, 12, name="byteSize"
    )
    replies: dict[bytes, bytes] = parameter(
        "KEY:VALUE, e.g. ping:pong,marco:polo: it returns a packet that begins with KEY, with "
        "VALUE in place of KEY (default: none)",
        {},
        values.replies,
    )
    delay_ns: int = parameter(
        "time from the last byte of a packet to its answer",
        0,
        values.milliseconds,
        name="delay_ms",
    )
    rate: float = parameter(
        "packets/s of a flood; 0: the full rate of the line", 0, values.number, 0, 1_000_000
    )
    size: int = parameter("bytes of a packet of a flood", 16, values.whole, 1, 65_535)
    count: int = parameter("packets of one flood; 0: endless", 0, values.whole, 0, 10**9)
    flood_on: bytes = parameter(
        "beginning of the packets that start a flood (default: none)", "", values.text
    )
    stall_on: bytes = parameter(
        "beginning of the packets that make it stop reading (default: none)", "", values.text
    )
    stall_ns: int = parameter(
        "time without reading; 0: for ever", 0, values.milliseconds, name="stall_ms"
    )
    reboot_on: bytes = parameter(
        "beginning of the packets that make it reboot, in the middle of its answer (default: none)",
        "",
        values.text,
    )
    reboot_every_ns: int = parameter(
        "it reboots by itself, in the middle of a frame; 0: never",
        0,
        values.milliseconds,
        name="reboot_every_ms",
    )
    boot_ns: int = parameter(
        "duration of a start; bytes that come meanwhile are lost",
        50,
        values.milliseconds,
        name="boot_ms",
    )
    banner: bytes = parameter(
        "text that it sends at each reboot, without framing; \\r, \\n, \\xNN are escapes",
        "\\r\\nuart_node: starting\\r\\n",
        values.text,
    )
    buffer: int = parameter(
        "bytes of its input buffer; more are lost while it does not read",
        4096,
        values.whole,
        1,
        1 << 20,
    )
    rtscts: bool = parameter(
        "1: it switches RTS off when its input buffer is half full", 0, _switch
    )
    seed: object = parameter(
        "seed of the noise (default: that of the air)", values.OF_AIR, values.unread, is_fixed=True
    )

    @property
    def mode(self) -> str:
        return self.own_mode or ("answer" if self.replies else "echo")
