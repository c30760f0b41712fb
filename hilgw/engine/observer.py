"""What the engine tells whoever watches: the terminal, the report, tests."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from hilgw.medium.packet import Copy, Packet


class State(StrEnum):
    """The states a supervised port goes through."""

    WAITING = "waiting"  # the port is absent: looked for every 100 ms
    OPENING = "opening"
    HANDSHAKE = "handshake"
    UP = "up"
    STALLED = "stalled"  # it takes no bytes, or answers none: about to be reopened
    BACKOFF = "back-off"  # the last try failed, the next follows
    FAILED = "failed"  # not the device the configuration names: stays down
    CLOSED = "closed"


class Observer:
    """Does nothing; override what is wanted. Called in the loop: must be quick."""

    def state(self, station: str, state: State, reason: str) -> None: ...

    def transmitted(self, packet: Packet, listeners: Sequence[str], unheard: str | None) -> None:
        """A packet passed the medium: to these listeners, or to none for this reason."""

    def delivered(self, station: str, copy: Copy) -> None: ...

    def refused(self, station: str, reason: str, text: str) -> None: ...

    def notice(self, source: str, text: str) -> None: ...
