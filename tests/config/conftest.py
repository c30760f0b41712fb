"""What the tests of the configuration share."""

from pathlib import Path

import pytest

from hilgw.config.load import Loaded, load_text
from hilgw.config.source.text import ConfigErrors
from tests.config.cases import Lines

ROOT = Path(__file__).parents[2]


@pytest.fixture
def xbee_yaml() -> str:
    return (ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8")


@pytest.fixture
def errors() -> Lines:
    """errors(text, *overrides, backend=None): the lines a file is refused with."""

    def refuse(text: str, *overrides: str, backend: str | None = None) -> list[str]:
        with pytest.raises(ConfigErrors) as caught:
            load_text(text, "f", overrides, backend)
        assert caught.value.exit_code == 3
        return str(caught.value).splitlines()

    return refuse


@pytest.fixture
def warnings() -> Lines:
    """warnings(text): the lines a good file is taken with."""

    def take(text: str) -> list[str]:
        loaded: Loaded = load_text(text, "f")
        return [str(warning) for warning in loaded.warnings]

    return take
