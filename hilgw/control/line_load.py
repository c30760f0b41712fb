"""Load of a serial line by what a body exchanges in one period."""

from dataclasses import dataclass

from hilgw.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class LineLoad:
    """Bytes that a body exchanges in one period when everything is asked for.

    needed: bytes. idle_ns: time of the period in which the line is silent, between a request and
    its answer. each_device: `needed` is for one sensor, and for one motor the other way; how many
    there are is not known.
    """

    needed: int
    baud_rate: int
    bits_per_byte: int
    period_ns: int
    idle_ns: int = 0
    each_device: bool = False

    @property
    def possible(self) -> int:
        """Whole bytes that the line carries in the period."""
        free_ns = max(0, self.period_ns - self.idle_ns)
        return free_ns * self.baud_rate // (self.bits_per_byte * NS_PER_S)

    @property
    def overload(self) -> str:
        """Problem where the line does not carry these bytes in the period; empty: it does."""
        if self.needed <= self.possible:
            return ""
        return (
            f"each period of {self.period_ns / 1e6:g} ms needs {self.needed} bytes, and the line "
            f"carries {self.possible} at {self.baud_rate} bit/s"
        )
