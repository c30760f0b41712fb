"""The facts of an explanation, as plain data: `dataclasses.asdict` makes JSON of them."""

from __future__ import annotations

from dataclasses import dataclass

from hilgw.config.source.positions import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A serial line. format: such as 8N1; byte_bits: on the wire; bytes_per_s: what it carries."""

    baud_rate: int
    format: str
    byte_bits: int
    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one period needs and what the line carries in it, in bytes. each_device: needed for each
    sensor, and for each motor the other way; the robot reports how many there are."""

    period_ms: float
    needed_bytes: int
    possible_bytes: int
    each_device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How hilgw reaches a part. way: "port" (opens it), "connect", "listen", "local" (a local
    socket), "program" (starts it), "inside" (it runs in the gateway). address: the port, the URL or
    the file. mock: the mock that runs instead; None: the real part."""

    way: str
    address: str
    line: Line | None = None
    mock: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One limit of a device: the smallest and largest value, None where it has none. by: what sets
    it: "configuration" refuses values beyond, "device" is what the robot can do."""

    quantity: str
    unit: str
    low: float | None
    high: float | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """One device of a body. reports: the unit of each number that it reports. rate: the largest
    change of the commanded value per second."""

    name: str
    node: str
    role: str
    reports: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    rate: float | None = None
    default_position: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """One cause that stops the motors. reasons: their words in the report. after_s: how long
    afterwards; 0: at once; None: never, and `note` says what happens."""

    cause: str
    reasons: tuple[str, ...]
    after_s: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The stop frame of a body. form: bytes in hexadecimal, `??` for those that depend on the
    robot. alone: what the robot does when hilgw is gone."""

    words: str
    form: str
    each_motor: bool
    has_watchdog: bool
    alone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyFacts:
    """The safety of one body as it starts."""

    simulated: bool
    armed: bool
    latch: bool
    command_timeout_s: float | None
    late_s: float
    stops_on_fault: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts:
    """One body. key: of the file. registers: the robot reports its devices when it connects, and
    `devices` has those that the configuration limits. silence_s: of its serial line that counts as
    a disconnect."""

    key: str
    kind: str
    summary: str
    connection: Connection
    load: Load | None
    devices: tuple[DeviceFacts, ...]
    registers: bool
    safety: SafetyFacts
    stop: Stop
    silence_s: float | None = None
    forwards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFacts:
    """The controller. moves: whether it commands motors. step_ms: of its steps, None without.
    silence_s: of its serial line that counts as a disconnect. period_ms: of a controller in the
    gateway. behind: the simulator of a proxy. only: its devices that use real hardware only.
    has_battery: that of the robot ends it when it is empty."""

    kind: str
    summary: str
    connection: Connection
    moves: bool
    step_ms: int | None = None
    silence_s: float | None = None
    period_ms: float | None = None
    behind: Connection | None = None
    only: tuple[str, ...] = ()
    has_battery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioFacts:
    """One Emitter or Receiver. channel -1: every channel. baudRate, range and bufferSize: Webots'
    fields, -1: infinite. sampling_period_ms: of a Receiver, None where the controller enables it.
    hardware: the adapters that it meets."""

    name: str
    node: str
    type: str
    channel: int
    baudRate: int
    byteSize: int
    bufferSize: int
    range: float | None
    sampling_period_ms: int | None
    hardware: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotFacts:
    """One robot: what commands it, what moves, what sends and receives, and what stops it."""

    name: str
    controller: ControllerFacts | None
    bodies: tuple[BodyFacts, ...]
    mode: str | None
    other_devices: tuple[DeviceFacts, ...]
    radios: tuple[RadioFacts, ...]
    stops: tuple[StopRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFacts:
    """One piece of hardware. channels: those whose packets it sends; None: all. payload, window:
    the limits of its kind, in bytes and in frames."""

    name: str
    kind: str
    summary: str
    type: str
    connection: Connection
    channel: int
    channels: tuple[int, ...] | None
    mapping: str | None
    framing: str | None
    payload_bytes: int
    window: int
    queue_bytes: int
    air: str
    attached_to: str | None
    relay: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A mock that shares an air with the hardware. exists: with this back end."""

    name: str
    mock: str
    link: str | None
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AirFacts:
    """A space that real signals share."""

    name: str
    adapters: tuple[str, ...]
    nodes: tuple[NodeFacts, ...]
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Emitters, Receivers and hardware that exchange packets. channel None: of every channel, where
    nothing has one of its own."""

    type: str
    channel: int | None
    emitters: tuple[str, ...]
    receivers: tuple[str, ...]
    adapters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All facts of one configuration. speed: a factor, or "max"; step_ms: the basic time step of
    the medium, None: packets leave at any time. tokens: name -> role, for clients on other
    hosts."""

    backend: str
    real: tuple[str, ...]
    speed: float | str
    webots: str
    step_ms: int | None
    mocap: str | None
    tokens: dict[str, str]
    tls: bool
    obstacles: tuple[str, ...]
    robots: tuple[RobotFacts, ...]
    adapters: tuple[AdapterFacts, ...]
    airs: tuple[AirFacts, ...]
    meetings: tuple[Meeting, ...]
    notices: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]
