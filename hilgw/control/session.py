"""What the sessions at both ends of a control loop have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hilgw.control.events import Event
    from hilgw.devices.kinds import Devices


class LinkSession(Protocol):
    """The pure protocol of one peer: bytes and times in, events out.

    A session never opens a connection, never reads a clock and never retries. `now` is integer
    nanoseconds. `devices` are those of the control loop that the session serves; `counts` are its
    counters by reason.
    """

    @property
    def devices(self) -> Devices: ...

    @property
    def counts(self) -> dict[str, int]: ...

    def open(self, now: int) -> list[Event]:
        """The connection is up."""

    def close(self) -> list[Event]:
        """The connection is gone: Disconnected when a peer was there."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Bytes from the peer, in any chunks."""

    def next_deadline(self) -> int | None:
        """When `expire` must be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def describe(self, data: bytes, *, received: bool) -> str:
        """Bytes in words, for people; never raises."""


@runtime_checkable
class ChecksFrames(Protocol):
    """A session whose peer sends frames with a checksum."""

    def good_frames(self, data: bytes) -> int:
        """Return how many whole frames with a right checksum are in `data`."""
