"""Settings of an XBee, and the checks that take more than one field."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hilgw.adapters._common.framing_settings import FramingSettings
from hilgw.adapters.declaration import (
    ByDestination,
    ByHeader,
    Framed,
    HasMapping,
    Problem,
    StationSettings,
    unsupported,
)
from hilgw.errors import ConfigError
from hilgw.framing import create
from hilgw.settings import setting

FIRST_CHANNEL, LAST_CHANNEL = 0x0B, 0x1A  # CH of IEEE 802.15.4 at 2.4 GHz
DEFAULT_FRAMING = "cobs-crc16"
WINDOW = 16
# BD 0 to A; S1 ends at 115200. A larger value of BD is the rate itself: from 80 (hex; S1) to EC400
# (XBee 3), Digi's manuals.
RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)
SLOWEST, FASTEST = 0x80, 0xEC400
ADDRESS = r"[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{16}"
FACTORY_MY = "0000"  # MY of each factory-fresh module: it identifies none

LAST_ID_OF_DIGIMESH = 0x7FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleChannel:
    """The module's radio channel CH is the Webots channel: 11 to 26 (hex 0B to 1A)."""

    by: Literal["module_channel"] = "module_channel"


Mapping = ModuleChannel | ByDestination | ByHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Source and destination inside the modules, in frames 11 and 91.

    Defaults: Digi's data endpoints, as in frames 10 and 90.
    """

    source: int = setting("source endpoint", 0xE8, ge=0, le=0xFF)
    destination: int = setting("destination endpoint", 0xE8, ge=0, le=0xFF)
    cluster: int = setting("cluster", 0x0011, ge=0, le=0xFFFF)
    profile: int = setting("profile", 0xC105, ge=0, le=0xFFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class XBeeSettings(Framed, HasMapping):
    """Settings of an XBee, besides those of every adapter."""

    firmware: str = setting(
        "protocol of the module's firmware; digimesh includes the point-to-multipoint firmware of "
        "868 and 900 MHz modules",
        "802.15.4",
        choices=("802.15.4", "digimesh", "zigbee"),
    )
    mapping: Mapping = setting(
        "how a Webots channel maps to the radio; destination and header do not change CH. An "
        "address is 16 hex digits (64-bit), 1 to 4 (16-bit), or broadcast",
        ModuleChannel(),
    )
    destination: str = setting(
        "where packets are sent: broadcast, a 64-bit address (16 hex digits) or a 16-bit one",
        "broadcast",
        pattern=rf"broadcast|{ADDRESS}",
        example="0013A20040A1B2C3",
    )
    pan_id: int | None = setting(
        "network (ID), with digimesh up to 7FFF; not set: unchanged",
        None,
        ge=0,
        le=0xFFFF,
        example=0x3332,
    )
    extended_pan_id: int | None = setting(
        "zigbee: network (ID), which has 64 bits there, 0: any; not set: unchanged",
        None,
        ge=0,
        le=0xFFFF_FFFF_FFFF_FFFF,
    )
    api_mode: int = setting(
        "API mode of the module (AP): 1 or 2; 0: transparent mode, a byte stream that needs "
        "`framing`; the module is then configured in command mode",
        1,
        choices=(0, 1, 2),
    )
    framing: str | FramingSettings | None = setting(
        "api_mode 0 only: how packets are separated (docs/framing.md); not set: cobs-crc16",
        None,
        example="cobs-crc16",
    )
    my_address: int | None = setting(
        "16-bit source address (MY), 0xFFFF: use the 64-bit one; not set: unchanged",
        None,
        ge=0,
        le=0xFFFF,
    )
    module: str = setting(
        "required serial number of the module (SH and SL, 16 hex digits); empty: any",
        "",
        pattern=r"([0-9A-Fa-f]{16})?",
        example="0013A20040A1B2C3",
    )
    window: int = setting("frames sent ahead of their transmit status", 4, ge=1, le=WINDOW)
    status_timeout_s: float = setting("time limit of a transmit status", 4.0, gt=0, le=60, unit="s")
    endpoints: EndpointSettings | None = setting(
        "digimesh, zigbee: send in frames 11 with these endpoints, and receive only packets "
        "between them; sets AO = 1 where it is 0. Not set: frames 10, or 11 to the data endpoint "
        "where AO is not 0",
        None,
    )
    rssi_from_db: bool | None = setting(
        "read DB after each frame 90 or 91, which has no RSSI, and hold the packet until the "
        "answer; the RSSI may be another packet's. Not set: true with digimesh and zigbee",
        None,
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock module (`hilgw mock xbee --list`)",
        default_factory=dict,
    )

    def __post_init__(self) -> None:
        if self.is_framed and self.framing is None:
            object.__setattr__(self, "framing", DEFAULT_FRAMING)

    @property
    def is_framed(self) -> bool:
        """True in transparent mode: API frames are the module's own."""
        return not self.api_mode


