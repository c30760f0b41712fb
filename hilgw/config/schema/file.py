"""The schema of the whole file; kinds are loaded on demand."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from hilgw import plugins
from hilgw.adapters.declaration import StationSettings
from hilgw.config.model import (
    AccessConfig,
    AdapterConfig,
    AirConfig,
    GatewayConfig,
    MotionFile,
    NodeConfig,
    PartBackend,
    PartConfig,
    RobotConfig,
    TokenConfig,
)
from hilgw.config.schema.limits import checked, refuse, refuse_key
from hilgw.config.schema.models import parts_schema, settings_schema, union
from hilgw.devices.properties import FIELDS, NO_IMAGES, NOT_CARRIED
from hilgw.errors import ConfigError, quoted
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacle_settings import ObstacleSettings
from hilgw.settings import LONGEST_NAME

MOTIONS = {"circle": Circle, "waypoints": Waypoints, "file": MotionFile}
RESERVED = frozenset(("all", "none"))


@functools.cache
def file_validator() -> SchemaValidator:
    """Return the validator of the data of a file, which returns the configuration.

    The validator's context is a Context.
    """
    return SchemaValidator(_file_schema())


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a file, with every installed kind that loads."""
    from hilgw.config.schema.editors import json_schema_of

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **json_schema_of(_file_schema()),
        "title": "hilgw configuration",
    }


def broken_kinds() -> list[ConfigError]:
    """Return the error of each installed kind that cannot be used."""
    broken = []
    for group in (plugins.ADAPTERS, plugins.BODIES, plugins.CONTROLLERS):
        for kind in plugins.names(group):
            try:
                _kind_schema(group, kind)
            except ConfigError as error:
                broken.append(error)
    return broken


def _file_schema() -> CoreSchema:
    name, device_name = _name(".:"), _name(":", couples=True)
    tokens = _named(name, settings_schema(TokenConfig))
    types = {
        "robots": _named(name, _robot(device_name)),
        "obstacles": _named(name, settings_schema(ObstacleSettings)),
        "adapters": _named(name, _by_kind(plugins.ADAPTERS)),
        "airs": _named(name, _air(name)),
        "access": parts_schema("access", (AccessConfig,), types={"tokens": tokens}),
    }
    return parts_schema("hilgw", (GatewayConfig,), types=types)


def _named(name: CoreSchema, item: CoreSchema) -> CoreSchema:
    only_names = {"json": {"additionalProperties": False}}
    return core_schema.dict_schema(name, item, strict=True, metadata=only_names)


def _name(forbidden: str, *, couples: bool = False) -> CoreSchema:
    """Return the schema of a name in commands and reports: printable, no `forbidden` characters.

    With `couples` the name may contain the "::" of coupled motors.
    """

    def check(name: str) -> str:
        plain = name.replace("::", "") if couples else name
        strange = [c for c in plain if c in forbidden or not c.isprintable()]
        if len(name) > LONGEST_NAME:
            raise refuse(
                f"the name {quoted(name)} has more than {LONGEST_NAME} characters",
                "use a shorter one",
            )
        if not name or strange or name != name.strip():
            reason = f"may not contain {quoted(strange[0])}" if strange else "is not valid"
            raise refuse(f"the name {quoted(name)} {reason}", "use letters, digits, - and _")
        if name in RESERVED:
            raise refuse(f"the name {quoted(name)} is reserved", "choose another")
        return name

    one = f"(::|[^{forbidden}])" if couples else f"[^{forbidden}]"
    pattern = {"pattern": f"^{one}{{1,{LONGEST_NAME}}}$"}
    return checked(core_schema.str_schema(strict=True), check, pattern)


def _robot(device_name: CoreSchema) -> CoreSchema:
    types = {
        "motion": core_schema.nullable_schema(_one_of("kind", MOTIONS)),
        "devices": _named(device_name, _device()),
        "controller": core_schema.nullable_schema(_by_kind(plugins.CONTROLLERS)),
        "body": core_schema.nullable_schema(_by_kind(plugins.BODIES)),
        "remote": core_schema.nullable_schema(_by_kind(plugins.BODIES)),
    }
    return parts_schema("robot", (RobotConfig,), types=types)


