"""Declarations of a body: its stop in words and bytes, and the load of its line."""

from dataclasses import dataclass

from hilgw.units import NS_PER_S

UNGUARDED = (
    "a power failure",
    "an unplugged cable",
    "Bluetooth that is gone",
    "the end of its container",
    "systemd-oomd",
    "a kill of robot-guard, too",
    "a port rfc2217://",
    "bytes in the buffers of a USB adapter",
)
"""Where the guardian of a gateway cannot stop a robot."""


@dataclass(frozen=True, slots=True)
class StopFrame:
    """The declared stop of one body.

    words: the commands in the words of the data sheet. form: the bytes in hexadecimal; `??` is a
    byte that depends on the robot, `...` any number of them. each_motor: the form comes once for
    each motor. has_watchdog: the robot stops by itself when nothing comes from here. alone: what
    the robot does then, as a sentence without its full stop. emergency: the form of what a thread
    or the guardian writes while hilgw cannot; empty: the same.
    """

    words: str
    form: str
    alone: str
    has_watchdog: bool
    each_motor: bool = False
    emergency: str = ""


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