def normal_address(text: str) -> str:
    """Return an address as in frames: 4 or 16 upper-case hex digits; broadcast is FFFF."""
    if text == "broadcast":
        return "FFFF"
    return text.upper() if len(text) == 16 else text.upper().zfill(4)


def check(settings: XBeeSettings, common: StationSettings) -> Iterator[Problem]:
    """Yield the problems between fields: path below the adapter, message, fix."""
    mapping = settings.mapping
    if isinstance(mapping, ModuleChannel) and not FIRST_CHANNEL <= common.channel <= LAST_CHANNEL:
        yield (
            "channel",
            f"{common.channel} is not a valid XBee channel (mapping module_channel: CH)",
            "use 11 to 26 (CH 0B to 1A), or mapping: {by: header}",
        )
    if isinstance(mapping, ByDestination):
        yield from _check_table(mapping)
    if common.baudRate not in RATES and not SLOWEST <= common.baudRate <= FASTEST:
        more = f", or any from {SLOWEST} to {FASTEST}, as far as the hardware has them"
        yield unsupported(common.baudRate, RATES, more)
    yield from _check_firmware(settings)
    if settings.api_mode == 0:
        yield from _check_transparent(settings)
    elif settings.framing is not None:
        problem = f"API frames (api_mode: {settings.api_mode}) are packets already"
        yield "framing", problem, "remove it, or set api_mode: 0 for transparent mode"
    yield from _check_sources(settings, common)


def _check_sources(settings: XBeeSettings, common: StationSettings) -> Iterator[Problem]:
    for address in common.sources:
        path = f"sources.{address}"
        if not re.fullmatch(ADDRESS, address):
            fix = "use 16 hex digits (64-bit), or 1 to 4 (16-bit)"
            yield path, f"{address!r} is not a valid XBee address", fix
        elif settings.firmware == "802.15.4" and normal_address(address) == FACTORY_MY:
            problem = "0000 is the 16-bit address of each factory-fresh module"
            yield path, problem, "set that module's MY to a unique value, or use its 64-bit address"


def _check_table(mapping: ByDestination) -> Iterator[Problem]:
    if not mapping.table:
        yield (
            "mapping.table",
            "has no destination",
            'add one, such as {12: "0013A20040A1B2C3"}',
        )
    for channel, address in mapping.table.items():
        path = f"mapping.table.{channel}"
        if channel < 0:
            yield path, f"{channel} is not a valid channel", "use 0 or more; -1 is always broadcast"
        if not re.fullmatch(rf"broadcast|{ADDRESS}", address):
            fix = "use 16 hex digits (64-bit), 1 to 4 (16-bit), or broadcast"
            yield path, f"{address!r} is not a valid XBee address", fix


def _check_firmware(settings: XBeeSettings) -> Iterator[Problem]:
    firmware = settings.firmware
    pan_id, last = settings.pan_id, LAST_ID_OF_DIGIMESH
    if firmware == "zigbee" and pan_id is not None:
        yield "pan_id", "zigbee has 64-bit IDs", "use extended_pan_id instead"
    elif firmware == "digimesh" and pan_id is not None and pan_id > last:
        problem = f"{pan_id} is out of range; allowed: 0 to {last}"
        yield "pan_id", problem, f"use an ID up to {last:X} (hex) with digimesh"
    if firmware != "zigbee" and settings.extended_pan_id is not None:
        yield "extended_pan_id", f"{firmware} has no 64-bit IDs", "use pan_id instead"
    if firmware == "802.15.4":
        if settings.endpoints is not None:
            fix = "remove it, or set firmware: digimesh or zigbee"
            yield "endpoints", "802.15.4 has no endpoints", fix
        return
    if settings.my_address is not None:
        why = "has no 16-bit addresses" if firmware == "digimesh" else "assigns MY itself"
        yield "my_address", f"{firmware} {why}", "remove it"
    if firmware == "digimesh":
        targets = [("destination", settings.destination)]
        if isinstance(settings.mapping, ByDestination):
            table = settings.mapping.table
            targets += [(f"mapping.table.{key}", address) for key, address in table.items()]
        yield from [
            (path, f"digimesh has no 16-bit addresses such as {address}", "use 16 hex digits")
            for path, address in targets
            if re.fullmatch(r"[0-9A-Fa-f]{1,4}", address) and int(address, 16) != 0xFFFF
        ]


def _check_transparent(settings: XBeeSettings) -> Iterator[Problem]:
    if isinstance(settings.mapping, ByDestination):
        problem = "in transparent mode (api_mode: 0) a module has only one destination, DH and DL"
        yield "mapping.by", problem, "use api_mode: 1, or mapping: {by: header}"
    if settings.endpoints is not None:
        yield "endpoints", "transparent mode has no endpoints", "use api_mode: 1"
    try:
        create(settings.framing or DEFAULT_FRAMING)
    except ConfigError as error:
        yield "framing", error.what, error.fix
