"""Finds firmware mocks by name: modules of `firmware_mocks`, and entry points of others.

Another distribution adds one by the entry point group `hilgw.mocks`: its name is the mock's, it
leads to a module (or anything) with SUMMARY, PARAMETERS and create, as in `firmware_mocks`. Nothing
is imported before it is asked for.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hilgw.errors import ConfigError

PACKAGE = "firmware_mocks"
GROUP = "hilgw.mocks"
SHARED = ("base", "air")  # modules of the package that are no mocks


@dataclass(frozen=True, slots=True)
class MockKind:
    """One kind of mock: what it is, its parameters in words, what makes one."""

    name: str
    summary: str
    parameters: Mapping[str, str]
    create: Callable[..., Any]


def mock_names() -> list[str]:
    """The kinds there are; nothing is imported but the package."""
    return sorted(_own_names() | _others().keys())


def has_mock(name: str) -> bool:
    """Whether there is a kind of this name; cheaper than asking for all of them."""
    return name in _own_names() or name in _others()


def find_mock(name: str) -> MockKind:
    """The kind of this name; ours go before others'. ConfigError: there is none, or it does not
    load."""
    if name in _own_names():
        part: Any = importlib.import_module(f"{PACKAGE}.{name}")
    elif (point := _others().get(name)) is not None:
        part = _load(point)
    else:
        names = mock_names()
        near = difflib.get_close_matches(name, names, 1)
        fix = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(names)}"
        raise ConfigError(f"unknown firmware mock {name!r}", fix=fix)
    return MockKind(name, part.SUMMARY, part.PARAMETERS, part.create)


def _own_names() -> set[str]:
    package = importlib.import_module(PACKAGE)
    return {
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if module.name not in SHARED and not module.name.startswith("_")
    }


def _others() -> dict[str, EntryPoint]:
    return {point.name.replace("-", "_"): point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> Any:
    owner = point.dist.name if point.dist else "an unknown distribution"
    try:
        part = point.load()
        _check(part)
    except (Exception, SystemExit) as error:  # others' code: whatever it raises is said
        what = f"mock {point.name!r} of {owner} does not load: {error!r:.200}"
        raise ConfigError(what, fix=f"repair or remove {owner}") from error
    return part


def _check(part: Any) -> None:
    """AttributeError or TypeError when this is no mock."""
    if not (callable(part.create) and isinstance(part.PARAMETERS, Mapping)):
        raise TypeError("create must be a function, PARAMETERS a mapping")
    if not isinstance(part.SUMMARY, str):
        raise TypeError("SUMMARY must be text")
