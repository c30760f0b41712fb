"""Digi XBee modules as the data sheets describe them; sleep is not modelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firmware_mocks.xbee.hardware import KINDS, Hardware
from firmware_mocks.xbee.settings import PARAMETERS, Settings, assign

if TYPE_CHECKING:
    from firmware_mocks.air import Air
    from firmware_mocks.xbee.module import Module

SUMMARY = "Digi XBee radio modules: 802.15.4 (S1, S2C, XBee 3), DigiMesh, Zigbee, 900HP"

__all__ = ["PARAMETERS", "SUMMARY", "check", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Module:
    """Create a module in `air`; ValueError names the parameter with a wrong value.

    Parameters are as in PARAMETERS, or AT registers by their two letters. It is prepared for a
    gateway: API mode 1, and its 64-bit address is in use (a module from the factory has AP 0
    and MY 0).
    """
    from firmware_mocks.xbee.module import Module

    hardware, values = _prepared(parameters)
    return Module(name, air, hardware, values, position)


def check(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters that `create` refuses, with the same text."""
    hardware, values = _prepared(parameters)
    settings = Settings("check", hardware, (0.0, 0.0, 0.0))
    for key, value in values.items():
        assign(settings, key, value)


def _prepared(parameters: Mapping[str, Any]) -> tuple[Hardware, dict[str, Any]]:
    # The hardware, and the values of its parameters in the order in which they are set.
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
    return hardware, prepared | values
