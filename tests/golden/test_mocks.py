"""Each firmware mock sends what it sent before, each byte at its nanosecond."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.running import Modules, mock_names
from tests.golden.scripts import SCRIPTS

HERE = Path(__file__).parent
REST_MS = {
    "wc2ec_robot": 300.0,
    "wc2ec_node": 600.0,
    "create2": 100.0,
    "dynamixel": 50.0,
    "epuck": 50.0,
}  # they never come to rest


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_mock_sends_what_it_sent_before(kind: str, golden: Callable[[str, str], None]) -> None:
    written = [
        f"=== {variant}\n{Modules(*modules).play(script, REST_MS.get(kind, 3000.0))}"
        for variant, (modules, script) in SCRIPTS[kind]()
    ]
    golden(f"mocks/{kind}.txt", "\n".join(written))


def test_every_mock_is_there() -> None:
    assert sorted(SCRIPTS) == mock_names()
    assert sorted(file.stem for file in (HERE / "mocks").glob("*.txt")) == mock_names()
