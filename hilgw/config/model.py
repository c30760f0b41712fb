"""The configuration as the engine reads it: frozen dataclasses, every value checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.adapters.base import StationSettings
from hilgw.control.safety import SafetySettings
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacles import ObstacleSettings
from hilgw.settings import setting

DeviceFields = EmitterFields | ReceiverFields
Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float]

BACKENDS = ("real", "mock", "loopback")


@dataclass(frozen=True, slots=True, kw_only=True)
class MocapConfig:
    """Where a motion-capture system says how bodies are placed, a datagram at a time."""

    listen: str = setting(
        "UDP address and port; port 0: any free one, said at the start",
        pattern=r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}",
        example="127.0.0.1:9763",
    )
    allow_remote: bool = setting(
        "listen beyond this machine; whoever reaches the port can then place every body", False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MediumConfig:
    """The simulated space."""

    seed: int = setting("seed of the noise", 1, ge=0, le=2**32 - 1)
    step_ms: int | None = setting(
        "basic time step: packets leave, receivers sample and bodies move at step ends only, as "
        "in Webots; not set: at any instant",
        None,
        ge=1,
        le=60_000,
        unit="ms",
    )
    mocap: MocapConfig | None = setting("poses by motion capture", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartConfig:
    """A controller or a body: its kind and that kind's own settings."""

    kind: str
    settings: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionFile:
    """Through poses at given times, from a file; before and after them it stays."""

    path: str = setting(
        "the file, seen from the folder of the configuration; lines time_s,name,x,y,z,qx,qy,qz,qw",
        example="poses.csv",
    )
    name: str | None = setting("which body of the file; not set: the robot's own name", None)


Motion = Circle | Waypoints | MotionFile


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotConfig:
    """One simulated robot."""

    position: Vector | None = setting("where the robot stands; not set: unknown", None, unit="m")
    rotation: Rotation | None = setting("how it stands: axis x, y, z and angle", None, unit="rad")
    motion: Motion | None = setting("how it moves by itself, instead of position", None)
    devices: dict[str, DeviceFields] = setting(
        "Emitter and Receiver nodes by name", default_factory=dict
    )
    controller: PartConfig | None = setting("what decides", None)
    body: PartConfig | None = setting("what has the sensors and motors", None)
    safety: SafetySettings = setting(
        "when the motors stop by themselves", default_factory=SafetySettings
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterConfig:
    """One piece of hardware: the settings all kinds share, and the kind's own."""

    kind: str
    common: StationSettings
    settings: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """A firmware mock that shares an air with the hardware of the same air."""

    mock: str = setting("name of the firmware mock", example="xbee")
    link: str | None = setting("path at which your own program can open it", None)
    position: Vector | None = setting("where the node stands; not set: unknown", None, unit="m")
    replies: dict[str, str] = setting(
        "what it answers: a packet that begins with the key is answered with the value",
        default_factory=dict,
    )
    parameters: dict[str, Any] = setting(
        "the mock's own parameters, written beside these keys", default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AirConfig:
    """A space real signals share. Its nodes exist only with mocks."""

    seed: int = setting("seed of what happens by chance in a mocked air", 1, ge=0, le=2**32 - 1)
    loss: float = setting("share of frames a mocked air loses", 0.0, ge=0, le=1)
    nodes: dict[str, NodeConfig] = setting("mocks in this air by name", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """The whole file."""

    version: int = setting("version of this file format", choices=(1,), example=1)
    backend: str = setting(
        "what stands behind the ports: real ones, mocks on virtual ports, or mocks in this "
        "process (loopback)",
        "real",
        choices=BACKENDS,
    )
    webots: str = setting(
        "release whose rules apply (cone axis, node numbers), such as R2025a",
        "R2025a",
        pattern=r"R20[0-9]{2}[a-z](-rev[0-9]+)?",
        example="R2025a",
    )
    network_ports: bool = setting(
        "let ports be socket://HOST:PORT and rfc2217://HOST:PORT too: whoever answers there then "
        "is the hardware",
        False,
    )
    medium: MediumConfig = setting("the simulated space", default_factory=MediumConfig)
    robots: dict[str, RobotConfig] = setting("simulated robots by name", default_factory=dict)
    obstacles: dict[str, ObstacleSettings] = setting(
        "what blocks infra-red signals, by name", default_factory=dict
    )
    adapters: dict[str, AdapterConfig] = setting("hardware by name", default_factory=dict)
    airs: dict[str, AirConfig] = setting("spaces shared by modules", default_factory=dict)
