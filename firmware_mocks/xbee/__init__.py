"""Digi XBee modules: 802.15.4 (S1, XBee 3), DigiMesh, Zigbee, 900HP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.module import Module
from firmware_mocks.xbee.parameters import PARAMETERS

SUMMARY = "Digi XBee radio modules: 802.15.4 (S1, XBee 3), DigiMesh, Zigbee, 900HP"

DEFAULTS: dict[str, Any] = {"api_mode": 1}

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Module:
    """A module in `air`. Parameters as in PARAMETERS, or AT registers by their two letters.

    It comes as if prepared for a gateway: API mode 1, going by its 64-bit address (a factory-
    fresh module has AP 0 and MY 0). ValueError says what is wrong with a parameter.
    """
    values = {**DEFAULTS, **parameters}
    kind = str(values.pop("hardware", "xbee3")).lower()
    if kind not in KINDS:
        raise ValueError(f"hardware: {kind!r} is unknown; one of {', '.join(KINDS)}")
    hardware = KINDS[kind]
    if "MY" in hardware.registers and hardware.registers["MY"].access == "rw":
        values.setdefault("my", 0xFFFF)
    return Module(name, air, hardware, values, position)
