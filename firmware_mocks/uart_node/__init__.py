"""A microcontroller on a serial line: it echoes, answers, floods, stalls, reboots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.uart_node.node import Node
from firmware_mocks.uart_node.settings import PARAMETERS

SUMMARY = "a microcontroller on a serial line: echoes, answers, floods, stalls, reboots"

__all__ = ["PARAMETERS", "SUMMARY", "create"]


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Node:
    """A node on a wire: it takes the seed of the air, and ignores the position.

    ValueError names the parameter with a wrong value.
    """
    return Node(name, {"seed": air.seed, **parameters})
