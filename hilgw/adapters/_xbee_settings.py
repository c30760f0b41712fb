"""Settings of an XBee, and the checks that take more than one field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hilgw.adapters.base import StationSettings
from hilgw.settings import setting

FIRST_CHANNEL, LAST_CHANNEL = 0x0B, 0x1A  # CH of IEEE 802.15.4 at 2.4 GHz
LAST_HEADER = 254  # 255 in the header is Webots' -1
WINDOW = 16
ADDRESS = r"[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{16}"
FACTORY_MY = "0000"  # MY of every module out of the box: it names nobody

Problem = tuple[str, str, str]  # path below the adapter, message, what to do


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleChannel:
    """The module's radio channel CH is the Webots channel: 11 to 26 (hex 0B to 1A)."""

    by: Literal["module_channel"] = "module_channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDestination:
    """Each Webots channel is one module's address. What is heard from an address of the table
    comes in on its channel (the first one named), from any other on `channel`; CH stays as it
    is. `channel` itself, when not in the table, goes to `destination`."""

    by: Literal["destination"] = "destination"
    table: dict[int, str] = setting(
        "Webots channel -> address: 16 hex digits, 1 to 4 of them, or broadcast",
        default_factory=dict,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHeader:
    """The first payload byte is the Webots channel, 0 to 254; 255 is -1. CH stays as it is."""

    by: Literal["header"] = "header"


Mapping = ModuleChannel | ByDestination | ByHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class XBeeSettings:
    """What an XBee needs beside what every station has."""

    mapping: Mapping = setting("how a Webots channel maps to the radio", ModuleChannel())
    destination: str = setting(
        "who gets the packets: broadcast, a 64-bit address (16 hex digits) or a 16-bit one",
        "broadcast",
        pattern=rf"broadcast|{ADDRESS}",
        example="0013A20040A1B2C3",
    )
    pan_id: int | None = setting(
        "network (ID); not set: left as it is", None, ge=0, le=0xFFFF, example=0x3332
    )
    api_mode: int = setting("API mode the module works in (AP): 1 or 2", 1, choices=(1, 2))
    my_address: int | None = setting(
        "16-bit source address (MY), 0xFFFF: use the 64-bit one; not set: left as it is",
        None,
        ge=0,
        le=0xFFFF,
    )
    module: str = setting(
        "serial number (SH and SL, 16 hex digits) the module must have; empty: any",
        "",
        pattern=r"([0-9A-Fa-f]{16})?",
        example="0013A20040A1B2C3",
    )
    window: int = setting("frames sent ahead of their transmit status", 4, ge=1, le=WINDOW)
    status_timeout_s: float = setting(
        "how long to wait for a transmit status", 4.0, gt=0, le=60, unit="s"
    )


def normal_address(text: str) -> str:
    """An address as frames have it: 4 or 16 upper-case hex digits; broadcast is FFFF."""
    if text == "broadcast":
        return "FFFF"
    return text.upper() if len(text) == 16 else text.upper().zfill(4)


def check(settings: XBeeSettings, common: StationSettings) -> list[Problem]:
    """What is wrong between fields, each with its place and its cure."""
    problems: list[Problem] = []
    mapping = settings.mapping
    if isinstance(mapping, ModuleChannel) and not FIRST_CHANNEL <= common.channel <= LAST_CHANNEL:
        problems.append(
            (
                "channel",
                f"{common.channel} is no XBee channel: with mapping module_channel it is CH itself",
                "use 11 to 26 (CH 0B to 1A), or mapping: {by: header}",
            )
        )
    if isinstance(mapping, ByDestination):
        problems += _check_table(mapping)
    for address in common.sources:
        if re.fullmatch(ADDRESS, address) and normal_address(address) == FACTORY_MY:
            problems.append(
                (
                    f"sources.{address}",
                    "0000 is the 16-bit address of every factory-fresh module",
                    "give that module a MY of its own, or name its 64-bit address",
                )
            )
    return problems


def _check_table(mapping: ByDestination) -> list[Problem]:
    problems: list[Problem] = []
    if not mapping.table:
        problems.append(
            (
                "mapping.table",
                "no destination",
                'name at least one, such as {12: "0013A20040A1B2C3"}',
            )
        )
    for channel, address in mapping.table.items():
        path = f"mapping.table.{channel}"
        if channel < 0:
            problems.append(
                (path, f"{channel} is no channel", "use 0 or more; -1 always goes to all")
            )
        if not re.fullmatch(rf"broadcast|{ADDRESS}", address):
            cure = "use 16 hex digits (64-bit), 1 to 4 (16-bit), or broadcast"
            problems.append((path, f"{address!r} is no XBee address", cure))
    return problems
