"""Which AT registers a conversation reads, and which values the settings ask for.

Source: Digi's 802.15.4, DigiMesh and Zigbee user guides, "AT commands".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hilgw.adapters.base import StationSettings
from hilgw.adapters.xbee.settings import ModuleChannel, XBeeSettings, normal_address


@dataclass(frozen=True, slots=True)
class Value:
    """A register's value and its width in bytes; `any_set`: every value but 0 will do."""

    value: int
    width: int
    any_set: bool = False

    def fits(self, actual: int) -> bool:
        return actual == self.value or (self.any_set and actual != 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """`read`, in this order; `optional`: not every module has them; `wanted`: what to set."""

    read: list[str]
    optional: set[str] = field(default_factory=set)
    wanted: dict[str, Value] = field(default_factory=dict)


def wanted_registers(settings: XBeeSettings, common: StationSettings) -> Wanted:
    found = _of_firmware(settings, common)
    wanted = found.wanted
    if settings.pan_id is not None:
        wanted["ID"] = Value(settings.pan_id, 2)
    if settings.extended_pan_id is not None:
        wanted["ID"] = Value(settings.extended_pan_id, 8)
    if settings.my_address is not None:
        wanted["MY"] = Value(settings.my_address, 2)
    if settings.endpoints is not None:
        wanted["AO"] = Value(1, 1, any_set=True)
    if settings.api_mode == 0:
        high, low = _target(settings.destination)
        wanted["DH"], wanted["DL"] = Value(high, 4), Value(low, 4)
        found.read.extend(("DH", "DL"))
    if common.rtscts:
        wanted["D7"] = wanted["D6"] = Value(1, 1)
        found.read.extend(("D7", "D6"))
    return found


def _of_firmware(settings: XBeeSettings, common: StationSettings) -> Wanted:
    explicit = ["AO"] if settings.api_mode else []
    if settings.firmware == "zigbee":  # CH is the network's and read once it has been joined
        return Wanted(["ID", *explicit])
    wanted: dict[str, Value] = {}
    if isinstance(settings.mapping, ModuleChannel):
        wanted["CH"] = Value(common.channel, 1)
    if settings.firmware == "digimesh":  # 900 MHz parts hop and have no CH
        return Wanted(["CH", "ID", *explicit], {"CH", "AO"}, wanted)
    return Wanted(["MY", "CH", "ID"], wanted=wanted)


def _target(destination: str) -> tuple[int, int]:
    """DH and DL for this destination."""
    address = normal_address(destination)
    return (
        (int(address[:8], 16), int(address[8:], 16))
        if len(address) == 16
        else (
            0,
            int(address, 16),
        )
    )
