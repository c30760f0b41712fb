"""What a robot that serves WC2EC exchanges on a serial line in one of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.line_load import LineLoad
from hilgw.protocols.wc2ec.codec import encode_value
from hilgw.units import ms_to_ns

if TYPE_CHECKING:
    from hilgw.bodies.wc2ec.settings import Wc2ecBodySettings
    from hilgw.framing.base import Framing

LOAD_FIX = "raise baudRate, or step_ms where the robot is slower"


def line_load(settings: Wc2ecBodySettings, count: int, framing: Framing) -> LineLoad:
    """Of so many values in one direction; those of the other direction run beside them."""
    size = len(framing.encode(encode_value(0, 0, 0.0)))
    bits, period_ns = max(10, settings.byteSize), ms_to_ns(settings.step_ms)
    return LineLoad(size * count, settings.baudRate, bits, period_ns)
