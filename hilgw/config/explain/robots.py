"""The robots of an explanation: controller, bodies, devices with their limits, radios, stops."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hilgw import plugins
from hilgw.config.model import EstopConfig, GatewayConfig, PartConfig, RobotConfig
from hilgw.config.queries import (
    forwarding_of,
    inside_of,
    is_mocked,
    is_on_line,
    is_simulated,
    line_settings,
    meet,
    peer_of,
    period_ms_of,
    proxy_of,
    stepped_of,
    world_name,
)
from hilgw.control.declared import UNGUARDED
from hilgw.control.events import StopReason
from hilgw.control.parts import (
    Connects,
    HasBattery,
    Listens,
    ListensLocally,
    OnLine,
    RunsProgram,
)
from hilgw.control.safety import SafetyState
from hilgw.controllers.base import PEERS
from hilgw.devices.fields import DEFAULT_STEP_MS, EmitterFields, ReceiverFields
from hilgw.devices.kinds import KINDS, MOTOR, NO_LIMITS, ROTATIONAL_MOTOR, Device, MotorLimits
from hilgw.devices.properties import FIELDS, LinearMotorFields, RotationalMotorFields, node_of
from hilgw.framing import create
from hilgw.protocols.gateway.messages import LEASE_S
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_MS, ns_to_s

# The facts of one part by their keys, as `hilgw explain --json` prints them.
Facts = dict[str, Any]

LIMITED = ("position", "velocity", "acceleration", "force")  # as a motor's settings are in order
UNITS_OF_ANY = dict(
    zip(LIMITED, ("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2", "N m or N"), strict=True)
)
ESTOP_S = 0.05  # from the switch to the stop on the line
NO_BOUNDS = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Connection to a part.

    way: "port" (opens it), "connect", "listen", "local" (a local socket), "program" (starts it),
    "inside" (it runs in the gateway). address: the port, the URL or the file. mock: the mock that
    runs instead; None: the real part.
    """

    way: str
    address: str
    line: Facts | None = None
    mock: str | None = None


def line_facts(line: LineSettings) -> Facts:
    """Return the rates and the format of a line, such as 8N1."""
    return {
        "baud_rate": line.baudRate,
        "format": f"{line.data_bits}{line.parity}{line.stop_bits}",
        "byte_bits": line.byteSize,
        "bytes_per_s": line.baudRate / line.byteSize,
    }


def robot_facts(config: GatewayConfig, name: str) -> Facts:
    """Return what commands this robot, what moves, what sends and receives, and what stops it."""
    robot = config.robots[name]
    controller = _controller(config, name, robot)
    bodies = [_body(config, name, key) for key in robot.bodies]
    return {
        "name": name,
        "controller": controller,
        "bodies": bodies,
        "mode": robot.mode if len(bodies) > 1 else None,
        "other_devices": list(_other_devices(robot)),
        "radios": list(_radios(config, robot, controller)),
        "stops": stops_of(config, name, controller, bodies),
    }


# --- the controller -------------------------------------------------------------------------------


def _controller(config: GatewayConfig, name: str, robot: RobotConfig) -> Facts | None:
    """Describe the controller of a robot.

    moves: it commands motors. step_ms: of its steps, None without. silence_s: of its serial line.
    behind: the simulator of a proxy. has_battery: an empty one of the robot ends it.
    """
    part = robot.controller
    if part is None:
        return None
    settings, peer, proxy = part.settings, peer_of(part), proxy_of(part)
    mock = behind = None
    mocked = is_mocked(config, f"{name}.controller") and not isinstance(settings, RunsProgram)
    if proxy is not None:
        world = world_name(name, robot)
        mock = proxy.mock(settings, world, config.release).name if mocked else None
        behind = Connection(way="connect", address=settings.connect)
        if is_mocked(config, f"{name}.webots"):
            behind = replace(behind, mock=proxy.simulator(settings, [world], config.release).name)
    elif peer is not None and mocked:
        mock = peer.mock(settings, config.release).name
    step_ms = config.medium.step_ms or DEFAULT_STEP_MS
    kind = plugins.load(plugins.CONTROLLERS, part.kind)
    return {
        "kind": part.kind,
        "summary": kind.summary,
        "connection": _INSIDE if inside_of(part) is not None else _connection(settings, mock),
        "moves": kind.role in PEERS,
        "step_ms": None if stepped_of(part) is None else step_ms,
        "silence_s": settings.silence_s if is_on_line(settings) else None,
        "period_ms": period_ms_of(part),
        "behind": behind,
        "only": () if behind is None else settings.only,
        "has_battery": isinstance(settings, HasBattery) and settings.has_battery,
    }


