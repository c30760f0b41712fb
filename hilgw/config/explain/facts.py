"""The facts of an explanation: what a configuration means, beside the objects that it is made of.

`as_json` is the form of each fact, and of each of these objects, for `hilgw explain --json`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from hilgw.config.model import (
    AdapterConfig,
    AirConfig,
    EstopConfig,
    FederationConfig,
    GatewayConfig,
    PartConfig,
)
from hilgw.config.queries import forwarding_of, is_estop_mocked, is_on_line, period_ms_of
from hilgw.config.source.positions import Diagnostic
from hilgw.control.line_load import LineLoad
from hilgw.control.parts import HasBattery
from hilgw.control.safety import SafetyState
from hilgw.controllers.base import PEERS
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.kinds import MOTOR, Device
from hilgw.devices.properties import node_of
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_MS, ns_to_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How hilgw reaches a part. way: "port" (opens it), "connect", "listen", "local" (a local
    socket), "program" (starts it), "inside" (it runs in the gateway). address: the port, the URL or
    the file. mock: the mock that runs instead; None: the real part."""

    way: str
    address: str
    line: LineSettings | None = None
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
    """One device of a robot. node: its kind, "motor" where the robot reports which one it is."""

    device: Device
    node: str
    bounds: tuple[Bound, ...] = ()

    @property
    def reports(self) -> tuple[str, ...]:
        """The unit of each number that it reports; of such a motor it is not known."""
        if self.node == MOTOR:
            return ()
        return tuple(quantity.unit for quantity in self.device.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """One cause that stops the motors. reasons: their words in the report. after_s: how long
    afterwards; 0: at once; None: never, and `note` is what happens."""

    cause: str
    reasons: tuple[str, ...]
    after_s: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """A controller or a body. part: as the file has it. kind: its kind."""

    part: PartConfig
    kind: Any
    connection: Connection

    @property
    def silence_s(self) -> float | None:
        """The silence of its serial line that counts as a disconnect."""
        return self.part.settings.silence_s if is_on_line(self.part.settings) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts(PartFacts):
    """One body. key: of the file. registers: the robot reports its devices when it connects, and
    `devices` has those that the configuration limits."""

    key: str
    devices: tuple[DeviceFacts, ...]
    registers: bool
    safety: SafetyState


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFacts(PartFacts):
    """The controller. step_ms: of its steps, None without. behind: the simulator of a proxy."""

    step_ms: int | None = None
    behind: Connection | None = None

    @property
    def moves(self) -> bool:
        """Whether it commands motors."""
        return self.kind.role in PEERS

    @property
    def has_battery(self) -> bool:
        """That of the robot ends it when it is empty."""
        return isinstance(self.part.settings, HasBattery) and self.part.settings.has_battery


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioFacts:
    """One Emitter or Receiver. sampling_period_ms: of a Receiver, None where the controller enables
    it. hardware: the adapters that it meets."""

    name: str
    fields: EmitterFields | ReceiverFields
    sampling_period_ms: int | None
    hardware: tuple[str, ...]

    @property
    def range(self) -> float | None:
        """That of an Emitter, -1: infinite."""
        return self.fields.range if isinstance(self.fields, EmitterFields) else None


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
    """One piece of hardware. kind: its adapter. channels: those that it sends; None: all."""

    name: str
    config: AdapterConfig
    kind: Any
    connection: Connection
    channels: tuple[int, ...] | None
    mapping: str | None
    framing: str | None
    air: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AirFacts:
    """A space that real signals share. has_nodes: its mocks exist with these back ends."""

    name: str
    config: AirConfig
    adapters: tuple[str, ...]
    has_nodes: bool


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
    """All facts of one configuration."""

    config: GatewayConfig
    robots: tuple[RobotFacts, ...]
    adapters: tuple[AdapterFacts, ...]
    airs: tuple[AirFacts, ...]
    meetings: tuple[Meeting, ...]
    notices: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]


