"""`hilgw mock KIND --list`: every parameter shows its default."""

import re
from typing import Any

import pytest

from hilgw.plugins import MOCKS, load_mock, names, new_air
from hilgw.settings import PROGRAM

KINDS = sorted({*names(MOCKS)} - {PROGRAM})


def literal_defaults(kind: str) -> dict[str, str]:
    """Name and value of each default that is one word."""
    texts = load_mock(kind).parameters.items()
    return {
        name: match[1]
        for name, text in texts
        if (match := re.search(r"\(default ([\w.+-]+)\)", text))
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_shown_is_the_one_in_use(kind: str) -> None:
    def state(parameters: dict[str, Any]) -> dict[str, Any]:
        mock = load_mock(kind).create("m", new_air(0, 0.0), parameters, position=(0.0, 0.0, 0.0))
        return {"": mock.describe(), "rate": mock.baud_rate, "byte": mock.bits_per_byte}

    for name, value in literal_defaults(kind).items():
        assert state({name: value}) == state({}), name
