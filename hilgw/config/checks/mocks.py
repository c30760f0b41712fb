"""Checks of firmware mocks: those that stand for a part, and the nodes of an air."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hilgw import plugins
from hilgw.config.checks.ports import NO_PATH, real_path
from hilgw.config.context import Inspection
from hilgw.config.model import NodeConfig
from hilgw.config.queries import is_mocked_at
from hilgw.config.source.positions import Path
from hilgw.errors import ConfigError, quoted
from hilgw.settings import MockSpec, Problem


def check_nodes(inspection: Inspection) -> None:
    """Unknown mocks, parameters they refuse, and two mocks with one link."""
    links: dict[str, Path] = {}
    for path, node in inspection.made("airs", None, "nodes", None):
        _check_node(inspection, path, node)
        if node.link is None:
            continue
        link = real_path(node.link) if node.link else ""
        if not link:
            inspection.error((*path, "link"), "the link is empty", "write a path")
        elif not node.link.isprintable():
            inspection.error((*path, "link"), *NO_PATH)
        elif link in links:
            what = f"{quoted(str(links[link][-1]))} has this link too"
            inspection.error((*path, "link"), what, "use another link")
        links.setdefault(link, path)


def _check_node(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    keys = inspection.context.keys(inspection.get(*path))
    try:
        for key, what, fix in _problems_of_mock(inspection, node.mock, node.parameters, keys):
            inspection.error((*path, key) if key else path, what, fix)
        _check_replies(inspection, (*path, "replies"), node)
    except ConfigError as error:
        inspection.error((*path, "mock"), error.what, error.fix)


def _check_replies(inspection: Inspection, path: Path, node: NodeConfig) -> None:
    """The answers of a mock, each by itself: an error is at its entry."""
    kind = plugins.load_mock(node.mock)
    if node.replies and "replies" not in kind.parameters:
        what = f"{quoted(node.mock)} does not answer packets"
        inspection.error(path, what, "delete it, or use another mock")
        return
    for key, answer in node.replies.items():
        parameter, _, message = _refusal(kind, {"replies": {key: answer}}).partition(": ")
        if parameter == "replies":
            inspection.error((*path, key), message, f"replies: {kind.parameters[parameter]}")


def needs_mock(inspection: Inspection, path: Path) -> bool:
    """Whether a mock with the settings at `path` runs: not when these have errors."""
    return is_mocked_at(inspection, path) and not inspection.has_errors_below(path)


def check_mock(inspection: Inspection, path: Path, spec: MockSpec, setting: str = "mock") -> None:
    """setting: where its parameters are."""
    try:
        for key, what, fix in _problems_of_mock(inspection, spec.name, spec.parameters):
            at = (*path, setting, key)
            at = at if at in inspection.document.values else path
            inspection.error(at, f"{setting}: {what}", fix)
    except ConfigError as error:
        inspection.error(path, error.what, error.fix)


def _problems_of_mock(
    inspection: Inspection,
    name: str,
    parameters: Mapping[str, Any],
    other_keys: Collection[str] = (),
) -> Iterator[Problem]:
    """All parameters that the firmware mock refuses. other_keys: also suggested for a typo.

    Raises ConfigError when there is no mock of this name, or it does not load.
    """
    if not plugins.has(plugins.MOCKS, name):
        raise plugins.unknown("mock", name, plugins.names(plugins.MOCKS))
    kind = plugins.load_mock(name)
    known = [*other_keys, *kind.parameters]
    accepted = {key: value for key, value in parameters.items() if key in kind.parameters}
    yield from _wrong_values(kind, accepted)
    # One by one, so that each costs the same: a mock may accept more than the names it lists.
    for parameter in parameters:
        if parameter in kind.parameters:
            continue
        if _refusal(kind, {**accepted, parameter: parameters[parameter]}):
            what = f"{quoted(name)} has no such parameter"
            yield parameter, what, inspection.suggest(parameter, known)
        else:
            accepted[parameter] = parameters[parameter]


def _wrong_values(kind: plugins.MockKind, parameters: dict[str, Any]) -> Iterator[Problem]:
    """The values that the mock refuses, of parameters that it lists; deletes these."""
    while problem := _refusal(kind, parameters):
        parameter, separator, message = problem.partition(": ")
        if not separator or parameter not in parameters:
            yield "", problem, f"see `hilgw mock {kind.name} --list`"
            parameters.clear()
        else:
            value = parameters.pop(parameter)
            if value is None:
                yield parameter, "must have a value", "write it, or delete the key"
            else:
                fix = f"{parameter}: {kind.parameters[parameter]}"
                yield parameter, _in_words(message, value), fix


def _in_words(message: str, value: Any) -> str:
    """The mock's error without Python's spelling of a list or mapping."""
    for kind, name in ((list, "a list"), (dict, "a mapping")):
        if isinstance(value, kind):
            return message.replace(repr(value), name)
    return message


def _refusal(kind: plugins.MockKind, parameters: dict[str, Any]) -> str:
    """The mock's error for parameters it refuses; empty when it takes them."""
    try:
        kind.check(parameters)
    except (ValueError, TypeError) as error:
        return str(error) or "refused"
    return ""
