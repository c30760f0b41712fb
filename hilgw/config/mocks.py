"""The nodes of an air: firmware mocks by name, and whether they take their parameters."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any

import firmware_mocks
from firmware_mocks.air import Air
from hilgw.config.model import NodeConfig
from hilgw.config.places import quoted, suggest


def mock_names() -> list[str]:
    """The mocks there are: packages and modules of firmware_mocks that offer `create`."""
    found = (module.name for module in pkgutil.iter_modules(firmware_mocks.__path__))
    return sorted(name for name in found if not name.startswith("_") and find_mock(name))


def find_mock(name: str) -> Any:
    """The mock's module, None when there is no such mock."""
    if not name.isidentifier():
        return None
    try:
        module = importlib.import_module(f"firmware_mocks.{name}")
    except ModuleNotFoundError:
        return None
    return module if hasattr(module, "create") else None


def check_node(node: NodeConfig, keys: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a node: the key, what, what to do. keys: those every node has."""
    mock = find_mock(node.mock)
    if mock is None:
        yield "mock", f"unknown mock {quoted(node.mock)}", suggest(node.mock, mock_names())
        return
    known = [*keys, *mock.PARAMETERS]
    parameters = dict(node.parameters)
    while problem := _refusal(mock, parameters):
        name, separator, message = problem.partition(": ")
        if not separator or name not in parameters:
            yield "", problem, "see `hilgw mock --help`"
            return
        if name in mock.PARAMETERS:
            yield name, message, f"{name} is: {mock.PARAMETERS[name]}"
        else:
            yield name, f"{quoted(node.mock)} has no such parameter", suggest(name, known)
        del parameters[name]


def _refusal(mock: Any, parameters: dict[str, Any]) -> str:
    """What the mock says about parameters it does not take; empty when it takes them."""
    try:
        mock.create("check", Air(), parameters)
    except (ValueError, TypeError) as error:
        return str(error) or "refused"
    return ""
