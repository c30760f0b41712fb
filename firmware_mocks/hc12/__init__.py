"""HC-12 radio modules, from the user manuals V2.3 and V2.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.hc12.module import Module
from firmware_mocks.hc12.settings import PARAMETERS

SUMMARY = "HC-12 radio modules, 433 MHz: SET pin, AT commands, FU1 to FU4, air rates"

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
