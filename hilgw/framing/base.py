"""The interface of a framing: packets to bytes of a stream and back, with no clock and no port.

A framing is sender and receiver at once; the two directions share only the settings. `now` is
integer nanoseconds of a monotonic clock; only the timed framings use it.
"""

from typing import Any, Protocol

from hilgw.errors import ConfigError, FrameError
from hilgw.reasons import DroppedReason


class FrameDropped(DroppedReason):
    """Reasons of the framings. Each counts frames, except garbage_bytes."""

    BAD_CRC = "bad_crc", "wrong CRC"
    BAD_CODE = "bad_code", "not a COBS encoding"
    BAD_ESCAPE = "bad_escape", "wrong escape"
    TOO_LONG = "too_long", "longer than max_payload"
    TOO_SHORT = "too_short", "too short"
    TRUNCATED = "truncated", "incomplete"
    ABORTED = "aborted", "aborted by its sender"
    GARBAGE = "garbage_bytes", "bytes outside a frame"


LONGEST_PAYLOAD = 131_072  # room for a WC2EC message, whose longest packet is 65536 bytes


# What one call of feed() should get in an event loop: at worst it takes some milliseconds.
TURN_BYTES = 1024


class Framing(Protocol):
    """A framing of one byte stream.

    max_payload: bytes. max_encoded: length of the longest frame on the wire, and the bound of the
    receive buffer. pause_ns: silence that the sender leaves after each frame. dropped: reason ->
    count since construction.
    """

    name: str
    max_payload: int
    max_encoded: int
    pause_ns: int
    dropped: dict[str, int]

    def encode(self, payload: bytes) -> bytes:
        """Return the frame for the wire. Raises FrameError for a payload that does not fit."""

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        """Return the payloads that received bytes complete, in order; never raises."""

    def next_deadline(self) -> int | None:
        """Return when to call `expire`, or None. In the past: work is left, call it soon."""

    def expire(self, now: int) -> list[bytes]:
        """Return the payloads that silence completes. Calls before the deadline are harmless."""

    @property
    def held(self) -> int:
        """Buffered bytes of an incomplete frame; never more than max_encoded."""

    def reset(self) -> None:
        """Drop and count the incomplete frame of an interrupted stream; counters stay."""


class FramingClass(Protocol):
    """The class that the module of a framing exports as `FRAMING`."""

    Settings: type[Any]

    def __call__(self, settings: Any) -> Framing: ...

    def parse(self, variant: str, argument: str) -> Any:
        """Return the settings for KIND[-variant][:argument].

        Raises:
            ConfigError: the name is invalid.
        """


def require_size(
    framing: Framing, payload: bytes, least: int = 0, change: str = "raise max_payload"
) -> None:
    """Raise FrameError for a payload that is too long, or empty where `least` is 1.

    Args:
        change: of the settings, so that the framing carries a longer one.
    """
    if len(payload) > framing.max_payload:
        raise FrameError(
            f"a packet of {len(payload)} bytes is too long for {framing.name} framing",
            fix=f"send at most {framing.max_payload} bytes, or {change}",
        )
    if len(payload) < least:
        raise FrameError(f"{framing.name} framing cannot carry an empty packet")


def refuse_argument(name: str, argument: str) -> None:
    """Raise ConfigError for a short name `name:argument` of a framing without arguments."""
    if argument:
        raise ConfigError(f"framing '{name}' takes no ':{argument}'", fix=f"write '{name}'")
