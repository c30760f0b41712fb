"""Settings of an XBee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hilgw.adapters._common.framed_line import FramingSettings
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
