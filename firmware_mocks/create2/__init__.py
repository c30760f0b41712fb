"""The iRobot Create 2, from its Open Interface specification (based on the Roomba 600)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks._parameters import check_names
from firmware_mocks.air import Air
from firmware_mocks.create2.robot import DEFAULTS, PARAMETERS, Robot

SUMMARY = "an iRobot Create 2 with its Open Interface, in a walled room"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Robot:
    """A robot. It ignores the position in the air: the parameter of that name is its pose in its
    room. ValueError names the parameter with a wrong value."""
    check_names(parameters, PARAMETERS)
    return Robot(name, {**DEFAULTS, **parameters})
