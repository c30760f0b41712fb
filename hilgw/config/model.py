"""The configuration: frozen dataclasses, every value checked."""

from dataclasses import replace
from enum import StrEnum
from typing import Any, Literal

from hilgw.adapters.declaration import StationSettings, UsbId
from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS, SafetySettings
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.properties import DeviceFields
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacle_settings import ObstacleSettings
from hilgw.records import dataclass
from hilgw.settings import setting

DEFAULT_RELEASE = "R2025a"  # of Webots, in a file without `webots:`

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float]

VERSION = 1


class Backend(StrEnum):
    """The back end of a part.

    The hardware; its mock on a virtual port; its mock in this process; a recording of it.
    """

    REAL = "real"
    MOCK = "mock"
    LOOPBACK = "loopback"
    REPLAY = "replay"

    @property
    def is_mocked(self) -> bool:
        """True if a mock or a recording replaces the hardware."""
        return self is not Backend.REAL


@dataclass(frozen=True, slots=True, kw_only=True)
class MocapConfig:
    """Poses of objects from a motion-capture system, one datagram each."""

    listen: str = setting(
        "UDP address and port; port 0: any free one, shown at the start",
        pattern=r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}",
        example="127.0.0.1:9763",
    )
    allow_remote: bool = setting(
        "accept other hosts: any host that reaches the port can then move every object", False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MediumConfig:
    """The simulated space."""

    seed: int = setting("random seed of the noise", 1, ge=0, le=2**32 - 1)
    step_ms: int | None = setting(
        "basic time step: packets leave, receivers sample and objects move at step ends only, "
        "as in Webots; not set: at any time",
        None,
        ge=1,
        le=60_000,
        unit="ms",
    )
    mocap: MocapConfig | None = setting("poses from motion capture", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenConfig:
    """A token, and what a client that presents it may do."""

    role: str = setting(
        "monitor: read; drive: command robots, too; admin: change the gateway, too",
        "drive",
        choices=("monitor", "drive", "admin"),
    )
    file: str = setting(
        "its file, relative to the configuration; `hilgw token FILE` makes one",
        example="lab.token",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """TLS of the listeners that other hosts reach."""

    certificate: str = setting("PEM file, relative to the configuration", example="lab.pem")
    key: str | None = setting("PEM file of its key; not set: the certificate's file has it", None)
    clients: str | None = setting(
        "PEM file of an authority: clients show a certificate that it signed, and need no token "
        "where there is none; not set: they show none",
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessConfig:
    """Access from other hosts. Every program of this machine may use a loopback address."""

    tokens: dict[str, TokenConfig] = setting("tokens by name", default_factory=dict)
    tls: TlsConfig | None = setting("encrypts the connections", None)
    plaintext: bool = setting(
        "accept connections without TLS, such as those of libController: anyone on the way can "
        "read the token and command the robots",
        False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EstopConfig:
    """An emergency-stop switch: normally closed; open, it disarms all robots.

    It is between DTR or RTS of a serial port, which hilgw keeps on, and an input of the same port.
    """

    port: str | UsbId = setting(
        "its serial port, which no part uses: a path, rfc2217://HOST:PORT or a usb id",
        example="/dev/serial/by-id/usb-FTDI_FT232R-if00-port0",
    )
    line: str = setting(
        "the input that the closed switch connects to DTR or RTS", choices=("cts", "dsr", "dcd")
    )

    @property
    def where(self) -> str:
        """The input in words."""
        return f"{self.line.upper()} of {self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlConfig:
    """The control socket, by which `hilgw arm` and other commands reach the gateway."""

    group: str | None = setting(
        "the users of this group may send commands, too; not set: the user of the gateway alone",
        None,
        example="hilgw",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsConfig:
    """The metrics for Prometheus, at http://HOST:PORT/metrics.

    On an address that other hosts reach they need a token of `access`.
    """

    listen: str = setting(
        "address and port; `--metrics HOST:PORT` sets it",
        pattern=r"(tcp://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}",
        example="127.0.0.1:9464",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordConfig:
    """Recordings of all traffic, for Wireshark and for `hilgw show`."""

    folder: str = setting(
        "folder for recordings: of each run, and of `hilgw record NAME`", "recordings"
    )
    at_start: bool = setting("record each run, in a file named after its start time", True)
    max_mb: float = setting(
        "start a new file at this size, without repeated states; at least 4 times the size of the "
        "states at the start of a file; 0: never",
        0.0,
        ge=0,
        le=1e6,
        unit="MB",
        example=100,
    )
    max_s: float = setting(
        "start a new file after this time; 0: never",
        0.0,
        ge=0,
        le=1e7,
        unit="s",
        example=3600,
    )
    poses_hz: float = setting(
        "poses of each moving object at this rate at most, the newest ones; 0: all",
        0.0,
        ge=0,
        le=1000,
        unit="Hz",
        example=10,
    )
    files: int = setting("number of newest files to keep; 0: all", 0, ge=0, le=100_000)
    free_mb: float = setting(
        "record nothing with less than this free on the disk", 100.0, ge=0, le=1e9, unit="MB"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ros2Config:
    """Packets also as topics of ROS 2, of std_msgs/msg/UInt8MultiArray, as rmw_zenoh has them."""

    domain: int = setting("ROS_DOMAIN_ID", 0, ge=0, le=232)
    namespace: str = setting(
        "namespace of the topics: /NAMESPACE/DEVICE", "hilgw", pattern=r"[A-Za-z][A-Za-z0-9_]*"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationConfig:
    """Several gateways on one medium, over Eclipse Zenoh (`pip install 'hilgw[zenoh]'`)."""

    name: str = setting(
        "name of this gateway among the others",
        pattern=r"[A-Za-z0-9_-]{1,64}",
        example="bench",
    )
    network: str = setting(
        "gateways of the same network are on one medium", "lab", pattern=r"[A-Za-z0-9_-]{1,64}"
    )
    mode: str = setting(
        "Zenoh's mode; peer: exchange packets with each connected gateway; client: through the "
        "router or peer that it connects to; router: forward the packets of others, too",
        "peer",
        choices=("peer", "client", "router"),
    )
    listen: tuple[str, ...] | None = setting(
        "Zenoh endpoints where others connect; not set: tcp/127.0.0.1:7447 without `connect`, else "
        "none",
        None,
        example='["tcp/127.0.0.1:7447"]',
    )
    connect: tuple[str, ...] = setting(
        "Zenoh endpoints of others: a gateway, or a router (zenohd)",
        (),
        example='["tls/simulator.lab:7447"]',
    )
    plaintext: bool = setting(
        "accept endpoints beyond this machine without TLS: anyone on the way can read and send "
        "packets",
        False,
    )
    zenoh: dict[str, Any] = setting(
        "Zenoh's own settings, such as {transport: {link: {tls: ...}}, access_control: ...}, as in "
        "its DEFAULT_CONFIG.json5",
        default_factory=dict,
    )
    ros2: Ros2Config | None = setting("packets also as topics of ROS 2", None)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The endpoints on which it listens."""
        if self.listen is not None:
            return self.listen
        return () if self.connect or self.mode == "client" else ("tcp/127.0.0.1:7447",)

    @property
    def tls(self) -> dict[str, Any]:
        """Zenoh's settings of TLS."""
        section: Any = self.zenoh
        for key in ("transport", "link", "tls"):
            section = section.get(key) if isinstance(section, dict) else None
        return section if isinstance(section, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBackend:
    """The back end of one part: a station, a controller, a body."""

    backend: Backend | None = setting(
        "back end of this part alone; not set: that of the file (`backend`, `--backend`, `real`)",
        None,
        choices=tuple(Backend),
    )
    recording: str | None = setting(
        "with backend replay: the recording of the part, relative to the configuration",
        None,
        example="run.pcapng",
    )
    from_s: float = setting(
        "with backend replay: play the recording from this time on, after the set-up of the part",
        0.0,
        ge=0,
        le=1_000_000_000,
        unit="s",
    )
    on_departure: Literal["report", "stop"] = setting(
        "with backend replay: action when hilgw sends other bytes than in the recording; report: "
        "the run continues; stop: it ends with exit code 8",
        "report",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    own: PartBackend = PartBackend()

    @property
    def backend(self) -> Backend | None:
        return self.own.backend


@dataclass(frozen=True, slots=True, kw_only=True)
class PartConfig(_Part):
    """A controller or a body: its kind, the settings of the kind, its own back end."""

    kind: str
    settings: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionFile:
    """A motion through timed poses of a file, which stays at the first and last one."""

    path: str = setting(
        "the file, relative to the configuration; lines time_s,name,x,y,z,qx,qy,qz,qw",
        example="poses.csv",
    )
    name: str | None = setting("name of the object in the file; not set: the robot's name", None)


Motion = Circle | Waypoints | MotionFile


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotConfig:
    """A simulated robot."""

    position: Vector | None = setting(
        "position of the robot; not set: unknown",
        None,
        ge=-1_000_000_000,
        le=1_000_000_000,
        unit="m",
    )
    rotation: Rotation | None = setting(
        "rotation: axis x, y, z and angle", None, ge=-1_000_000_000, le=1_000_000_000, unit="rad"
    )
    motion: Motion | None = setting("how the robot moves, instead of position", None)
    devices: dict[str, DeviceFields] = setting(
        "nodes by name: Emitters, Receivers, and devices that the body does not have itself",
        default_factory=dict,
    )
    controller: PartConfig | None = setting(
        "commands the robot: a program, firmware or a script", None
    )
    body: PartConfig | None = setting("has the sensors and motors: a simulated or real robot", None)
    remote: PartConfig | None = setting(
        "a second body: the real robot next to the simulated one, with the same devices",
        None,
    )
    mode: str = setting(
        "the body that the controller has at the start (`hilgw mode` changes it): simulation: "
        "`body`; remote: `remote`; shadow: `body`, and `remote` gets the same commands",
        "simulation",
        choices=("simulation", "remote", "shadow"),
    )
    safety: SafetySettings = setting("when hilgw stops the motors", default_factory=SafetySettings)

    @property
    def bodies(self) -> dict[str, PartConfig]:
        """The bodies by their keys, `body` and `remote`."""
        return {key: part for key, part in self.parts.items() if key != "controller"}

    @property
    def parts(self) -> dict[str, PartConfig]:
        """The controller and the bodies by their keys."""
        given = {"controller": self.controller, "body": self.body, "remote": self.remote}
        return {key: part for key, part in given.items() if part is not None}

    @property
    def radios(self) -> dict[str, EmitterFields | ReceiverFields]:
        """The Emitters and Receivers among the devices."""
        return {
            name: fields
            for name, fields in self.devices.items()
            if isinstance(fields, EmitterFields | ReceiverFields)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterConfig(_Part):
    """A piece of hardware: the common settings, those of its kind, its own back end."""

    kind: str
    common: StationSettings
    settings: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """A firmware mock that shares an air with the hardware of the same air."""

    mock: str = setting("name of the firmware mock", example="xbee")
    link: str | None = setting("path of a virtual port for a program of your own", None)
    position: Vector | None = setting(
        "position of the node; not set: unknown",
        None,
        ge=-1_000_000_000,
        le=1_000_000_000,
        unit="m",
    )
    replies: dict[str, str] = setting(
        "answers: the value is the answer to packets that start with the key",
        default_factory=dict,
    )
    parameters: dict[str, Any] = setting(
        "parameters of the mock, next to these keys", default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AirConfig:
    """A space that real signals share. Its nodes exist only with mocks."""

    seed: int = setting("random seed of a mocked air", 1, ge=0, le=2**32 - 1)
    loss: float = setting("share of frames that a mocked air loses", 0.0, ge=0, le=1)
    nodes: dict[str, NodeConfig] = setting("mocks in this air by name", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """The whole file."""

    version: int = setting("version of this file format", choices=(VERSION,), example=VERSION)
    backend: Backend = setting(
        "back end of the ports: real hardware, mocks on virtual ports, or mocks in this "
        "process (loopback); of all parts without a `backend` of their own",
        Backend.REAL,
        choices=(Backend.REAL, Backend.MOCK, Backend.LOOPBACK),
    )
    real: tuple[str, ...] = setting(
        "parts that stay real with backend mock or loopback: a station, ROBOT.controller, "
        "ROBOT.body or ROBOT.remote; of a proxy, ROBOT.webots too",
        (),
    )
    speed: float | str = setting(
        "simulated time per real time, such as 2, or max: as fast as the machine can; other than 1 "
        "for mocks in this process only",
        1.0,
        gt=0,
        le=1_000_000,
        pattern="max",
        example="2, or max",
    )
    guardian_ms: int = setting(
        "silence of hilgw itself after which its guardian, a process of its own, stops the real "
        "robots whose motors move",
        DEFAULT_GUARDIAN_MS,
        ge=150,
        le=10_000,
        unit="ms",
    )
    webots: str | None = setting(
        "version of the controllers' Webots library, not of a world file; also the node numbers of "
        "kind wc2ec, and the axis of cones; not set: R2025a, and the library compares no version",
        None,
        pattern=r"R20[0-9]{2}[a-z](-rev[0-9]+)?",
        example="R2025a",
    )
    network_ports: bool = setting(
        "allow ports socket://HOST:PORT and rfc2217://HOST:PORT: the host that answers is then "
        "trusted as the hardware",
        False,
    )
    estop: EstopConfig | None = setting("an emergency-stop switch on a serial port", None)
    control: ControlConfig = setting("the control socket", default_factory=ControlConfig)
    metrics: MetricsConfig | None = setting("metrics for Prometheus", None)
    record: RecordConfig | None = setting("recordings of all traffic", None)
    federation: FederationConfig | None = setting(
        "one medium with other gateways, over Eclipse Zenoh", None
    )
    access: AccessConfig = setting("access from other hosts", default_factory=AccessConfig)
    medium: MediumConfig = setting("the simulated space", default_factory=MediumConfig)
    robots: dict[str, RobotConfig] = setting("simulated robots by name", default_factory=dict)
    obstacles: dict[str, ObstacleSettings] = setting(
        "obstacles for infra-red signals by name", default_factory=dict
    )
    adapters: dict[str, AdapterConfig] = setting("hardware by name", default_factory=dict)
    airs: dict[str, AirConfig] = setting("spaces that modules share, by name", default_factory=dict)

    @property
    def release(self) -> str:
        """Return the version of Webots."""
        return self.webots or DEFAULT_RELEASE


def armed(config: GatewayConfig) -> GatewayConfig:
    """Return the configuration with all robots armed from the start (`--arm`)."""
    robots = {
        name: replace(robot, safety=replace(robot.safety, armed=True))
        for name, robot in config.robots.items()
    }
    return replace(config, robots=robots)
