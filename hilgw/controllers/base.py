"""What a controller is: a pure session that decides. `now` is integer nanoseconds.

There are two kinds. One decides by itself what a robot's emitters send (`ControllerSession`).
The other stands for a peer behind a connection that reads sensors and moves motors
(`PeerSession`): one end of a control loop, the other is a body (`hilgw.bodies.base`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from hilgw.control.events import Event, PacketIn
from hilgw.devices.kinds import Device, Devices
from hilgw.framing.base import Framing
from hilgw.medium.packet import Copy
from hilgw.settings import MockSpec


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


class ControllerSession(Protocol):
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

    def session(self, settings: Any) -> ControllerSession: ...


class PeerSession(Protocol):
    """The peer that controls a loop. `devices` are those of the loop, `counts` what happened."""

    devices: Devices
    counts: dict[str, int]

    def open(self, now: int) -> list[Event]:
        """The connection is up."""

    def close(self) -> list[Event]:
        """The connection is gone: Stop and Disconnected, when a peer was there."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Bytes from the peer, in any chunks."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def register(self, device: Device) -> list[Event]:
        """The loop has this device. The same again does nothing."""

    def forget(self) -> None:
        """The body is gone, and its devices. Only while no peer is there."""

    def report(self, values: Iterable[tuple[int, float]], now: int) -> list[Event]:
        """What sensors show, (index, value) each, in one write."""

    def deliver(self, packet: PacketIn) -> list[Event]:
        """One packet that a Receiver got."""

    def fault(self, index: int) -> list[Event]:
        """A device failed, or refused what it was asked."""

    def describe(self, data: bytes, *, received: bool) -> str:
        """Bytes in words, for people; never raises."""


@runtime_checkable
class PeerController(Protocol):
    """What `hilgw.controllers.NAME` exports as `CONTROLLER` when a peer decides.

    Settings have `listen` (a tcp:// address) where the peer comes in over TCP, `port`, `baudRate`
    and `byteSize` where it is met on a serial line; one of listen and port is set.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]
    framing: ClassVar[str]  # short name of the framing on a serial line, "" for none

    def check(self, settings: Any) -> list[tuple[str, str, str]]:
        """What the field limits cannot say: (path below the controller, message, fix)."""

    def mock(self, settings: Any, version: str) -> MockSpec:
        """The firmware mock that behaves as these settings say, under this Webots version."""

    def session(self, settings: Any, version: str, framing: Framing | None) -> PeerSession:
        """A session under this Webots version. framing: for a serial line, None on TCP."""
