"""Bytes that stop the motors of a body, for pages and for people."""

from dataclasses import dataclass

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
