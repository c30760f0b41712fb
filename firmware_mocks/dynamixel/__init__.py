"""Dynamixel X and P servos on a bus, from the maker's e-manual (protocol 2.0, XL430-W250)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks._parameters import check_names
from firmware_mocks.air import Air
from firmware_mocks.dynamixel.bus import DEFAULTS, PARAMETERS, Bus

SUMMARY = "Dynamixel X and P servos on one bus: protocol 2.0, position and velocity control"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Bus:
    """A bus with servos; it has no position. ValueError names the parameter with a wrong value."""
    check_names(parameters, PARAMETERS)
    return Bus(name, {**DEFAULTS, **parameters})