_INSIDE = Connection(way="inside", address="")


def _connection(settings: object, mock: str | None) -> Connection:
    if isinstance(settings, OnLine) and settings.port is not None:
        line = line_facts(line_settings(settings))
        return Connection(way="port", address=settings.port, line=line, mock=mock)
    if isinstance(settings, RunsProgram):
        return Connection(way="program", address=" ".join([settings.file, *settings.args]))
    if isinstance(settings, Listens) and settings.listen is not None:
        local = isinstance(settings, ListensLocally) and settings.ipc
        also = ", and a local socket" if local else ""
        return Connection(way="listen", address=settings.listen + also, mock=mock)
    if isinstance(settings, Connects) and settings.connect is not None:
        return Connection(way="connect", address=settings.connect, mock=mock)
    return Connection(way="local", address="a local socket", mock=mock)


# --- the bodies -----------------------------------------------------------------------------------


def _body(config: GatewayConfig, name: str, key: str) -> Facts:
    """Describe the body under this key of the file.

    registers: the robot reports its devices when it
    connects, and `devices` has those that the configuration limits.
    """
    robot = config.robots[name]
    part = robot.bodies[key]
    body = plugins.load(plugins.BODIES, part.kind)
    devices = _devices(body, part, config.release)
    mocked = is_mocked(config, f"{name}.{key}")
    simulated = is_simulated(config, f"{name}.{key}", part)
    stepped = stepped_of(robot.controller) is not None
    safety = SafetyState(robot.safety, simulated=simulated, stepped=stepped)
    mock = body.mock(part.settings, config.release).name if mocked else None
    load = body.line_load(part.settings)
    return {
        "key": key,
        "kind": part.kind,
        "summary": body.summary,
        "connection": _connection(part.settings, mock),
        "load": load
        and {
            "period_ms": load.period_ns / NS_PER_MS,
            "needed_bytes": load.needed,
            "possible_bytes": load.possible,
            "each_device": load.each_device,
        },
        "devices": devices or list(_limited(body, part)),
        "registers": not devices,
        "safety": {
            "simulated": safety.simulated,
            "armed": safety.armed,
            "latch": safety.latch,
            "command_timeout_s": safety.timeout_s,
            "late_s": ns_to_s(safety.late_ns),
            "stops_on_fault": safety.stops_on_fault,
        },
        "stop": body.stop_frame(part.settings),
        "silence_s": part.settings.silence_s if is_on_line(part.settings) else None,
        "forwards": list(forwarding_of(part).describe()),
    }


# --- devices --------------------------------------------------------------------------------------


def _devices(body: Any, part: PartConfig, version: str) -> list[Facts]:
    framing = create(body.framing) if is_on_line(part.settings) and body.framing else None
    session = body.session(part.settings, version, framing)
    return [_device(device) for device in session.devices]


def _device(device: Device) -> Facts:
    units = [quantity.unit for quantity in KINDS[device.kind].settings]
    limits = dict(zip(LIMITED, units, strict=True)) if device.role == MOTOR else {}
    return {
        "name": device.name,
        "node": device.kind,
        "role": device.role,
        "reports": [quantity.unit for quantity in device.reports],
        "bounds": list(_bounds(device, limits)),
        "rate": device.limits.rate,
        "default_position": device.default,
    }


def _bounds(device: Device, units: Mapping[str, str]) -> Iterator[Facts]:
    """Yield the limits of a motor; of one, None where it has none.

    `by` sets it: "configuration" refuses values beyond, "device" is what the robot can do.
    """
    own, fields = dict[str, tuple[float, float]](), device.fields
    if isinstance(fields, RotationalMotorFields | LinearMotorFields):
        own["position"] = fields.minPosition, fields.maxPosition
        own["velocity"] = -fields.maxVelocity, fields.maxVelocity
    given = {each: device.limits.bounds(each) for each in units}
    given = {each: bounds for each, bounds in given.items() if bounds != NO_BOUNDS}
    for quantity, ends in {**given, **own, **given}.items():
        low, high = (value if math.isfinite(value) else None for value in ends)
        by = "configuration" if quantity in given else "device"
        if by == "configuration" or ends[0] < ends[1]:
            unit = units[quantity]
            yield {"quantity": quantity, "unit": unit, "low": low, "high": high, "by": by}


