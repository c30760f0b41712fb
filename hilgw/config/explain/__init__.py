"""Facts of a configuration: what it connects, at which rates, with which limits and stops.

These are facts for people and programs. Nothing is opened.
"""

from typing import Any

from hilgw import plugins
from hilgw.adapters._common.framing_settings import name_of
from hilgw.adapters.declaration import Framed, HasMapping, HasTable, line_of
from hilgw.config.explain.robots import Connection, Facts, line_facts, robot_facts
from hilgw.config.line_rates import notices
from hilgw.config.load import Loaded
from hilgw.config.model import (
    AirConfig,
    FederationConfig,
    GatewayConfig,
)
from hilgw.config.queries import has_nodes, is_estop_mocked, is_mocked, meet, same_channel
from hilgw.config.scene import air_of
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields


def explain(loaded: Loaded) -> Facts:
    """Return the facts of a checked configuration.

    speed: a factor, or "max"; step_ms: the basic time step of the medium, None: packets leave at
    any time. tokens: name -> role, for clients on other hosts.
    """
    config, estop = loaded.config, loaded.config.estop
    return {
        "backend": config.backend,
        "real": config.real,
        "speed": config.speed,
        "webots": config.release,
        "step_ms": config.medium.step_ms,
        "mocap": None if config.medium.mocap is None else config.medium.mocap.listen,
        "tokens": {name: token.role for name, token in config.access.tokens.items()},
        "tls": config.access.tls is not None,
        "estop": estop
        and {"port": str(estop.port), "line": estop.line, "mock": is_estop_mocked(config)},
        "obstacles": list(config.obstacles),
        "federation": None if config.federation is None else _federation(config.federation),
        "robots": [robot_facts(config, name) for name in config.robots],
        "adapters": [hardware_of(config, name) for name in config.adapters],
        "airs": airs_of(config),
        "meetings": meetings_of(config),
        "notices": list(notices(config)),
        "warnings": loaded.warnings,
    }


def _federation(config: FederationConfig) -> Facts:
    """Return its facts without the settings of Zenoh, which may have secrets."""
    keys = ("name", "network", "mode", "connect", "plaintext", "ros2")
    return {key: getattr(config, key) for key in keys} | {"listen": config.endpoints}


# --- hardware, airs, and what meets on a type and channel -----------------------------------------


def hardware_of(config: GatewayConfig, name: str) -> Facts:
    """Return the facts of the adapter of this name.

    `channels` are those that it sends; None: all.
    """
    adapter = config.adapters[name]
    kind, common = plugins.load(plugins.ADAPTERS, adapter.kind), adapter.common
    mock = kind.mock(adapter.settings, common).name if is_mocked(config, name) else None
    port = Connection(
        way="port", address=str(common.port), line=line_facts(line_of(common)[0]), mock=mock
    )
    channels = kind.session(adapter.settings, common).channels
    settings = adapter.settings
    framed = isinstance(settings, Framed) and settings.is_framed
    return {
        "name": name,
        "kind": adapter.kind,
        "summary": kind.summary,
        "type": kind.type,
        "connection": port,
        "channel": common.channel,
        "channels": None if channels is None else sorted(channels),
        "mapping": _mapping(settings.mapping) if isinstance(settings, HasMapping) else None,
        "framing": name_of(settings.framing) if framed else None,
        "payload_bytes": kind.limits.payload,
        "window": kind.limits.window,
        "queue_bytes": common.bufferSize,
        "air": air_of(adapter, name),
        "attached_to": common.attached_to,
        "relay": common.relay,
    }


def _mapping(mapping: Any) -> str:
    table = mapping.table if isinstance(mapping, HasTable) else {}
    rows = ", ".join(f"{channel} -> {address}" for channel, address in table.items())
    return f"{mapping.by}: {rows}" if rows else str(mapping.by)


def airs_of(config: GatewayConfig) -> list[Facts]:
    """Return the airs of the file, and those that its hardware has by default.

    exists: whether the mock exists with these back ends.
    """
    members: dict[str, list[str]] = {name: [] for name in config.airs}
    for name, adapter in config.adapters.items():
        members.setdefault(air_of(adapter, name), []).append(name)
    return [_air(config, name, adapters) for name, adapters in members.items()]


def _air(config: GatewayConfig, name: str, adapters: list[str]) -> Facts:
    air, exists = config.airs.get(name, AirConfig()), has_nodes(config, name)
    nodes = [
        {"name": each, "mock": node.mock, "link": node.link, "exists": exists}
        for each, node in air.nodes.items()
    ]
    return {"name": name, "adapters": adapters, "nodes": nodes, "loss": air.loss}


def meetings_of(config: GatewayConfig) -> list[Facts]:
    """Return one for each type and channel of a device or of hardware.

    Devices of every channel are in each of their type.
    """
    radios = [
        (f"{robot}.{name}", fields)
        for robot, robot_config in config.robots.items()
        for name, fields in robot_config.radios.items()
    ]
    places = dict.fromkeys([(fields.type, fields.channel) for _, fields in radios])
    places |= dict.fromkeys(
        (plugins.load(plugins.ADAPTERS, adapter.kind).type, adapter.common.channel)
        for adapter in config.adapters.values()
    )
    with_channel = {type_ for type_, channel in places if channel != BROADCAST}
    return [
        _meeting(config, type_, channel, radios)
        for type_, channel in places
        if channel != BROADCAST or type_ not in with_channel
    ]


def _meeting(
    config: GatewayConfig,
    type_: str,
    channel: int,
    radios: list[tuple[str, EmitterFields | ReceiverFields]],
) -> Facts:
    here = [
        (name, fields)
        for name, fields in radios
        if fields.type == type_ and same_channel(fields.channel, channel)
    ]
    any_device = EmitterFields(type=type_, channel=channel)
    return {
        "type": type_,
        "channel": None if channel == BROADCAST else channel,
        "emitters": [name for name, fields in here if isinstance(fields, EmitterFields)],
        "receivers": [name for name, fields in here if isinstance(fields, ReceiverFields)],
        "adapters": [name for name, each in config.adapters.items() if meet(any_device, each)],
    }
