"""Checks of an XBee's settings that take more than one field."""

from __future__ import annotations

import re

from hilgw.adapters.base import StationSettings
from hilgw.adapters.xbee.settings import (
    ADDRESS,
    FACTORY_MY,
    FIRST_CHANNEL,
    LAST_CHANNEL,
    ByDestination,
    ModuleChannel,
    Problem,
    XBeeSettings,
    normal_address,
)
from hilgw.errors import ConfigError
from hilgw.framing import create

LAST_ID_OF_DIGIMESH = 0x7FFF


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
