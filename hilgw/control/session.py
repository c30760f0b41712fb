"""Base of the sessions at both ends of a control loop."""

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
        """Begin the session on a new connection."""

    def close(self) -> list[Event]:
        """End the session: Disconnected when a peer was there."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Take bytes from the peer, in any chunks."""

    def next_deadline(self) -> int | None:
        """Return when `expire` must be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """Do what is due at the deadline (calls before it are harmless)."""

    def describe(self, data: bytes, *, received: bool) -> str:
        """Return the bytes in words, for people; never raises."""


@runtime_checkable
class ChecksFrames(Protocol):
    """A session whose peer sends frames with a checksum."""

    def good_frames(self, data: bytes) -> int:
        """Return how many whole frames with a right checksum are in `data`."""