def as_json(fact: Any) -> dict[str, Any]:
    """The keys of one fact; what these hold is converted in the same way."""
    match fact:
        case Explanation():
            return _explanation(fact)
        case AdapterFacts():
            return _adapter(fact)
        case ControllerFacts(part=part):
            return {
                "kind": part.kind,
                "summary": fact.kind.summary,
                "connection": fact.connection,
                "moves": fact.moves,
                "step_ms": fact.step_ms,
                "silence_s": fact.silence_s,
                "period_ms": period_ms_of(part),
                "behind": fact.behind,
                "only": part.settings.only if fact.behind is not None else (),
                "has_battery": fact.has_battery,
            }
        case RadioFacts(fields=fields):
            return {
                "name": fact.name,
                "node": node_of(fields),
                "type": fields.type,
                "channel": fields.channel,
                "baudRate": fields.baudRate,
                "byteSize": fields.byteSize,
                "bufferSize": fields.bufferSize,
                "range": fact.range,
                "sampling_period_ms": fact.sampling_period_ms,
                "hardware": fact.hardware,
            }
        case AirFacts():
            nodes = [
                {"name": name, "mock": node.mock, "link": node.link, "exists": fact.has_nodes}
                for name, node in fact.config.nodes.items()
            ]
            adapters, loss = fact.adapters, fact.config.loss
            return {"name": fact.name, "adapters": adapters, "nodes": nodes, "loss": loss}
    return _of_body(fact) or {
        field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)
    }


def _of_body(fact: Any) -> dict[str, Any]:
    """Of what a body has; empty for what has its own fields as keys."""
    match fact:
        case BodyFacts():
            return {
                "key": fact.key,
                "kind": fact.part.kind,
                "summary": fact.kind.summary,
                "connection": fact.connection,
                "load": fact.kind.line_load(fact.part.settings),
                "devices": fact.devices,
                "registers": fact.registers,
                "safety": fact.safety,
                "stop": fact.kind.stop_frame(fact.part.settings),
                "silence_s": fact.silence_s,
                "forwards": tuple(forwarding_of(fact.part).describe()),
            }
        case DeviceFacts(device=device):
            return {
                "name": device.name,
                "node": fact.node,
                "role": device.role,
                "reports": fact.reports,
                "bounds": fact.bounds,
                "rate": device.limits.rate,
                "default_position": device.default,
            }
        case SafetyState():
            return {
                "simulated": fact.simulated,
                "armed": fact.armed,
                "latch": fact.latch,
                "command_timeout_s": fact.timeout_s,
                "late_s": ns_to_s(fact.late_ns),
                "stops_on_fault": fact.stops_on_fault,
            }
        case LineLoad():
            return {
                "period_ms": fact.period_ns / NS_PER_MS,
                "needed_bytes": fact.needed,
                "possible_bytes": fact.possible,
                "each_device": fact.each_device,
            }
        case LineSettings():
            return {
                "baud_rate": fact.baudRate,
                "format": format_of(fact),
                "byte_bits": fact.byteSize,
                "bytes_per_s": fact.baudRate / fact.byteSize,
            }
    return {}


def format_of(line: LineSettings) -> str:
    """The format of a line, such as 8N1."""
    return f"{line.data_bits}{line.parity}{line.stop_bits}"


def _adapter(fact: AdapterFacts) -> dict[str, Any]:
    common = fact.config.common
    return {
        "name": fact.name,
        "kind": fact.config.kind,
        "summary": fact.kind.summary,
        "type": fact.kind.type,
        "connection": fact.connection,
        "channel": common.channel,
        "channels": fact.channels,
        "mapping": fact.mapping,
        "framing": fact.framing,
        "payload_bytes": fact.kind.limits.payload,
        "window": fact.kind.limits.window,
        "queue_bytes": common.bufferSize,
        "air": fact.air,
        "attached_to": common.attached_to,
        "relay": common.relay,
    }


def _estop(config: GatewayConfig, estop: EstopConfig) -> dict[str, Any]:
    mock = is_estop_mocked(config)
    return {"port": str(estop.port), "line": estop.line, "mock": mock}


def _federation(config: FederationConfig) -> dict[str, Any]:
    """Without the settings of Zenoh, which may have secrets."""
    keys = ("name", "network", "mode", "connect", "plaintext", "ros2")
    return {key: getattr(config, key) for key in keys} | {"listen": config.endpoints}


def _explanation(fact: Explanation) -> dict[str, Any]:
    """speed: a factor, or "max"; step_ms: the basic time step of the medium, None: packets leave at
    any time. tokens: name -> role, for clients on other hosts."""
    config = fact.config
    return {
        "backend": config.backend,
        "real": config.real,
        "speed": config.speed,
        "webots": config.webots,
        "step_ms": config.medium.step_ms,
        "mocap": None if config.medium.mocap is None else config.medium.mocap.listen,
        "tokens": {name: token.role for name, token in config.access.tokens.items()},
        "tls": config.access.tls is not None,
        "estop": None if config.estop is None else _estop(config, config.estop),
        "obstacles": list(config.obstacles),
        "federation": None if config.federation is None else _federation(config.federation),
        "robots": fact.robots,
        "adapters": fact.adapters,
        "airs": fact.airs,
        "meetings": fact.meetings,
        "notices": fact.notices,
        "warnings": fact.warnings,
    }
