"""Finds the kinds of a part: modules of a package here, and entry points of other distributions.

A group is a package (hilgw.adapters) and the entry point group of the same name. The module
`hilgw.adapters.foo` offers the kind foo by exporting ADAPTER; names with an underscore, and
`base`, are no kinds. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hilgw.config.places import quoted, suggest
from hilgw.errors import ConfigError

ADAPTERS = "hilgw.adapters"
CONTROLLERS = "hilgw.controllers"
BODIES = "hilgw.bodies"

EXPORTS = {ADAPTERS: "ADAPTER", CONTROLLERS: "CONTROLLER", BODIES: "BODY"}

# What is read of a part before it is used, whoever wrote it.
_TRAITS = {ADAPTERS: ("type", "summary", "limits"), CONTROLLERS: ("summary",), BODIES: ("summary",)}

Loader = Callable[[], Any]


def find(group: str) -> dict[str, Loader]:
    """Every kind of a group, by name, with what loads it. Ours go before others' of that name."""
    kinds = {point.name: _of_entry_point(point, group) for point in entry_points(group=group)}
    return dict(sorted({**kinds, **_modules(group)}.items()))


def load(group: str, kind: str) -> Any:
    """The part of this kind. Raises ConfigError when there is none or it does not load."""
    loader = _modules(group).get(kind) or find(group).get(kind)  # entry points cost a search
    if loader is None:
        raise unknown("kind", kind, find(group))
    return loader()


def load_all(group: str) -> tuple[dict[str, Any], list[ConfigError]]:
    """Every part of a group that loads, by name, and what is wrong with the others."""
    parts: dict[str, Any] = {}
    broken = []
    for name, loader in find(group).items():
        try:
            parts[name] = loader()
        except ConfigError as error:
            broken.append(error)
    return parts, broken


def unknown(what: str, name: str, known: Iterable[str]) -> ConfigError:
    """A name that is none of the known ones."""
    return ConfigError(f"unknown {what} {quoted(name)}", fix=suggest(name, known))


def _modules(group: str) -> dict[str, Loader]:
    if importlib.util.find_spec(group) is None:
        return {}
    names = (
        module.name
        for module in pkgutil.iter_modules(importlib.import_module(group).__path__)
        if not module.name.startswith("_") and module.name != "base"
    )
    return {name: _of_module(f"{group}.{name}", EXPORTS[group]) for name in names}


def _of_module(name: str, export: str) -> Loader:
    return lambda: getattr(importlib.import_module(name), export)


def _of_entry_point(point: EntryPoint, group: str) -> Loader:
    def loader() -> Any:
        try:
            part = point.load()
            _check(part, group)
        except (Exception, SystemExit) as error:  # others' code: whatever it raises is said
            owner = point.dist.name if point.dist else "an unknown distribution"
            what = f"kind {quoted(point.name)} of {owner} does not load: {error!r:.200}"
            raise ConfigError(what, fix=f"repair or remove {owner}") from error
        return part

    return loader


def _check(part: Any, group: str) -> None:
    """AttributeError or TypeError when this is no part of the group."""
    for name in _TRAITS.get(group, ()):
        getattr(part, name)
    if not (isinstance(part.Settings, type) and dataclasses.is_dataclass(part.Settings)):
        raise TypeError("its Settings are no dataclass")
