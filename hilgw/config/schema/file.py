"""The model of the whole file; kinds are loaded on demand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter, WithJsonSchema

from hilgw import plugins
from hilgw.adapters.base import StationSettings
from hilgw.config.model import (
    AdapterConfig,
    AirConfig,
    GatewayConfig,
    MotionFile,
    NodeConfig,
    PartConfig,
    RobotConfig,
)
from hilgw.config.schema.limits import refuse
from hilgw.config.schema.models import annotation, parts_model
from hilgw.config.schema.unions import Pick, choose_by_kind
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.errors import ConfigError, quoted
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacles import ObstacleSettings

NODES = {"Emitter": EmitterFields, "Receiver": ReceiverFields}
MOTIONS = {"circle": Circle, "waypoints": Waypoints, "file": MotionFile}
RESERVED = frozenset(("all", "none"))


@functools.cache
def file_adapter() -> TypeAdapter[GatewayConfig]:
    """Validates the data of a file and returns the configuration; its context is a Context."""
    name, device_name = _name(".:/"), _name(":/")
    types = {
        "robots": _named(name, _robot(device_name)),
        "obstacles": _named(name, annotation(ObstacleSettings)),
        "adapters": _named(name, _by_kind(plugins.ADAPTERS)),
        "airs": _named(name, _air(name)),
    }
    return TypeAdapter(parts_model("hilgw", (GatewayConfig,), _itself, types=types))


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file, with every kind that is installed and loads."""
    schema = file_adapter().json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "hilgw configuration",
    }


def broken_kinds() -> list[ConfigError]:
    """The error of each installed kind that cannot be used."""
    return [
        error
        for group in (plugins.ADAPTERS, plugins.BODIES, plugins.CONTROLLERS)
        for error in _models(group, functools.partial(_model, group))[1]
    ]


def _itself(instance: Any) -> Any:
    return instance


class _NoOthers:
    """In the JSON Schema: names that do not match their pattern are errors."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "additionalProperties": False}


def _named(name: Any, item: Any) -> Any:
    return Annotated[dict[name, item], _NoOthers()]


def _name(forbidden: str) -> Any:
    """A name for commands and reports: printable, without these characters."""

    def check(name: str) -> str:
        strange = [c for c in name if c in forbidden or not c.isprintable()]
        if not name or strange or name != name.strip() or len(name) > 64:
            reason = f"may not contain {quoted(strange[0])}" if strange else "is not valid"
            raise refuse(f"the name {quoted(name)} {reason}", "use letters, digits, - and _")
        if name in RESERVED:
            raise refuse(f"the name {quoted(name)} is reserved", "choose another")
        return name

    schema = {"type": "string", "pattern": f"^[^{forbidden}]{{1,64}}$"}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


def _robot(device_name: Any) -> Any:
    types = {
        "motion": _one_of("kind", MOTIONS) | None,
        "devices": _named(device_name, _one_of("node", NODES)),
        "controller": _by_kind(plugins.CONTROLLERS) | None,
        "body": _by_kind(plugins.BODIES) | None,
    }
    return parts_model("robot", (RobotConfig,), _itself, types=types)


def _air(name: Any) -> Any:
    node = parts_model("node", (NodeConfig,), _itself, rest="parameters")
    return parts_model("air", (AirConfig,), _itself, types={"nodes": _named(name, node)})


def _one_of(tag: str, parts: Mapping[str, type[Any]]) -> Any:
    """A mapping that selects one of these dataclasses by its key `tag`."""
    models = {
        name: parts_model(name, (part,), _itself, tag=(tag, name)) for name, part in parts.items()
    }

    def get(name: str) -> Any:
        if name not in models:
            raise plugins.unknown(tag, name, models)
        return models[name]

    choose = choose_by_kind(tag, lambda: models, get)
    return Annotated[Any, Pick(choose, models.values())]


def _by_kind(group: plugins.Group) -> Any:
    """A mapping that selects a part of the group by its key `kind`."""
    get = functools.cache(functools.partial(_model, group))
    choose = choose_by_kind("kind", lambda: plugins.find(group), get)
    return Annotated[Any, Pick(choose, lambda: _models(group, get)[0])]


def _models(group: plugins.Group, get: Callable[[str], Any]) -> tuple[list[Any], list[ConfigError]]:
    """The models of the group, and the errors of kinds that cannot be used."""
    models, broken = [], []
    for kind in plugins.find(group):
        try:
            models.append(get(kind))
        except ConfigError as error:
            broken.append(error)
    return models, broken


def _model(group: plugins.Group, kind: str) -> Any:
    """The model of this kind. ConfigError: it is unknown, or cannot be used."""
    part = plugins.load(group, kind)
    build = _adapter if group == plugins.ADAPTERS else _part
    try:
        return build(group, kind, part)
    except Exception as error:  # settings of other distributions may raise anything
        what = f"the settings of kind {quoted(kind)} cannot be read: {error!r:.200}"
        raise ConfigError(what, fix="repair or remove the distribution that has it") from error


def _adapter(group: plugins.Group, kind: str, adapter: Any) -> Any:
    def make(common: StationSettings, settings: Any) -> AdapterConfig:
        return AdapterConfig(kind=kind, common=common, settings=settings)

    parts = (StationSettings, adapter.Settings)
    return parts_model(f"adapter {kind}", parts, make, tag=("kind", kind))


def _part(group: plugins.Group, kind: str, part: Any) -> Any:
    def make(settings: Any) -> PartConfig:
        return PartConfig(kind=kind, settings=settings)

    title = f"{group.export.lower()} {kind}"
    return parts_model(title, (part.Settings,), make, tag=("kind", kind))
