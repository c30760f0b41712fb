"""`tools/test tests/golden --update-golden` writes the golden files anew; where a hash differs,
HILGW_GOLDEN_WHOLE=1 keeps the lines behind it."""

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OPTION = "--update-golden"
SHOWN = 80  # lines of a difference


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="write the files of tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): fails when the file of that name holds another text."""
    update = request.config.getoption(OPTION, False)

    def compare(name: str, text: str) -> None:
        file = HERE / name
        if update:
            file.write_text(text)
            return
        assert file.exists(), f"no {file}: {OPTION} writes it"
        wanted = file.read_text()
        if text != wanted:
            lines = list(
                difflib.unified_diff(
                    wanted.splitlines(), text.splitlines(), f"golden {name}", "now", "", "", 2, ""
                )
            )
            more = [f"... {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
            pytest.fail("\n".join(lines[:SHOWN] + more), pytrace=False)

    return compare
