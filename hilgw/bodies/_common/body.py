"""The kind of body of a robot on a serial line."""

from __future__ import annotations

from typing import Protocol

from hilgw.bodies.base import Body

BITS_PER_BYTE = 10


class SerialRobot(Body, Protocol):
    """What holds for all these kinds: a robot with real motors, whose bytes need no framing."""
