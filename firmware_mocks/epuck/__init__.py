"""The e-puck with the firmware sercom, as Webots' own remote control uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks._parameters import check_names
from firmware_mocks.air import Air
from firmware_mocks.epuck.robot import DEFAULTS, PARAMETERS, Robot

SUMMARY = "an e-puck with the firmware sercom, in a walled arena"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Robot:
    """A robot. It ignores the position in the air: the parameter of that name is its pose in its
    arena. ValueError names the parameter with a wrong value."""
    check_names(parameters, PARAMETERS)
    return Robot(name, {**DEFAULTS, **parameters})