def _limited(body: Any, part: PartConfig) -> Iterator[Facts]:
    """Yield the motors that the configuration limits; the robot reports which nodes they are."""
    limits: dict[str, MotorLimits] = part.settings.limits
    defaults: Mapping[str, float] = body.default_positions(part.settings)
    for index, name in enumerate(dict.fromkeys((*limits, *defaults))):
        motor, default = limits.get(name, NO_LIMITS), defaults.get(name)
        device = Device(
            name=name, kind=ROTATIONAL_MOTOR, index=index, limits=motor, default=default
        )
        any_motor = {"node": MOTOR, "reports": (), "bounds": list(_bounds(device, UNITS_OF_ANY))}
        yield _device(device) | any_motor


def _other_devices(robot: RobotConfig) -> Iterator[Facts]:
    nodes = {fields: node for node, fields in FIELDS.items()}
    for index, (name, fields) in enumerate(robot.devices.items()):
        if not isinstance(fields, EmitterFields | ReceiverFields):
            yield _device(Device(name=name, kind=nodes[type(fields)], index=index, fields=fields))


def _radios(config: GatewayConfig, robot: RobotConfig, controller: Facts | None) -> Iterator[Facts]:
    """Describe the Emitters and Receivers of a robot.

    range: of an Emitter, -1: infinite. sampling_period_ms: of a Receiver, None where the controller
    enables it. hardware: the adapters that it meets.
    """
    enables = controller is not None and (controller["step_ms"] or controller["behind"])
    step_ms = config.medium.step_ms or DEFAULT_STEP_MS
    for name, fields in robot.radios.items():
        yield {
            "name": name,
            "node": node_of(fields),
            "type": fields.type,
            "channel": fields.channel,
            "baudRate": fields.baudRate,
            "byteSize": fields.byteSize,
            "bufferSize": fields.bufferSize,
            "range": fields.range if isinstance(fields, EmitterFields) else None,
            "sampling_period_ms": _sampling_ms(fields, step_ms) if not enables else None,
            "hardware": [each for each, part in config.adapters.items() if meet(fields, part)],
        }


def _sampling_ms(fields: EmitterFields | ReceiverFields, step_ms: int) -> int | None:
    if isinstance(fields, EmitterFields):
        return None
    period_ms = fields.sampling_period_ms
    return step_ms if period_ms is None else period_ms or None


# --- what stops the motors ------------------------------------------------------------------------


FREEZE = "the controller freezes: no valid message while a motor moves"


def stops_of(
    config: GatewayConfig,
    robot: str,
    controller: Facts | None,
    bodies: Sequence[Facts],
) -> list[Facts]:
    """Return every cause that stops the motors of this robot; none where nothing moves them."""
    if not bodies or controller is None or not controller["moves"]:
        return []
    named = [(each, f" ({each['key']})" if len(bodies) > 1 else "") for each in bodies]
    rules = [
        *_of_controller(controller, bodies),
        *_of_gateway(robot, bodies, config.estop),
        *(rule for each in named for rule in _of_guardian(*each, config.guardian_ms)),
        *(rule for each in named for rule in _of_body(*each)),
    ]
    return [rule for rule in rules if rule is not None]


def _of_controller(controller: Facts, bodies: Sequence[Facts]) -> list[Facts | None]:
    silence_s = controller["silence_s"]
    loads_plugin = controller["step_ms"] is not None and controller["connection"].way != "program"
    return [
        _rule(
            "the controller ends, disconnects, or sends invalid data",
            StopReason.DISCONNECTED,
            StopReason.PROTOCOL,
        ),
        _rule(
            "the controller's serial line is silent",
            StopReason.SILENCE,
            after_s=silence_s,
            holds=silence_s is not None,
        ),
        *(_freeze(controller, body, several=len(bodies) > 1) for body in bodies),
        _rule("for 0.5 s the controller sends more than hilgw can process", StopReason.SWAMPED),
        _rule(
            "the robot's battery is empty; its controller ends",
            StopReason.BATTERY,
            holds=controller["has_battery"],
        ),
        _rule(
            "a remote-control plug-in that the controller loads drives another robot",
            StopReason.REMOTE,
            holds=loads_plugin,
        ),
    ]


