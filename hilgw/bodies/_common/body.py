"""The kind of body of a robot on a serial line."""

from __future__ import annotations

from typing import ClassVar

BITS_PER_BYTE = 10


class SerialRobot:
    """What holds for all these kinds: a robot with real motors, whose bytes need no framing."""

    simulated: ClassVar[bool] = False
    retry_s: ClassVar[float] = 1.0
    framing: ClassVar[str] = ""
