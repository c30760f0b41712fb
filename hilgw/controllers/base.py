"""What a controller is: a pure session that decides what a robot's emitters send.

`now` is integer nanoseconds. The robot around it owns the devices, the clock and the medium.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hilgw.medium.packet import Copy


@dataclass(frozen=True, slots=True)
class Send:
    """Put `data` into the queue of the emitter with this device name."""

    emitter: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Say:
    """A line for the user."""

    text: str


Action = Send | Say


class Session(Protocol):
    """One robot's controller."""

    def start(self, now: int) -> list[Action]: ...

    def packet(self, receiver: str, copy: Copy, now: int) -> list[Action]:
        """The receiver with this device name read a packet."""

    def sent(self, accepted: bool) -> None:
        """What became of the Send just returned: queued, or refused by the emitter."""

    def next_deadline(self) -> int | None: ...

    def expire(self, now: int) -> list[Action]: ...

    def summary(self) -> str:
        """What it did, in one line."""


class Controller(Protocol):
    """What `hilgw.controllers.NAME` exports as `CONTROLLER`."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]

    def check(self, settings: Any) -> list[tuple[str, str, str]]:
        """What the field limits cannot say: (path below the controller, message, fix)."""

    def session(self, settings: Any) -> Session: ...
