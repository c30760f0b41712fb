"""Digi XBee modules as the data sheets describe them; sleep is not modelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.module import Module
from firmware_mocks.xbee.settings import PARAMETERS

SUMMARY = "Digi XBee radio modules: 802.15.4 (S1, S2C, XBee 3), DigiMesh, Zigbee, 900HP"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Module:
    """A module in `air`. Parameters as in PARAMETERS, or AT registers by their two letters.

    It is prepared for a gateway: API mode 1, and its 64-bit address is in use (a module from the
    factory has AP 0 and MY 0). ValueError names the parameter with a wrong value.
    """
    values = dict(parameters)
    kind = str(values.pop("hardware", "xbee3")).lower()
    if kind not in KINDS:
        raise ValueError(f"hardware: {kind!r} is unknown; one of {', '.join(KINDS)}")
    hardware = KINDS[kind]
    prepared: dict[str, Any] = {}
    if not {"api_mode", "AP"} & values.keys():
        prepared["api_mode"] = 1
    if "MY" in hardware.registers and hardware.registers["MY"].access == "rw":
        prepared["my"] = 0xFFFF
    return Module(name, air, hardware, prepared | values, position)
