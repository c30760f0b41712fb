"""What a body is: settings, and a sans-I/O session with the robot behind a connection.

Bytes and time go in, events of `hilgw.control.events` come out. The session never opens a
connection, never reads a clock, never retries. `now` is integer nanoseconds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from hilgw.control.events import EmitterSettings, Event, MotorSettings, PacketOut, ReceiverSettings
from hilgw.devices.kinds import Devices
from hilgw.framing.base import Framing
from hilgw.settings import MockSpec


class BodySession(Protocol):
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
        """One setting of a motor: the bytes for it, or Refused. Limits are checked here."""

    def configure(self, settings: MotorSettings, now: int) -> list[Event]:
        """All settings of a motor at once: the bytes for it, or Refused."""

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """A sensor at this period; None: at every step, 0: off."""

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        """One packet through an Emitter the robot itself has."""

    def tune(self, settings: EmitterSettings | ReceiverSettings, now: int) -> list[Event]:
        """Settings of an Emitter or a Receiver the robot itself has."""

    def stop(self, reason: str, now: int) -> list[Event]:
        """Every motor to its default; nothing when that was done and no command came since."""

    def stop_bytes(self) -> bytes:
        """What `stop` would write now; nothing is changed by asking."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def describe(self, data: bytes, *, received: bool) -> str:
        """Bytes in words, for people; never raises."""


class Body(Protocol):
    """What `hilgw.bodies.NAME` exports as `BODY`.

    Settings have `connect` (a tcp:// address) where the robot is met over TCP, `port`, `baudRate`
    and `byteSize` where it is met on a serial line; one of connect and port is set.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]
    retry_s: ClassVar[float]  # between tries to connect
    framing: ClassVar[str]  # short name of the framing on a serial line, "" for none

    def is_real(self, settings: Any) -> bool:
        """Whether motors of metal are behind it, as far as the settings tell."""

    def mock(self, settings: Any, version: str) -> MockSpec:
        """The firmware mock that behaves as these settings say, under this Webots version."""

    def check(self, settings: Any) -> list[tuple[str, str, str]]:
        """What the field limits cannot say: (path below the body, message, fix)."""

    def session(self, settings: Any, version: str, framing: Framing | None) -> BodySession:
        """A session under this Webots version. framing: for a serial line, None on TCP."""
