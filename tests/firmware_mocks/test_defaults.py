"""`hilgw mock KIND --list`: every parameter shows its default."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hilgw.plugins import MOCKS, load_mock, names, new_air

KINDS = sorted(names(MOCKS))
PARAMETERS = [(kind, name) for kind in KINDS for name in load_mock(kind).parameters]


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_every_parameter_shows_its_default(kind: str, name: str) -> None:
    text = load_mock(kind).parameters[name]
    assert text == "not used" or re.search(r"\(default: [^)]|\(default [^)]", text), text


def literal_defaults() -> list[tuple[str, str, str]]:
    """Kind, name and value of each default that is one word."""
    found = []
    for kind, name in PARAMETERS:
        match = re.search(r"\(default ([\w.+-]+)\)", load_mock(kind).parameters[name])
        if match is not None:
            found.append((kind, name, match[1]))
    return found


@pytest.mark.parametrize(("kind", "name", "value"), literal_defaults())
def test_the_default_shown_is_the_one_in_use(kind: str, name: str, value: str) -> None:
    def state(parameters: dict[str, Any]) -> dict[str, Any]:
        mock = load_mock(kind).create("m", new_air(0, 0.0), parameters, position=(0.0, 0.0, 0.0))
        return {"": mock.describe(), "rate": mock.baud_rate, "byte": mock.bits_per_byte}

    assert state({name: value}) == state({})
