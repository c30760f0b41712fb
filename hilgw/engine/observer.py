"""What the engine tells whoever watches: the terminal, the report, tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hilgw.engine.latency import Latency
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


@dataclass(frozen=True, slots=True)
class ControlLoopStatus:
    """What a loop does: last sensor values and motor commands (setting -> value) by device name,
    rates since the last status, latency from sensor in to motor out of the whole run."""

    sensors: Mapping[str, float]
    motors: Mapping[str, Mapping[str, float]]
    values_per_s: float
    commands_per_s: float
    latency: Latency


Missed = Callable[[], Mapping[str, str]]


def missed_by_none() -> Mapping[str, str]:
    """No listener missed it."""
    return {}


class Observer:
    """Does nothing; override what is wanted. Called in the loop: must be quick."""

    def state(self, station: str, state: State, reason: str) -> None: ...

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        unheard: str | None,
        missed: Missed = missed_by_none,
    ) -> None:
        """A packet passed the medium: to these listeners, or to none for this reason.

        missed: may be called before this returns; who else is on the channel, and why they did
        not get it.
        """

    def delivered(self, station: str, copy: Copy) -> None: ...

    def refused(self, station: str, reason: str, text: str) -> None: ...

    def notice(self, source: str, text: str) -> None: ...

    def stopped(self, robot: str, reason: str, text: str) -> None:
        """The motors of a robot were stopped, for this reason (a word) and in these words."""

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        """Once a second, of each control loop."""
