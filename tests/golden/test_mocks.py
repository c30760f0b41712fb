"""Firmware mocks whose commands no other test tries one by one send what they sent before, each
byte at its nanosecond."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.running import Modules, mock_names
from tests.golden.scripts import SCRIPTS

HERE = Path(__file__).parent
REST_MS = {"create2": 100.0}  # it never comes to rest
OWN_TESTS = HERE.parent / "firmware_mocks"


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_mock_sends_what_it_sent_before(kind: str, golden: Callable[[str, str], None]) -> None:
    written = [
        f"=== {variant}\n{Modules(*modules).play(script, REST_MS.get(kind, 3000.0))}"
        for variant, (modules, script) in SCRIPTS[kind]()
    ]
    golden(f"mocks/{kind}.txt", "\n".join(written))


def test_every_other_mock_has_tests_of_its_own() -> None:
    assert sorted(file.stem for file in (HERE / "mocks").glob("*.txt")) == sorted(SCRIPTS)
    tested = tuple(path.stem.removeprefix("test_") for path in OWN_TESTS.iterdir())
    assert [each for each in mock_names() if not (each in SCRIPTS or each.startswith(tested))] == []
