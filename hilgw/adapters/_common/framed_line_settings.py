"""Settings of a UART, and the checks that take more than one field."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from hilgw.adapters.base import StationSettings, line_of
from hilgw.errors import ConfigError
from hilgw.framing import crc, create, parse
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.length import LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings
from hilgw.settings import setting

FramingSettings = (
    CobsSettings | GapSettings | HdlcSettings | LengthSettings | LinesSettings | SlipSettings
)
Problem = tuple[str, str, str]  # path below the adapter, message, what to do

SECOND_NS = 1_000_000_000
SHORTEST_GAP = 1.5  # byte times; bytes that follow each other closely come one byte time apart


@dataclass(frozen=True, slots=True, kw_only=True)
class OneChannel:
    """The line stands for one Webots channel, `channel`; the packets are bare."""

    by: Literal["channel"] = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHeader:
    """The first byte of each packet on the line is its Webots channel, 0 to 254; 255 is -1."""

    by: Literal["header"] = "header"


@dataclass(frozen=True, slots=True, kw_only=True)
class UartSettings:
    """What a UART needs beside what every station has."""

    framing: str | FramingSettings = setting(
        "where packets begin and end on the line: a short name, or a mapping with the settings "
        "of one kind (docs/framing.md)",
        "cobs-crc16",
        example="cobs-crc16",
    )
    mapping: OneChannel | ByHeader = setting("how a Webots channel maps to the line", OneChannel())
    local_echo: bool = setting(
        "the line hears itself (RS-485 with its receiver on, one wire): what comes back of a "
        "packet just sent is dropped",
        False,
    )
    mock: dict[str, Any] = setting(
        "parameters of the microcontroller that stands in with backend mock "
        "(`hilgw mock uart_node --list`)",
        default_factory=dict,
    )


def byte_ns(common: StationSettings) -> float:
    """How long one byte takes on this line."""
    return line_of(common)[0].byteSize * SECOND_NS / common.baudRate


def check(settings: UartSettings, common: StationSettings) -> list[Problem]:
    """What is wrong between fields, each with its place and its cure."""
    try:
        framing = create(settings.framing)
    except ConfigError as error:
        is_crc = not isinstance(settings.framing, str) and "CRC" in error.what
        return [("framing.crc" if is_crc else "framing", error.what, error.fix)]
    try:
        least = SHORTEST_GAP * byte_ns(common)
    except ConfigError:
        return []  # the line itself is wrong, which is said elsewhere
    if 0 < framing.pause_ns < least:
        what = (
            f"a gap of {framing.pause_ns / 1e6:g} ms ends a packet between two of its bytes: "
            f"a byte takes {byte_ns(common) / 1e6:.3g} ms at {common.baudRate} baud"
        )
        return [("framing", what, f"give {least / 1e6:.3g} ms or more")]
    return []


def name_of(framing: str | FramingSettings) -> str:
    """What people call it."""
    return framing.strip().lower() if isinstance(framing, str) else framing.framing


def in_full(framing: str | FramingSettings) -> dict[str, Any]:
    """Every setting of the framing, a CRC by its polynomial: nothing left to know by name."""
    settings = parse(framing) if isinstance(framing, str) else framing
    values = asdict(settings)
    if values.get("crc", crc.NONE) != crc.NONE:
        named = crc.named(values["crc"])
        values["crc"] = (
            f"poly={named.poly:#x},init={named.start ^ named.xor_out:#x},"
            f"rev={str(named.reversed).lower()},xorOut={named.xor_out:#x}"
        )
    return values
