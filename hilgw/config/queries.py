"""Queries of other rooms about a configuration, and about a file that may have errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, cast

from hilgw import plugins
from hilgw.config.model import AdapterConfig, Backend, GatewayConfig, PartConfig, RobotConfig
from hilgw.config.scene import air_of
from hilgw.control.forwarding import Forwarding
from hilgw.control.parts import InWebots, OnLine
from hilgw.controllers.base import (
    PEERS,
    STEPPED,
    ControllerSession,
    InsideController,
    PeerController,
    ProgramController,
    ProxyController,
    Role,
    SteppedController,
)
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields
from hilgw.transports.base import LineSettings
from hilgw.transports.tcp.address import is_loopback, parse_address

if TYPE_CHECKING:
    from hilgw.adapters.base import UsbId
    from hilgw.bodies.base import Body
    from hilgw.config.context import Inspection
    from hilgw.config.source.text import Path

    Source = GatewayConfig | Inspection  # a configuration, or a file that may have errors

# The speed of a gateway that is not in simulated time.
REAL_TIME = 1
BODY_KEYS = ("body", "remote")

Radio = EmitterFields | ReceiverFields


# --- what a controller is -------------------------------------------------------------------------


def _controller(part: PartConfig | None, roles: Collection[Role]) -> Any:
    controller = None if part is None else plugins.load(plugins.CONTROLLERS, part.kind)
    return controller if controller is not None and controller.role in roles else None


def peer_of(part: PartConfig | None) -> PeerController | None:
    """Return the controller if it is a peer on a connection; None if it runs in the gateway."""
    return cast("PeerController | None", _controller(part, PEERS))


def stepped_of(part: PartConfig | None) -> SteppedController | None:
    """Return the controller if it asks for steps, else None."""
    return cast("SteppedController | None", _controller(part, STEPPED))


def program_of(part: PartConfig | None) -> ProgramController | None:
    """Return the controller if hilgw starts it, else None."""
    return cast("ProgramController | None", _controller(part, (Role.PROGRAM,)))


def proxy_of(part: PartConfig | None) -> ProxyController | None:
    """Return the controller if its robot is in a simulator behind hilgw, else None."""
    return cast("ProxyController | None", _controller(part, (Role.PROXY,)))


def inside_of(part: PartConfig | None) -> InsideController | None:
    """Return the controller if it decides inside the gateway, else None."""
    return cast("InsideController | None", _controller(part, (Role.INSIDE,)))


def session_of(part: PartConfig | None) -> ControllerSession | None:
    """Return a session of the controller if it decides inside the gateway, else None."""
    inside = inside_of(part)
    return None if part is None or inside is None else inside.session(part.settings)


def period_ms_of(part: PartConfig) -> float | None:
    """Return the period of a controller in the gateway in ms; None if it has none."""
    inside = inside_of(part)
    return None if inside is None else inside.period_ms(part.settings)


def world_name(name: str, config: RobotConfig) -> str:
    """Return the name that a robot behind a proxy has in its simulator."""
    assert config.controller is not None
    settings: InWebots = config.controller.settings
    return settings.robot or name


# --- connections ----------------------------------------------------------------------------------


def is_on_line(settings: object) -> bool:
    """Return True for the settings of a controller or a body on a serial line."""
    return isinstance(settings, OnLine) and settings.port is not None


def line_settings(settings: OnLine) -> LineSettings:
    """Return the serial line of a body or a controller; byteSize 8 counts as 10, 8N1."""
    return LineSettings(settings.baudRate, stop_bits=max(1, settings.byteSize - 9))


def endpoint(url: str) -> tuple[str, int]:
    """Return host and port of an address, in one spelling.

    Raises:
      ValueError: it is not an address.
    """
    host, port = parse_address(url)
    return "127.0.0.1" if host == "localhost" else host.lower(), port


def is_local(url: str) -> bool:
    """Return True if only this machine reaches tcp://HOST:PORT.

    Raises:
      ValueError: it is not an address.
    """
    host, _ = parse_address(url)
    try:
        return is_loopback(host)
    except ValueError:
        return host == "localhost"


# --- back ends ------------------------------------------------------------------------------------


def backend_of(source: Source, part: str) -> Backend:
    """Return the back end of a part.

    Parts are stations, ROBOT.controller, ROBOT.body, ROBOT.remote, and ROBOT.webots for a proxy.
    """
    name, _, key = part.partition(".")
    if isinstance(source, GatewayConfig):
        chosen = source.robots[name].parts.get(key) if key else source.adapters.get(part)
        own, real = None if chosen is None else chosen.backend, source.real
    else:
        path = ("robots", name, key) if key else ("adapters", part)
        own, real = source.get(*path, "backend"), source.get("real")
    if own in tuple(Backend):
        return Backend(own)
    listed = isinstance(real, list | tuple) and part in real
    return Backend.REAL if listed else default_backend(source)


def default_backend(source: Source) -> Backend:
    """Return the back end of parts without one of their own."""
    given = source.backend if isinstance(source, GatewayConfig) else source.get("backend")
    return Backend(given) if given in tuple(Backend) else Backend.REAL


def own_backends(config: GatewayConfig) -> dict[str, Backend]:
    """Return the back end of each part that has one of its own."""
    return {name: part.backend for name, part in _parts(config).items() if part.backend}


def _parts(config: GatewayConfig) -> dict[str, AdapterConfig | PartConfig]:
    parts: dict[str, AdapterConfig | PartConfig] = dict(config.adapters)
    for name, robot in config.robots.items():
        parts |= {f"{name}.{key}": part for key, part in robot.parts.items()}
    return parts


def real_ports(config: GatewayConfig) -> dict[str, str | UsbId]:
    """Return the devices of this machine that a gateway of this file opens, by their part."""
    lines: dict[str, Any] = {
        name: part.common if isinstance(part, AdapterConfig) else part.settings
        for name, part in _parts(config).items()
        if not is_mocked(config, name)
    }
    if not is_estop_mocked(config):
        lines["estop"] = config.estop
    ports = {name: getattr(each, "port", None) for name, each in lines.items()}
    return {name: port for name, port in ports.items() if port and "://" not in str(port)}


def is_mocked(source: Source, part: str) -> bool:
    """Return True if a mock replaces this part."""
    return backend_of(source, part).is_mocked


def is_estop_mocked(config: GatewayConfig) -> bool:
    """Return True if the emergency-stop switch is a mock: only if no robot is real."""
    bodies = [f"{name}.{key}" for name, robot in config.robots.items() for key in robot.bodies]
    return config.backend.is_mocked and all(is_mocked(config, each) for each in bodies)


def has_nodes(source: Source, air: str) -> bool:
    """Return True if the mocks that share this air exist: the hardware in it is mocked, too."""
    if isinstance(source, GatewayConfig):
        adapters = list(source.adapters.items())
    else:
        adapters = [(part_name(path), each) for path, each in source.made("adapters", None)]
    return default_backend(source).is_mocked or any(
        air_of(each, name) == air and is_mocked(source, name) for name, each in adapters
    )


def part_name(path: Path) -> str:
    """Return the name of the part at `path`, as in `real:`."""
    return ".".join(map(str, path[1:]))


def is_simulated(source: Source, name: str, body: PartConfig) -> bool:
    """Return True if this body, of the part of this name, has no real motors."""
    simulated: bool | None = body.settings.simulated
    if simulated is not None:
        return simulated
    return is_mocked(source, name) or bool(plugins.load(plugins.BODIES, body.kind).simulated)


def moves_unlatched(config: GatewayConfig, name: str) -> bool:
    """Return True if a body of this robot is real, and its loss does not disarm it."""
    robot = config.robots[name]
    bodies = robot.bodies.items()
    simulated = all(is_simulated(config, f"{name}.{key}", body) for key, body in bodies)
    return robot.safety.latch is False and not simulated


# --- bodies and radios ----------------------------------------------------------------------------


def bodies(inspection: Inspection) -> Iterator[tuple[Path, Any]]:
    """Yield every body of the file, with its path."""
    for key in BODY_KEYS:
        yield from inspection.made("robots", None, key)


def forwarding_of(part: PartConfig | None) -> Forwarding:
    """Return the packets that a body forwards between its radios and the medium; false if none."""
    if part is None:
        return Forwarding()
    body: Body = plugins.load(plugins.BODIES, part.kind)
    return body.forwarding(part.settings)


def meet(fields: Radio, adapter: AdapterConfig) -> bool:
    """Return True if packets pass between this device and this hardware."""
    part = plugins.load(plugins.ADAPTERS, adapter.kind)
    if part.type != fields.type:
        return False
    if same_channel(fields.channel, adapter.common.channel):
        return True  # each mapping has it; found without the import of a session
    channels = part.session(adapter.settings, adapter.common).channels
    return channels is None or any(same_channel(fields.channel, each) for each in channels)


def same_channel(one: int, other: int) -> bool:
    """Return True if packets pass between these channels; -1 is every channel."""
    return one == other or BROADCAST in (one, other)
