"""Whether firmware mocks take the parameters a configuration gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hilgw.errors import ConfigError, quoted, suggest
from hilgw.plugins import MOCKS, MockKind, has, load_mock, names, new_air

Problem = tuple[str, str, str]  # parameter (empty: the mock itself), what, what to do


def check_mock(
    name: str, parameters: Mapping[str, Any], other_keys: Collection[str] = ()
) -> Iterator[Problem]:
    """All that is wrong with these parameters. other_keys: names that may be meant as well.

    Raises ConfigError when there is no mock of this name, or it does not load.
    """
    if not has(MOCKS, name):
        raise ConfigError(f"unknown mock {quoted(name)}", fix=suggest(name, names(MOCKS)))
    kind = load_mock(name)
    left = dict(parameters)
    while problem := _refusal(kind, left):
        parameter, separator, message = problem.partition(": ")
        if not separator or parameter not in left:
            yield "", problem, f"see `hilgw mock {name} --help`"
            return
        if parameter in kind.parameters:
            yield parameter, message, f"{parameter} is: {kind.parameters[parameter]}"
        else:
            known = [*other_keys, *kind.parameters]
            yield parameter, f"{quoted(name)} has no such parameter", suggest(parameter, known)
        del left[parameter]


def _refusal(kind: MockKind, parameters: dict[str, Any]) -> str:
    """What the mock says about parameters it does not take; empty when it takes them."""
    try:
        kind.create("check", new_air(), parameters)
    except (ValueError, TypeError) as error:
        return str(error) or "refused"
    return ""
