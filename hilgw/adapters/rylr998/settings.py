"""Settings of a RYLR998, and the checks that take more than one field.

Source: REYAX RYLR998/RYLR498 "LoRa AT command guide".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hilgw.adapters.declaration import (
    ByDestination,
    ByHeader,
    HasMapping,
    Problem,
    StationSettings,
    check_mapping,
    unsupported,
)
from hilgw.settings import setting

NETWORKS = (*range(3, 16), 18)
PUBLIC_NETWORK = 18  # the only one whose preamble may be other than 12
PRIVATE_PREAMBLE = 12
BANDWIDTH_CODES = {125: 7, 250: 8, 500: 9}  # kHz
LARGEST_SPREADING = {125: 9, 250: 10, 500: 11}
RATES = (300, 1200, 4800, 9600, 19200, 28800, 38400, 57600, 115200)
LONGEST = 240  # bytes of one AT+SEND
TO_ALL = "0"
LAST_ADDRESS = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ByNetwork:
    """The module's NETWORKID is the Webots channel: 3 to 15, or 18."""

    by: Literal["network"] = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Modulation:
    """AT+PARAMETER: sets the time on air of a packet, and its range."""

    spreading_factor: int = setting(
        "one more doubles the air time and adds 2.5 dB; 5 and 6 need newer firmware",
        9,
        ge=5,
        le=11,
    )
    bandwidth_khz: int = setting("bandwidth", 125, choices=tuple(BANDWIDTH_CODES), unit="kHz")
    coding_rate: str = setting(
        "error correction", "4/5", choices=("4/5", "4/6", "4/7", "4/8"), example="4/5"
    )
    preamble: int = setting("symbols before a packet; 12 unless the network is 18", 12, ge=4, le=24)

    @property
    def text(self) -> str:
        """Text in the module's spelling."""
        coding = int(self.coding_rate[-1]) - 4
        bandwidth = BANDWIDTH_CODES[self.bandwidth_khz]
        return f"{self.spreading_factor},{bandwidth},{coding},{self.preamble}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RylrSettings(HasMapping):
    """Settings of a RYLR998, besides those of every adapter."""

    mapping: ByNetwork | ByDestination | ByHeader = setting(
        "how a Webots channel maps to the radio", ByNetwork()
    )
    destination: str = setting(
        "address the packets are sent to, 0 to 65535; 0: all modules",
        TO_ALL,
        pattern="[0-9]{1,5}",
    )
    address: int | None = setting(
        "the module's own address (ADDRESS); not set: unchanged", None, ge=0, le=LAST_ADDRESS
    )
    network_id: int | None = setting(
        "network (NETWORKID): 3 to 15, or 18; not set: unchanged", None, choices=NETWORKS
    )
    frequency_hz: int | None = setting(
        "centre frequency (BAND); not set: unchanged",
        None,
        ge=820_000_000,
        le=960_000_000,
        unit="Hz",
        example=868_500_000,
    )
    modulation: Modulation | None = setting(
        "the radio's PARAMETER, the same at both ends; not set: unchanged", None
    )
    power_dbm: int | None = setting(
        "transmit power (CRFOP); not set: unchanged", None, ge=0, le=22, unit="dBm"
    )
    wake: bool = setting(
        "wake a module that sleeps (set MODE to 0); false: report an error instead", True
    )
    module: str = setting(
        "required unique id of the module (AT+UID?, 24 hex digits); empty: any",
        "",
        pattern=r"([0-9A-Fa-f]{24})?",
    )
    encoding: str = setting(
        "raw: a packet's bytes unchanged; hex: two digits per byte, at both ends, for firmware "
        "that does not accept every byte",
        "raw",
        choices=("raw", "hex"),
    )
    reply_timeout_s: float = setting(
        "time limit of the module's answer, after the time on air", 2.0, gt=0, le=60, unit="s"
    )


def network_of(settings: RylrSettings, common: StationSettings) -> int | None:
    """Return the NETWORKID the settings require; None: any."""
    return common.channel if isinstance(settings.mapping, ByNetwork) else settings.network_id


def normal_address(text: str) -> str:
    return str(int(text))


def is_address(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text, re.ASCII) is not None and int(text) <= LAST_ADDRESS


def check(settings: RylrSettings, common: StationSettings) -> Iterator[Problem]:
    """Yield the problems between fields: path below the adapter, message, fix."""
    yield from _check_mapping(settings, common)
    if not is_address(settings.destination):
        yield (
            "destination",
            f"{settings.destination} is not a valid address",
            "use 0 to 65535; 0 is all modules",
        )
    if common.baudRate not in RATES:
        yield unsupported(common.baudRate, RATES)
    if (common.parity, common.stop_bits) != ("none", 1):
        yield "parity", "the module's line is 8N1", "remove parity and stop_bits"
    if "0" in common.sources:
        problem = "0 is the address of every factory-fresh module"
        yield "sources.0", problem, "set that module's ADDRESS to a unique value"
    if settings.modulation is not None:
        yield from _check_modulation(settings.modulation, network_of(settings, common))


def _check_mapping(settings: RylrSettings, common: StationSettings) -> Iterator[Problem]:
    mapping = settings.mapping
    if isinstance(mapping, ByNetwork):
        if common.channel not in NETWORKS:
            problem = f"{common.channel} is not a valid NETWORKID (mapping network)"
            yield "channel", problem, "use 3 to 15 or 18, or mapping: {by: header}"
        elif settings.network_id not in (None, common.channel):
            problem = f"{settings.network_id} contradicts channel {common.channel}"
            fix = "remove network_id: with mapping network, `channel` sets it"
            yield "network_id", problem, fix
    yield from check_mapping(mapping, common.channel)
    for channel, address in mapping.table.items() if isinstance(mapping, ByDestination) else ():
        if not is_address(address):
            path = f"mapping.table.{channel}"
            yield path, f"{address!r} is not a valid address", "use 0 to 65535; 0 is all modules"


def _check_modulation(modulation: Modulation, network: int | None) -> Iterator[Problem]:
    largest = LARGEST_SPREADING[modulation.bandwidth_khz]
    if modulation.spreading_factor > largest:
        problem = f"{modulation.spreading_factor} is too large for {modulation.bandwidth_khz} kHz"
        fix = f"use {largest} or less, or a wider bandwidth_khz"
        yield "modulation.spreading_factor", problem, fix
    if modulation.preamble != PRIVATE_PREAMBLE and network not in (None, PUBLIC_NETWORK):
        problem = f"network {network} requires preamble 12 (+ERR=18)"
        yield "modulation.preamble", problem, "use 12, or network 18"
