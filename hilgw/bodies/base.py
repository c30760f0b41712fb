"""What a body is: settings, and a sans-I/O session with the robot behind a connection.

Bytes and time go in, events of `hilgw.devices.loop` come out. The session never opens a
connection, never reads a clock, never retries. `now` is integer nanoseconds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from hilgw.devices.kinds import Devices
from hilgw.devices.loop import Event
from hilgw.framing.base import Framing


class Session(Protocol):
    """One robot. `devices` are those it has shown, `counts` what happened, by reason."""

    devices: Devices
    counts: dict[str, int]

    def open(self, now: int) -> list[Event]:
        """The connection is up."""

    def close(self) -> list[Event]:
        """The connection is gone."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Bytes from the robot, in any chunks."""

    def command(self, index: int, field: str, value: float, now: int) -> list[Event]:
        """One setting of a motor: the bytes for it, or Refused."""

    def stop(self, reason: str, now: int) -> list[Event]:
        """Every motor to its default; nothing when that was done and no command came since."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def describe(self, data: bytes, *, received: bool) -> str:
        """Bytes in words, for people; never raises."""


class Body(Protocol):
    """What `hilgw.bodies.NAME` exports as `BODY`."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]
    retry_s: ClassVar[float]  # between tries to connect

    def check(self, settings: Any) -> list[tuple[str, str, str]]:
        """What the field limits cannot say: (path below the body, message, fix)."""

    def session(self, settings: Any, version: str, framing: Framing | None) -> Session:
        """A session under this Webots version. framing: for a serial line, None on TCP."""
