"""A USB IR Toy v2, and a remote control, a lamp or a jammer beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.ir_toy.settings import PARAMETERS
from firmware_mocks.ir_toy.toy import Toy

SUMMARY = "a USB IR Toy, with a remote control, a lamp that answers or a jammer beside it"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Toy:
    """A toy in `air`. ValueError names the parameter with a wrong value."""
    return Toy(name, air, parameters, position)
