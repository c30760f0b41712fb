"""Finds adapters, bodies, controllers, framings and firmware mocks by name.

A group is a package of this project (hilgw.adapters) and an entry point group of other
distributions (hilgw.adapters; hilgw.mocks for firmware mocks). The module or package
`hilgw.adapters.foo` defines the kind foo by exporting ADAPTER; modules with a leading underscore
and the shared modules of the package are not kinds. Each kind is imported when it is used.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hilgw.errors import ConfigError, quoted, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

INTERFACE = 2
"""The version of the interface between hilgw and the parts of other distributions: base, kit and
settings of adapters, bodies and controllers, and the mocks' interface. A part of the version before
loads, too; one of another version, by its attribute INTERFACE, does not. docs/extending.md: what
may change."""

Loader = Callable[[], Any]


class Group(NamedTuple):
    """A group of plug-ins.

    package: the package with the kinds of this project. export: the name by which a module exports
    its part; empty: the module itself is the part. shared: modules of the package that are not
    kinds. open: whether entry points of the same name add kinds. check: raises AttributeError or
    TypeError for an unsuitable part of another distribution, ConfigError for one that lacks a
    declaration.
    """

    name: str
    package: str
    noun: str
    export: str
    shared: frozenset[str] = frozenset({"base"})
    open: bool = True
    check: Callable[[Any], None] = lambda part: None


class MockKind(NamedTuple):
    """A kind of firmware mock: its summary, its parameters (name -> meaning), its factory.

    check: raises ValueError for parameters that `create` refuses.
    """

    name: str
    summary: str
    parameters: Mapping[str, str]
    create: Callable[..., Any]
    check: Callable[[Mapping[str, Any]], None]


def _has_settings(*traits: str) -> Callable[[Any], None]:
    def check(part: Any) -> None:
        import dataclasses

        for name in traits:
            getattr(part, name)
        if not (isinstance(part.Settings, type) and dataclasses.is_dataclass(part.Settings)):
            raise TypeError("Settings is not a dataclass")

    return check


def _declares(base: str) -> Callable[[Any], None]:
    def check(part: Any) -> None:
        _has_settings("summary")(part)
        importlib.import_module(base).check_kind(part)

    return check


def _is_mock(part: Any) -> None:
    if not (callable(part.create) and isinstance(part.PARAMETERS, Mapping)):
        raise TypeError("create must be a function, PARAMETERS a mapping")
    if not isinstance(part.SUMMARY, str):
        raise TypeError("SUMMARY must be text")


def _is_command(part: Any) -> None:
    if not (isinstance(part.COMMANDS, Mapping) and callable(part.run)):
        raise TypeError("COMMANDS must be a mapping, run a function")


ADAPTERS = Group(
    "hilgw.adapters",
    "hilgw.adapters",
    "kind",
    "ADAPTER",
    shared=frozenset({"base", "declaration"}),
    check=_has_settings("type", "summary", "limits"),
)
CONTROLLERS = Group(
    "hilgw.controllers",
    "hilgw.controllers",
    "kind",
    "CONTROLLER",
    check=_declares("hilgw.controllers.base"),
)
BODIES = Group(
    "hilgw.bodies",
    "hilgw.bodies",
    "kind",
    "BODY",
    shared=frozenset({"base", "robot"}),
    check=_declares("hilgw.bodies.base"),
)
FRAMINGS = Group(
    "hilgw.framings",
    "hilgw.framing",
    "framing",
    "FRAMING",
    frozenset({"base", "c_forms", "crc", "delimited", "guess", "sir"}),
    open=False,
)
MOCKS = Group(
    "hilgw.mocks",
    "firmware_mocks",
    "firmware mock",
    "",
    frozenset({"air", "base", "parameters", "wc2ec"}),
    check=_is_mock,
)
COMMANDS = Group("hilgw.commands", "hilgw.commands", "command", "", check=_is_command)
"""Commands of other distributions; `hilgw.cli.groups` has those of hilgw, without a package."""


def names(group: Group) -> list[str]:
    """Return the kinds of a group, sorted; import none of them."""
    return sorted({*own(group), *_points(group)})


def has(group: Group, kind: str) -> bool:
    """Return True if the group has this kind; search entry points only if this project has not."""
    return kind in own(group) or kind in _points(group)


def find(group: Group) -> dict[str, Loader]:
    """Return every kind of a group by name, with the function that loads it.

    A kind of this project takes precedence over one of another distribution.
    """
    others = {name: _of_entry_point(group, point) for name, point in _points(group).items()}
    ours = {name: _of_module(group, name) for name in own(group)}
    return dict(sorted({**others, **ours}.items()))


def load(group: Group, kind: str) -> Any:
    """Return the part of this kind.

    Raises:
      ConfigError: there is no such kind, or it does not load.
    """
    if kind in own(group):
        return _of_module(group, kind)()
    point = _points(group).get(kind)
    if point is None:
        raise unknown(group.noun, kind, names(group))
    return _of_entry_point(group, point)()


def load_all(group: Group) -> tuple[dict[str, Any], list[ConfigError]]:
    """Return every part of a group that loads, by name, and the errors of the others."""
    parts: dict[str, Any] = {}
    broken = []
    for name, loader in find(group).items():
        try:
            parts[name] = loader()
        except ConfigError as error:
            broken.append(error)
    return parts, broken


def load_mock(kind: str) -> MockKind:
    """Return the firmware mock of this kind.

    Raises:
      ConfigError: there is no such mock, or it does not load.
    """
    part = load(MOCKS, kind)

    def check(parameters: Mapping[str, Any]) -> None:
        part.create("check", new_air(), parameters)

    own_check = getattr(part, "check", check)  # mocks that are slow to create have one
    return MockKind(kind, part.SUMMARY, part.PARAMETERS, part.create, own_check)


def mock_of(kind: str) -> str:
    """Return the name of a mock for a name that people write.

    Examples are gcode-machine, or an adapter's name if its mock has a longer one, as uart-node of
    uart.
    """
    name = kind.replace("-", "_")
    if not has(MOCKS, name) and has(ADAPTERS, name):
        return next((each for each in names(MOCKS) if each.startswith(f"{name}_")), name)
    return name


def new_air(seed: int = 0, loss: float = 0.0) -> Any:
    """Return an air for firmware mocks to share.

    Raises:
      ConfigError: `loss` is not between 0 and 1.
    """
    try:
        return importlib.import_module("firmware_mocks.air").Air(seed=seed, loss=loss)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def unknown(noun: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a name that is not one of the known ones."""
    return ConfigError(f"unknown {noun} {quoted(name)}", fix=suggest(name, known))