def _freeze(controller: Facts, body: Facts, *, several: bool) -> Facts | None:
    cause = f"{FREEZE} ({body['key']})" if several else FREEZE
    timeout_s = body["safety"]["command_timeout_s"]
    note = ""
    if timeout_s is None:
        note = "not stopped: no safety.command_timeout_s"
        note += " (but its line's silence is)" if controller["silence_s"] is not None else ""
    return _rule(cause, StopReason.COMMAND_TIMEOUT, after_s=timeout_s, note=note)


def _of_gateway(
    robot: str, bodies: Sequence[Facts], estop: EstopConfig | None
) -> list[Facts | None]:
    hold = f"`hilgw arm {robot} --hold`"
    switch = "" if estop is None else f"the emergency-stop switch ({estop.where})"
    return [
        _rule(
            "hilgw itself is late or hangs",
            StopReason.LATE,
            after_s=min(body["safety"]["late_s"] for body in bodies),
        ),
        _rule("an exception in a session", StopReason.FAULT),
        _rule(f"`hilgw disarm {robot}`", StopReason.DISARMED),
        *(
            _rule(f"`hilgw release {robot}.{body['key']}`", StopReason.RELEASED)
            for body in bodies
            if body["connection"].way == "port" and body["connection"].mock is None
        ),
        _rule(
            f"{hold} ends, or its terminal, or the time of --for",
            StopReason.LEASE_ENDED,
            StopReason.LEASE_OVER,
        ),
        _rule(f"{hold} is silent", StopReason.LEASE_EXPIRED, after_s=LEASE_S),
        _rule(
            f"{switch} is pressed, or cannot be read",
            StopReason.ESTOP,
            after_s=ESTOP_S,
            holds=estop is not None,
        ),
        _rule("hilgw ends: Ctrl-C, SIGTERM, --duration", StopReason.ENDED),
        _rule(
            f"`hilgw mode {robot}` leaves a body: that one stops",
            StopReason.EXCHANGED,
            holds=len(bodies) > 1,
        ),
    ]


def _of_guardian(body: Facts, of_body: str, guardian_ms: int) -> list[Facts | None]:
    if body["safety"]["simulated"] or body["connection"].mock is not None:
        return []
    by = f"; robot-guard stops the robot{of_body}"
    is_here = not body["connection"].address.startswith("rfc2217:")
    return [
        _rule(f"hilgw is killed or crashes{by}", StopReason.GUARDIAN, holds=is_here),
        _rule(
            f"hilgw does not run: a freeze{by}",
            StopReason.GUARDIAN,
            after_s=guardian_ms / 1000,
            holds=is_here,
        ),
        _rule(f"robot-guard ends{of_body}", StopReason.GUARDIAN_ENDED, holds=is_here),
        _rule(
            f"what robot-guard does not cover{of_body}: {', '.join(UNGUARDED)}",
            after_s=None,
            note=_alone(body),
        ),
    ]


def _of_body(body: Facts, of_body: str) -> list[Facts | None]:
    silence_s = body["silence_s"]
    silent = "" if silence_s is None else f", or its line is silent for {silence_s:g} s"
    return [
        _rule(
            f"the robot reports a fault of its hardware, where it can{of_body}",
            StopReason.HARDWARE,
            holds=body["safety"]["stops_on_fault"],
        ),
        _rule(f"a first position is outside its limits{of_body}", StopReason.OUTSIDE),
        _rule(
            f"the serial line to the robot is full{of_body}",
            StopReason.BEHIND,
            holds=body["connection"].line is not None,
        ),
        _rule(
            f"the connection to the robot is lost{silent}{of_body}",
            StopReason.BODY,
            after_s=None,
            note=_alone(body),
        ),
    ]


def _alone(body: Facts) -> str:
    return f"hilgw cannot stop it then: {body['stop'].alone}"


def _rule(
    cause: str,
    *reasons: StopReason,
    after_s: float | None = 0.0,
    note: str = "",
    holds: bool = True,
) -> Facts | None:
    """Return one cause that stops the motors, where it holds, with its words in the report.

    It takes `after_s`; 0: at once; None: never, and `note` is what happens.
    """
    if not holds:
        return None
    return {"cause": cause, "reasons": list(map(str, reasons)), "after_s": after_s, "note": note}
