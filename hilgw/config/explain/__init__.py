"""What a configuration connects, at which rates, with which limits and stops: facts for people and
programs. Nothing is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hilgw import plugins
from hilgw.adapters._common.framing_settings import name_of
from hilgw.adapters.declaration import Framed, HasMapping, HasTable, line_of
from hilgw.config.explain.facts import AdapterFacts, AirFacts, Connection, Explanation, Meeting
from hilgw.config.explain.robots import robot_facts
from hilgw.config.line_rates import notices
from hilgw.config.load import Loaded
from hilgw.config.model import AdapterConfig, AirConfig, GatewayConfig
from hilgw.config.queries import has_nodes, is_mocked, meet, same_channel
from hilgw.config.scene import air_of
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields


def explain(loaded: Loaded) -> Explanation:
    """The facts of a checked configuration."""
    config = loaded.config
    return Explanation(
        config=config,
        robots=tuple(robot_facts(config, name) for name in config.robots),
        adapters=tuple(hardware_of(config, name) for name in config.adapters),
        airs=airs_of(config),
        meetings=meetings_of(config),
        notices=tuple(notices(config)),
        warnings=tuple(loaded.warnings),
    )


# --- hardware, airs, and what meets on a type and channel -----------------------------------------


def hardware_of(config: GatewayConfig, name: str) -> AdapterFacts:
    """The facts of the adapter of this name."""
    adapter = config.adapters[name]
    kind, common = plugins.load(plugins.ADAPTERS, adapter.kind), adapter.common
    mock = kind.mock(adapter.settings, common).name if is_mocked(config, name) else None
    line, _ = line_of(common)
    channels = kind.session(adapter.settings, common).channels
    settings = adapter.settings
    framed = isinstance(settings, Framed) and settings.is_framed
    return AdapterFacts(
        name=name,
        config=adapter,
        kind=kind,
        connection=Connection(way="port", address=str(common.port), line=line, mock=mock),
        channels=None if channels is None else tuple(sorted(channels)),
        mapping=_mapping(settings.mapping) if isinstance(settings, HasMapping) else None,
        framing=name_of(settings.framing) if framed else None,
        air=air_of(adapter, name),
    )


def _mapping(mapping: Any) -> str:
    """How Webots channels map to the hardware; the table of addresses where there is one."""
    table = mapping.table if isinstance(mapping, HasTable) else {}
    rows = ", ".join(f"{channel} -> {address}" for channel, address in table.items())
    return f"{mapping.by}: {rows}" if rows else str(mapping.by)


def airs_of(config: GatewayConfig) -> tuple[AirFacts, ...]:
    """The airs of the file, and those that its hardware has by default."""
    members: dict[str, list[str]] = {name: [] for name in config.airs}
    for name, adapter in config.adapters.items():
        members.setdefault(air_of(adapter, name), []).append(name)
    return tuple(
        AirFacts(
            name=name,
            config=config.airs.get(name, AirConfig()),
            adapters=tuple(adapters),
            has_nodes=has_nodes(config, name),
        )
        for name, adapters in members.items()
    )


def meetings_of(config: GatewayConfig) -> tuple[Meeting, ...]:
    """One for each type and channel of a device or of hardware; devices of every channel are in
    each of their type."""
    radios = [
        (f"{robot}.{name}", fields)
        for robot, robot_config in config.robots.items()
        for name, fields in robot_config.radios.items()
    ]
    places = dict.fromkeys([(fields.type, fields.channel) for _, fields in radios])
    places |= dict.fromkeys(_places_of_hardware(config.adapters))
    with_channel = {type_ for type_, channel in places if channel != BROADCAST}
    return tuple(
        _meeting(config, type_, channel, radios)
        for type_, channel in places
        if channel != BROADCAST or type_ not in with_channel
    )


def _places_of_hardware(adapters: dict[str, AdapterConfig]) -> Iterator[tuple[str, int]]:
    for adapter in adapters.values():
        yield plugins.load(plugins.ADAPTERS, adapter.kind).type, adapter.common.channel


def _meeting(
    config: GatewayConfig,
    type_: str,
    channel: int,
    radios: list[tuple[str, EmitterFields | ReceiverFields]],
) -> Meeting:
    here = [
        (name, fields)
        for name, fields in radios
        if fields.type == type_ and same_channel(fields.channel, channel)
    ]
    any_device = EmitterFields(type=type_, channel=channel)
    return Meeting(
        type=type_,
        channel=None if channel == BROADCAST else channel,
        emitters=tuple(name for name, fields in here if isinstance(fields, EmitterFields)),
        receivers=tuple(name for name, fields in here if isinstance(fields, ReceiverFields)),
        adapters=tuple(name for name, each in config.adapters.items() if meet(any_device, each)),
    )
