"""A machine with three axes that reads G-code, as the firmware Grbl 1.1 documents it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks._parameters import check_names
from firmware_mocks.air import Air
from firmware_mocks.gcode_machine.machine import DEFAULTS, PARAMETERS, Machine

SUMMARY = "a machine with three axes that reads G-code (Grbl 1.1)"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Machine:
    """A machine; its place in the air means nothing. ValueError names the parameter with a wrong
    value."""
    check_names(parameters, PARAMETERS)
    return Machine(name, {**DEFAULTS, **parameters})