def own(group: Group) -> list[str]:
    """Return the kinds of this project; import none of them and search no entry points."""
    return list(_modules(group, tuple(sys.path)))


@functools.cache
def _modules(group: Group, search_path: tuple[str, ...]) -> tuple[str, ...]:
    import pkgutil

    try:
        path = importlib.import_module(group.package).__path__
    except ModuleNotFoundError:
        return ()
    return tuple(
        module.name
        for module in pkgutil.iter_modules(path)
        if not module.name.startswith("_") and module.name not in group.shared
    )


def _points(group: Group) -> "dict[str, EntryPoint]":
    return _entry_points(group, tuple(sys.path)) if group.open else {}


@functools.cache
def _entry_points(group: Group, search_path: tuple[str, ...]) -> "dict[str, EntryPoint]":
    """Read the files of every distribution, once for each search path."""
    from importlib.metadata import entry_points

    points = entry_points(group=group.name)
    if group is MOCKS:  # their names are module names
        return {point.name.replace("-", "_"): point for point in points}
    return {point.name: point for point in points}


def _of_module(group: Group, name: str) -> Loader:
    def loader() -> Any:
        module = importlib.import_module(f"{group.package}.{name}")
        return getattr(module, group.export) if group.export else module

    return loader


def _of_entry_point(group: Group, point: "EntryPoint") -> Loader:
    def loader() -> Any:
        owner = point.dist.name if point.dist else "an unknown distribution"
        try:
            part = point.load()
            made_for = getattr(part, "INTERFACE", 1)  # one without it was made for the first
            if made_for in (INTERFACE - 1, INTERFACE):
                group.check(part)
                return part
        except (Exception, SystemExit) as error:  # code of other distributions may raise anything
            why, fix = _cause(error), f"repair or remove {owner}"
            if isinstance(error, ConfigError):
                why, fix = error.what, error.fix or fix
            raise ConfigError(
                f"{_noun(group)} {quoted(point.name)} of {owner} does not load: {why}", fix=fix
            ) from error
        raise ConfigError(
            f"{_noun(group)} {quoted(point.name)} of {owner} is made for interface {made_for!r}, "
            f"this hilgw has {INTERFACE}",
            fix=f"install a version of {owner} for this hilgw",
        )

    return loader


def _cause(error: BaseException) -> str:
    import traceback

    *_, last = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError):
        file, line, text = error.filename, error.lineno, error.msg
    else:
        file, line, text = last.filename, last.lineno, str(error)
    # A part that lacks something is named by the check of hilgw.
    place = "" if "importlib" in f"{file}" or file == __file__ else f", at {file}:{line}"
    return f"{type(error).__name__}: {' '.join(text.split()):.160}{place}"


def _noun(group: Group) -> str:
    return "mock" if group is MOCKS else group.noun
