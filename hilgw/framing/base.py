"""What a framing is: packets to bytes of a stream and back, with no clock and no port.

A framing is sender and receiver at once; the two directions share nothing but the settings.
`now` is integer nanoseconds of a monotonic clock and only the timed framings look at it.
"""

from __future__ import annotations

from typing import Any, Protocol

from hilgw.errors import ConfigError

# Reasons in `dropped`. Each counts frames, except GARBAGE, which counts bytes outside any frame.
BAD_CRC = "bad_crc"
BAD_CODE = "bad_code"  # not a COBS encoding
BAD_ESCAPE = "bad_escape"
TOO_LONG = "too_long"
TOO_SHORT = "too_short"  # no room for the CRC
TRUNCATED = "truncated"
ABORTED = "aborted"  # the sender gave the frame up (HDLC)
GARBAGE = "garbage_bytes"

LONGEST_PAYLOAD = 131_072  # room for a WC2EC message, whose longest packet is 65536 bytes


class Framing(Protocol):
    """One framing of one byte stream.

    max_payload: bytes. max_encoded: length of the longest frame on the wire, and the bound of the
    receive buffer. pause_ns: silence the sender must leave after each frame. dropped: reason ->
    count since construction.
    """

    name: str
    max_payload: int
    max_encoded: int
    pause_ns: int
    dropped: dict[str, int]

    def encode(self, payload: bytes) -> bytes:
        """The frame for the wire; FrameError for a payload this framing cannot carry."""

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        """Bytes received, cut anywhere; the payloads they complete, in order. Never raises."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[bytes]:
        """Time has passed: payloads it completes. Calls before the deadline are harmless."""

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame waiting for more; never above max_encoded."""

    def reset(self) -> None:
        """The stream was interrupted: forget the unfinished frame (counted); counters stay."""


class FramingClass(Protocol):
    """What a framing's module exports as `FRAMING`."""

    Settings: type[Any]

    def __call__(self, settings: Any) -> Framing: ...

    def parse(self, variant: str, argument: str) -> Any:
        """Settings for the short name KIND[-variant][:argument]; ConfigError if it has none."""


def refuse_argument(name: str, argument: str) -> None:
    """ConfigError for the short name `name:argument` where the framing takes none."""
    if argument:
        raise ConfigError(f"framing '{name}' takes no ':{argument}'", fix=f"write '{name}'")
