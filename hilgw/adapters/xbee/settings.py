"""Settings of an XBee, and the checks that take more than one field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from hilgw.adapters._common.framed_line import FramingSettings
from hilgw.adapters._common.routes import ByDestination, ByHeader
from hilgw.adapters.base import Problem, StationSettings
from hilgw.errors import ConfigError
from hilgw.framing import create
from hilgw.settings import setting

FIRST_CHANNEL, LAST_CHANNEL = 0x0B, 0x1A  # CH of IEEE 802.15.4 at 2.4 GHz
WINDOW = 16
ADDRESS = r"[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{16}"
FACTORY_MY = "0000"  # MY of every module out of the box: it names nobody

LAST_ID_OF_DIGIMESH = 0x7FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleChannel:
    """The module's radio channel CH is the Webots channel: 11 to 26 (hex 0B to 1A)."""

    by: Literal["module_channel"] = "module_channel"


Mapping = ModuleChannel | ByDestination | ByHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Where inside the modules packets come from and go to, in frames 11 and 91. As they stand:
    Digi's data endpoints, those of frames 10 and 90."""

    source: int = setting("source endpoint", 0xE8, ge=0, le=0xFF)
    destination: int = setting("destination endpoint", 0xE8, ge=0, le=0xFF)
    cluster: int = setting("cluster", 0x0011, ge=0, le=0xFFFF)
    profile: int = setting("profile", 0xC105, ge=0, le=0xFFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class XBeeSettings:
    """What an XBee needs beside what every station has."""

    firmware: str = setting(
        "what the module's firmware speaks; digimesh stands for the point-to-multipoint firmware "
        "of 868 and 900 MHz modules as well",
        "802.15.4",
        choices=("802.15.4", "digimesh", "zigbee"),
    )
    mapping: Mapping = setting("how a Webots channel maps to the radio", ModuleChannel())
    destination: str = setting(
        "who gets the packets: broadcast, a 64-bit address (16 hex digits) or a 16-bit one",
        "broadcast",
        pattern=rf"broadcast|{ADDRESS}",
        example="0013A20040A1B2C3",
    )
    pan_id: int | None = setting(
        "network (ID), with digimesh up to 7FFF; not set: left as it is",
        None,
        ge=0,
        le=0xFFFF,
        example=0x3332,
    )
    extended_pan_id: int | None = setting(
        "zigbee: network (ID), which has 64 bits there, 0: any; not set: left as it is",
        None,
        ge=0,
        le=0xFFFF_FFFF_FFFF_FFFF,
    )
    api_mode: int = setting(
        "API mode the module works in (AP): 1 or 2; 0: transparent mode, set up in command mode, "
        "a stream that needs `framing`",
        1,
        choices=(0, 1, 2),
    )
    framing: str | FramingSettings = setting(
        "api_mode 0 only: where packets begin and end (docs/framing.md)",
        "cobs-crc16",
        example="cobs-crc16",
    )
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
    endpoints: EndpointSettings | None = setting(
        "digimesh, zigbee: send in frames 11 with these endpoints, and hear only what comes to "
        "them from such ones; sets AO = 1 where it is 0. Not set: frames 10, or 11 to the data "
        "endpoint where AO is not 0",
        None,
    )
    rssi_from_db: bool | None = setting(
        "ask for DB behind each frame 90 or 91, which has no RSSI, and hold the packet until the "
        "answer; it may be another packet's. Not set: with digimesh and zigbee",
        None,
    )
    mock: dict[str, Any] = setting(
        "parameters of the module that stands in with backend mock (`hilgw mock xbee --list`)",
        default_factory=dict,
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
    problems += _check_firmware(settings)
    if settings.api_mode == 0:
        problems += _check_transparent(settings)
    return problems + _check_sources(settings, common)


def _check_sources(settings: XBeeSettings, common: StationSettings) -> list[Problem]:
    """Names that no packet comes from, or many modules' packets."""
    problems: list[Problem] = []
    for address in common.sources:
        path = f"sources.{address}"
        if not re.fullmatch(ADDRESS, address):
            cure = "use 16 hex digits (64-bit), or 1 to 4 (16-bit)"
            problems.append((path, f"{address!r} is no XBee address", cure))
        elif settings.firmware == "802.15.4" and normal_address(address) == FACTORY_MY:
            what = "0000 is the 16-bit address of every factory-fresh module"
            cure = "give that module a MY of its own, or name its 64-bit address"
            problems.append((path, what, cure))
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


def _check_firmware(settings: XBeeSettings) -> list[Problem]:
    """What this firmware does not have."""
    problems: list[Problem] = []
    firmware = settings.firmware
    pan_id, last = settings.pan_id, LAST_ID_OF_DIGIMESH
    if firmware == "zigbee" and pan_id is not None:
        problems.append(("pan_id", "zigbee has IDs of 64 bits", "write it as extended_pan_id"))
    elif firmware == "digimesh" and pan_id is not None and pan_id > last:
        what = f"{pan_id} is out of range; allowed: 0 to {last}"
        problems.append(("pan_id", what, f"digimesh has IDs up to {last:X} in hex"))
    if firmware != "zigbee" and settings.extended_pan_id is not None:
        what = f"{firmware} has no IDs of 64 bits"
        problems.append(("extended_pan_id", what, "write it as pan_id"))
    if firmware == "802.15.4":
        if settings.endpoints is not None:
            cure = "leave it out, or set firmware: digimesh or zigbee"
            problems.append(("endpoints", "802.15.4 has no endpoints", cure))
        return problems
    if settings.my_address is not None:
        given = "has no 16-bit addresses" if firmware == "digimesh" else "gives out MY itself"
        problems.append(("my_address", f"{firmware} {given}", "leave it out"))
    if firmware == "digimesh":
        targets = [("destination", settings.destination)]
        if isinstance(settings.mapping, ByDestination):
            table = settings.mapping.table
            targets += [(f"mapping.table.{key}", address) for key, address in table.items()]
        problems += [
            (path, f"{address} is a 16-bit address, which digimesh has not", "use 16 hex digits")
            for path, address in targets
            if re.fullmatch(r"[0-9A-Fa-f]{1,4}", address) and int(address, 16) != 0xFFFF
        ]
    return problems


def _check_transparent(settings: XBeeSettings) -> list[Problem]:
    """What transparent mode cannot do."""
    problems: list[Problem] = []
    if isinstance(settings.mapping, ByDestination):
        what = "in transparent mode (api_mode 0) a module has one destination, DH and DL"
        problems.append(("mapping.by", what, "use api_mode: 1, or mapping: {by: header}"))
    if settings.endpoints is not None:
        problems.append(("endpoints", "transparent mode has no endpoints", "use api_mode: 1"))
    try:
        create(settings.framing)
    except ConfigError as error:
        problems.append(("framing", error.what, error.fix))
    return problems
