"""Whether a serial line carries what a body exchanges in one period."""

from __future__ import annotations

from hilgw.units import NS_PER_S


def bytes_possible(baud_rate: int, bits_per_byte: int, period_ns: int, idle_ns: int = 0) -> int:
    """Whole bytes that a line carries in a period. idle_ns: time of the period in which the line
    is silent, between a request and its answer."""
    return max(0, period_ns - idle_ns) * baud_rate // (bits_per_byte * NS_PER_S)


def overload(
    needed: int, baud_rate: int, bits_per_byte: int, period_ns: int, idle_ns: int = 0
) -> str:
    """What is wrong when the line does not carry these bytes in the period; empty: it does."""
    possible = bytes_possible(baud_rate, bits_per_byte, period_ns, idle_ns)
    if needed <= possible:
        return ""
    return (
        f"each period of {period_ns / 1e6:g} ms needs {needed} bytes, and the line carries "
        f"{possible} at {baud_rate} bit/s"
    )
