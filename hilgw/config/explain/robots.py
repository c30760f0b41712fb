"""The robots of an explanation: controller, bodies, devices with their limits, radios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hilgw import plugins
from hilgw.config.explain.facts import (
    BodyFacts,
    Bound,
    Connection,
    ControllerFacts,
    DeviceFacts,
    Line,
    Load,
    RadioFacts,
    RobotFacts,
    SafetyFacts,
    Stop,
)
from hilgw.config.explain.stops import stops_of
from hilgw.config.model import GatewayConfig, PartConfig, RobotConfig
from hilgw.config.queries import (
    forwarding_of,
    inside_of,
    is_mocked,
    is_on_line,
    is_simulated,
    line_settings,
    meet,
    peer_of,
    program_of,
    proxy_of,
    stepped_of,
    world_name,
)
from hilgw.control.parts import HasBattery, Listens, ListensLocally
from hilgw.control.safety import SafetyState
from hilgw.devices.fields import DEFAULT_STEP_MS, EmitterFields, ReceiverFields
from hilgw.devices.kinds import KINDS, MOTOR, NO_LIMITS, Device, MotorLimits
from hilgw.devices.properties import FIELDS, LinearMotorFields, RotationalMotorFields
from hilgw.framing import create
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_MS, ns_to_s

LIMITED = ("position", "velocity", "acceleration", "force")  # as a motor's settings are in order
UNITS_OF_ANY = dict(
    zip(LIMITED, ("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2", "N m or N"), strict=True)
)
NO_BOUNDS = (-math.inf, math.inf)


def robot_facts(config: GatewayConfig, name: str) -> RobotFacts:
    """The facts of the robot of this name."""
    robot = config.robots[name]
    controller = _controller(config, name, robot)
    bodies = tuple(_body(config, name, key, controller) for key in robot.bodies)
    return RobotFacts(
        name=name,
        controller=controller,
        bodies=bodies,
        mode=robot.mode if len(bodies) > 1 else None,
        other_devices=tuple(_other_devices(robot)),
        radios=tuple(_radios(config, robot, controller)),
        stops=stops_of(name, controller, bodies),
    )


# --- the controller -------------------------------------------------------------------------------


def _controller(config: GatewayConfig, name: str, robot: RobotConfig) -> ControllerFacts | None:
    part = robot.controller
    if part is None:
        return None
    kind = plugins.load(plugins.CONTROLLERS, part.kind)
    mocked = is_mocked(config, f"{name}.controller")
    silence_s = period_ms = behind = step_ms = None
    if (proxy := proxy_of(part)) is not None:
        world = world_name(name, robot)
        mock = proxy.mock(part.settings, world, config.webots).name if mocked else None
        connection = Connection(way="listen", address=part.settings.listen, mock=mock)
        behind = _simulator(config, name, part, world)
    elif (peer := peer_of(part)) is None:
        connection = Connection(way="inside", address="")
        inside = inside_of(part)
        period_ms = None if inside is None else inside.period_ms(part.settings)
    else:
        stepped = stepped_of(part) is not None
        step_ms = (config.medium.step_ms or DEFAULT_STEP_MS) if stepped else None
        connection = _peer_connection(part, peer, config.webots, mocked=mocked)
        silence_s = part.settings.silence_s if connection.way == "port" else None
    return ControllerFacts(
        kind=part.kind,
        summary=kind.summary,
        connection=connection,
        moves=peer_of(part) is not None,
        step_ms=step_ms,
        silence_s=silence_s,
        period_ms=period_ms,
        behind=behind,
        only=() if proxy is None else tuple(part.settings.only),
        has_battery=isinstance(part.settings, HasBattery) and part.settings.has_battery,
    )


def _simulator(config: GatewayConfig, name: str, part: PartConfig, world: str) -> Connection:
    proxy = proxy_of(part)
    assert proxy is not None
    mock = None
    if is_mocked(config, f"{name}.webots"):
        mock = proxy.simulator(part.settings, [world], config.webots).name
    return Connection(way="connect", address=part.settings.connect, mock=mock)


def _peer_connection(part: PartConfig, peer: Any, version: str, *, mocked: bool) -> Connection:
    settings = part.settings
    if program_of(part) is not None:  # on mocks the program itself runs
        return Connection(way="program", address=" ".join([settings.file, *settings.args]))
    mock = peer.mock(settings, version).name if mocked else None
    if is_on_line(settings):
        return Connection(
            way="port",
            address=str(settings.port),
            line=line_facts(line_settings(settings)),
            mock=mock,
        )
    if not isinstance(settings, Listens) or settings.listen is None:
        return Connection(way="local", address="a local socket", mock=mock)
    also = ", and a local socket" if isinstance(settings, ListensLocally) and settings.ipc else ""
    return Connection(way="listen", address=settings.listen + also, mock=mock)


def line_facts(line: LineSettings) -> Line:
    """The facts of any serial line."""
    return Line(
        baud_rate=line.baudRate,
        format=f"8{line.parity}{line.stop_bits}",
        byte_bits=line.byteSize,
        bytes_per_s=line.baudRate / line.byteSize,
    )


# --- the bodies -----------------------------------------------------------------------------------


def _body(
    config: GatewayConfig, name: str, key: str, controller: ControllerFacts | None
) -> BodyFacts:
    robot = config.robots[name]
    part = robot.bodies[key]
    body = plugins.load(plugins.BODIES, part.kind)
    frame = body.stop_frame(part.settings)
    load = body.line_load(part.settings)
    devices = _devices(body, part, config.webots)
    return BodyFacts(
        key=key,
        kind=part.kind,
        summary=body.summary,
        connection=_body_connection(config, f"{name}.{key}", part, body),
        load=None
        if load is None
        else Load(
            period_ms=load.period_ns / NS_PER_MS,
            needed_bytes=load.needed,
            possible_bytes=load.possible,
            each_device=load.each_device,
        ),
        devices=devices or tuple(_limited(body, part)),
        registers=not devices,
        safety=_safety(robot, controller, simulated=is_simulated(config, name, key)),
        stop=Stop(
            words=frame.words,
            form=frame.form,
            each_motor=frame.each_motor,
            has_watchdog=frame.has_watchdog,
            alone=frame.alone,
        ),
        silence_s=part.settings.silence_s if is_on_line(part.settings) else None,
        forwards=tuple(_forwards(part)),
    )


def _body_connection(
    config: GatewayConfig, part_name: str, part: PartConfig, body: Any
) -> Connection:
    settings = part.settings
    mocked = is_mocked(config, part_name)
    mock = body.mock(settings, config.webots).name if mocked else None
    if not is_on_line(settings):
        return Connection(way="connect", address=settings.connect, mock=mock)
    line = line_facts(line_settings(settings))
    return Connection(way="port", address=str(settings.port), line=line, mock=mock)


def _safety(
    robot: RobotConfig, controller: ControllerFacts | None, *, simulated: bool
) -> SafetyFacts:
    stepped = controller is not None and controller.step_ms is not None
    state = SafetyState(robot.safety, simulated=simulated, stepped=stepped)
    return SafetyFacts(
        simulated=simulated,
        armed=state.armed,
        latch=state.latch,
        command_timeout_s=ns_to_s(state.timeout_ns) if state.timeout_ns else None,
        late_s=robot.safety.late_s,
        stops_on_fault=state.stops_on_fault,
    )


def _forwards(part: PartConfig) -> Iterator[str]:
    forwarding = forwarding_of(part)
    if forwarding is None:
        return
    for world, medium in forwarding.to_medium.items():
        yield f"what the Receiver {world} of the world receives leaves through {medium}"
    for world, medium in forwarding.from_medium.items():
        yield f"what {medium} receives leaves through the Emitter {world} of the world"


# --- devices --------------------------------------------------------------------------------------


def _devices(body: Any, part: PartConfig, version: str) -> tuple[DeviceFacts, ...]:
    """Those that the settings alone decide; none where the robot reports them."""
    framing = create(body.framing) if is_on_line(part.settings) and body.framing else None
    session = body.session(part.settings, version, framing)
    return tuple(_device(device) for device in session.devices)


def _device(device: Device) -> DeviceFacts:
    is_motor = device.role == MOTOR
    return DeviceFacts(
        name=device.name,
        node=device.kind,
        role=device.role,
        reports=tuple(quantity.unit for quantity in device.reports),
        bounds=(*_limits(device.limits, _units(device)), *_own(device)) if is_motor else (),
        rate=device.limits.rate,
        default_position=device.default,
    )


def _units(device: Device) -> dict[str, str]:
    """The unit of each limited quantity of a motor."""
    units = [quantity.unit for quantity in KINDS[device.kind].settings]
    return dict(zip(LIMITED, units, strict=True))


def _limits(limits: MotorLimits, units: dict[str, str]) -> Iterator[Bound]:
    """The limits of the configuration."""
    for quantity, unit in units.items():
        low, high = limits.bounds(quantity)
        if (low, high) != NO_BOUNDS:
            yield Bound(
                quantity=quantity,
                unit=unit,
                low=_finite(low),
                high=_finite(high),
                by="configuration",
            )


def _own(device: Device) -> Iterator[Bound]:
    """What the device can do, where the configuration limits nothing."""
    fields = device.fields
    if not isinstance(fields, RotationalMotorFields | LinearMotorFields):
        return
    fastest = fields.maxVelocity
    own = {
        "position": (fields.minPosition, fields.maxPosition),
        "velocity": (-fastest, fastest),
    }
    units = _units(device)
    for quantity, (low, high) in own.items():
        if device.limits.bounds(quantity) == NO_BOUNDS and low < high:
            yield Bound(quantity=quantity, unit=units[quantity], low=low, high=high, by="device")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _limited(body: Any, part: PartConfig) -> Iterator[DeviceFacts]:
    """The motors that the configuration names, of a robot that reports its devices itself."""
    limits: dict[str, MotorLimits] = part.settings.limits
    defaults: Mapping[str, float] = body.default_positions(part.settings)
    for name in dict.fromkeys((*limits, *defaults)):
        motor = limits.get(name, NO_LIMITS)
        yield DeviceFacts(
            name=name,
            node="motor",
            role=MOTOR,
            reports=(),
            bounds=tuple(_limits(motor, UNITS_OF_ANY)),
            rate=motor.rate,
            default_position=defaults.get(name),
        )


def _other_devices(robot: RobotConfig) -> Iterator[DeviceFacts]:
    """Those of the configuration beside the radios."""
    nodes = {fields: node for node, fields in FIELDS.items()}
    for index, (name, fields) in enumerate(robot.devices.items()):
        if not isinstance(fields, EmitterFields | ReceiverFields):
            yield _device(Device(name=name, kind=nodes[type(fields)], index=index, fields=fields))


def _radios(
    config: GatewayConfig, robot: RobotConfig, controller: ControllerFacts | None
) -> Iterator[RadioFacts]:
    enables = controller is not None and (controller.step_ms or controller.behind)
    step_ms = config.medium.step_ms or DEFAULT_STEP_MS
    for name, fields in robot.radios.items():
        is_emitter = isinstance(fields, EmitterFields)
        yield RadioFacts(
            name=name,
            node="Emitter" if is_emitter else "Receiver",
            type=fields.type,
            channel=fields.channel,
            baudRate=fields.baudRate,
            byteSize=fields.byteSize,
            bufferSize=fields.bufferSize,
            range=fields.range if isinstance(fields, EmitterFields) else None,
            sampling_period_ms=_sampling_ms(fields, step_ms) if not enables else None,
            hardware=tuple(
                each for each, adapter in config.adapters.items() if meet(fields, adapter)
            ),
        )


def _sampling_ms(fields: EmitterFields | ReceiverFields, step_ms: int) -> int | None:
    """The period at which a Receiver samples at the start; None: it is not enabled."""
    if isinstance(fields, EmitterFields):
        return None
    period_ms = fields.sampling_period_ms
    return step_ms if period_ms is None else period_ms or None
