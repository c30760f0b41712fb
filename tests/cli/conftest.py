"""What the tests of the command line share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import in_process

Command = Callable[..., tuple[Any, str, str]]


@pytest.fixture
def hilgw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """hilgw(*words): exit code, output and errors of a command in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return partial(in_process, cwd=tmp_path)
