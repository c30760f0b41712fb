"""A control folder of the test's own, and sockets in it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.engine.control_socket.listener import control_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return control_folder()


@pytest.fixture
def owned_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[Path, int]], None]:
    """owned_by(owners): these paths look as if they belonged to these users."""
    real, known = Path.stat, dict[Path, int]()

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        if path in known:
            return os.stat_result([*status[:4], known[path], *status[5:]])
        return status

    monkeypatch.setattr(Path, "stat", stat)
    return known.update