def _device() -> CoreSchema:
    carried = {
        node: _on_demand(functools.partial(_tagged, "node", node, fields))
        for node, fields in FIELDS.items()
    }
    carried["Camera"] = _blank(carried["Camera"])
    others = {node: _not_carried(what) for node, what in NOT_CARRIED.items()}
    return union("node", carried | others, {}, names=lambda: list(FIELDS))


def _blank(camera: CoreSchema) -> CoreSchema:
    def check(value: Any) -> Any:
        if isinstance(value, dict) and "absent" not in value:
            fix = "write `absent: blank` for a black one of its width and height, or delete it"
            raise refuse_key(value, "node", refuse(NO_IMAGES, fix))
        return value

    return core_schema.no_info_before_validator_function(
        check, camera, metadata=camera.get("metadata", {})
    )


def _not_carried(problem: str) -> CoreSchema:
    def validate(value: Any) -> Any:
        fix = "delete the device; docs/config.md lists those that a control loop carries"
        raise refuse_key(value, "node", refuse(problem, fix))

    def make() -> CoreSchema:
        raise ConfigError(problem)

    return core_schema.no_info_plain_validator_function(validate, metadata={"make": make})


def _on_demand(make: Callable[[], CoreSchema]) -> CoreSchema:
    """Return a schema that is made when a value needs it.

    A ConfigError of `make` means that the kind of the value cannot be used.
    """

    @functools.cache
    def validator() -> SchemaValidator:
        return SchemaValidator(make())

    def validate(value: Any, info: Any) -> Any:
        try:
            made = validator()
        except ConfigError as error:
            raise refuse_key(value, "kind", refuse(error.what, error.fix)) from error
        return made.validate_python(value, context=info.context)

    return core_schema.with_info_plain_validator_function(validate, metadata={"make": make})


def _tagged(tag: str, name: str, part: type[Any]) -> CoreSchema:
    return parts_schema(name, (part,), tag=(tag, name))


def _air(name: CoreSchema) -> CoreSchema:
    node = parts_schema("node", (NodeConfig,), _node, rest="parameters")
    return parts_schema("air", (AirConfig,), types={"nodes": _named(name, node)})


def _node(node: NodeConfig) -> NodeConfig:
    """Return the node with the name of its mock, which may be written as the name of an adapter."""
    return replace(node, mock=plugins.mock_of(node.mock))


def _one_of(tag: str, parts: Mapping[str, type[Any]]) -> CoreSchema:
    return union(tag, {name: _tagged(tag, name, part) for name, part in parts.items()}, {})


def _by_kind(group: plugins.Group) -> CoreSchema:
    """Return the schema of a mapping that selects a part of the group by its key `kind`.

    A kind is imported, and its schema made, when it is used.
    """

    def others() -> CoreSchema:
        kinds = set(plugins.names(group)) - set(own)
        return union("kind", {kind: schema_of(kind) for kind in sorted(kinds)}, {})

    def schema_of(kind: str) -> CoreSchema:
        return _on_demand(functools.partial(_kind_schema, group, kind))

    own = {kind: schema_of(kind) for kind in plugins.own(group)}
    names = functools.partial(plugins.names, group)
    return union("kind", own, {}, rest=_on_demand(others), names=names)


def _kind_schema(group: plugins.Group, kind: str) -> CoreSchema:
    part = plugins.load(group, kind)
    config = AdapterConfig if group == plugins.ADAPTERS else PartConfig
    shared = {"common": StationSettings} if group == plugins.ADAPTERS else {}

    def make(*instances: Any) -> AdapterConfig | PartConfig:
        return config(kind=kind, **dict(zip(("own", *shared, "settings"), instances, strict=True)))

    try:
        parts = (PartBackend, *shared.values(), part.Settings)
        return parts_schema(f"{group.export.lower()} {kind}", parts, make, tag=("kind", kind))
    except Exception as error:  # settings of other distributions may raise anything
        raise ConfigError(
            f"the settings of kind {quoted(kind)} cannot be read: {error!r:.200}",
            fix="repair or remove the distribution that has it",
        ) from error
