"""REYAX RYLR998 and RYLR498 LoRa modules, from their AT command guide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.rylr998.module import Module
from firmware_mocks.rylr998.settings import PARAMETERS

SUMMARY = "REYAX RYLR998 LoRa modules: AT commands, addresses, air time"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Module:
    """A module in `air`, with factory settings except for the parameters.

    ValueError names the parameter with a wrong value.
    """
    return Module(name, air, parameters, position)
