"""What passes through a loop: the events of bodies and controllers, whatever their kind.

A session of a body reports what the robot shows, a session of a controller what it wants; the
loop between them hands the one to the other. `index` is a device's index on the side that
reports it. Times are the caller's: no event carries one.
"""

from __future__ import annotations

from dataclasses import dataclass

from hilgw.devices.kinds import Device
from hilgw.errors import HilgwError

Direction = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Write:
    """Send these bytes to the peer now, in this order."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Connected:
    """The peer is there. `identity` is said to the user."""

    identity: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The peer is gone, for this reason; the session goes on waiting for the next."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Bring every motor of the body to its default now, for this reason (a word to count)."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProtocolFailure:
    """The stream is lost: close the connection. The session takes no more bytes until reopened.

    tail: the bytes from where it was lost, at most 256 of them, for the log.
    """

    error: HilgwError
    tail: bytes = b""


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing the peer or the loop asked for was not done. reason: a word to count."""

    index: int | None
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user. `once` lines are said a single time per session."""

    text: str
    once: bool = True


@dataclass(frozen=True, slots=True)
class Registered:
    """The body has this device."""

    device: Device


@dataclass(frozen=True, slots=True)
class SensorValue:
    """A sensor, or a motor that reports, shows this value (its kind's `value`)."""

    index: int
    value: float


@dataclass(frozen=True, slots=True)
class MotorCommand:
    """One setting of a motor; `field` is "position", "velocity", "acceleration",
    "available_force" or "available_torque"."""

    index: int
    field: str
    value: float


@dataclass(frozen=True, slots=True)
class MotorSettings:
    """All settings of a motor at once. available: force in N, or torque in N m."""

    index: int
    position: float
    velocity: float
    acceleration: float
    available: float


@dataclass(frozen=True, slots=True)
class SensorSwitch:
    """A sensor is wanted at this period; None: at every step, 0: not at all."""

    index: int
    period_ms: float | None


@dataclass(frozen=True, slots=True)
class PacketOut:
    """The controller sends one packet through this Emitter, on this channel."""

    index: int
    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PacketIn:
    """The body's Receiver got one packet. Strength and direction are NaN when unknown."""

    index: int
    channel: int
    signal_strength: float
    direction: Direction
    data: bytes


@dataclass(frozen=True, slots=True)
class EmitterSettings:
    """Channel (-1: broadcast) and range (-1: infinite) for the packets sent from now on."""

    index: int
    channel: int
    range: float


@dataclass(frozen=True, slots=True)
class ReceiverSettings:
    """Channel (-1: all) and sampling period (0: off) of a Receiver."""

    index: int
    channel: int
    period_ms: int


@dataclass(frozen=True, slots=True)
class DeviceFault:
    """The device failed."""

    index: int


Event = (
    Write
    | Connected
    | Disconnected
    | Stop
    | ProtocolFailure
    | Refused
    | Notice
    | Registered
    | SensorValue
    | MotorCommand
    | MotorSettings
    | SensorSwitch
    | PacketOut
    | PacketIn
    | EmitterSettings
    | ReceiverSettings
    | DeviceFault
)
