"""What passes through a proxy and concerns the named devices."""

from __future__ import annotations

from typing import NamedTuple

from hilgw.medium.packet import Copy


class Sent(NamedTuple):
    """An Emitter of the robot sent a packet; range in metres, -1 for infinite."""

    device: str
    channel: int
    range: float
    data: bytes


class Enabled(NamedTuple):
    """The controller set the sampling period of a Receiver; 0 disables it."""

    device: str
    period_ms: int


class Tuned(NamedTuple):
    """A Receiver listens to this channel, -1 to all."""

    device: str
    channel: int


class Delivered(NamedTuple):
    """These copies went to the controller."""

    device: str
    copies: tuple[Copy, ...]


class Lost(NamedTuple):
    """These copies waited for a Receiver whose controller is gone."""

    device: str
    copies: tuple[Copy, ...]


class Notice(NamedTuple):
    """A line for the user."""

    text: str


Event = Sent | Enabled | Tuned | Delivered | Lost | Notice
