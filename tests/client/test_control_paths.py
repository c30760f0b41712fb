"""Folders of control sockets: private, found by both ends, with those of other users passed by."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hilgw.client.control_paths import live_sockets
from hilgw.engine.control_listener import control_folder
from hilgw.errors import HilgwError
from hilgw.protocols.gateway import paths


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces /tmp; XDG_RUNTIME_DIR is not set."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(paths, "SHARED", tmp_path)
    return tmp_path


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a path look as if it belonged to another user."""
    real, given = Path.stat, set()

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        if path in given:
            return os.stat_result([*status[:4], status.st_uid + 1, *status[5:]])
        return status

    monkeypatch.setattr(Path, "stat", stat)
    return given.add


@pytest.fixture
def listen() -> Iterator[Callable[[Path], socket.socket]]:
    listening = []

    def listen(path: Path) -> socket.socket:
        listening.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listening[-1].bind(str(path))
        listening[-1].listen()
        return listening[-1]

    yield listen
    for each in listening:
        each.close()


def test_the_folder_is_private_or_refused(shared: Path) -> None:
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    for find in (control_folder, live_sockets):
        with pytest.raises(HilgwError, match="not a private folder"):
            find()


def test_a_runtime_folder_of_another_user_is_passed_by(
    shared: Path,
    give_away: Callable[[Path], None],
    listen: Callable[[Path], socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = shared / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    give_away(runtime)
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert not list(runtime.iterdir())  # a root of that user's session leaves nothing in it
    listen(folder / "1.sock")
    assert live_sockets() == [folder / "1.sock"]


def test_beside_a_shared_folder_of_another_user_a_new_one_is_made_and_found(
    shared: Path, give_away: Callable[[Path], None], listen: Callable[[Path], socket.socket]
) -> None:
    taken = shared / f"hilgw-{os.getuid()}"
    taken.mkdir(mode=0o755)
    give_away(taken)
    assert live_sockets() == []
    assert list(shared.iterdir()) == [taken]  # a client makes no folder
    folder = control_folder()
    assert folder.name.startswith(f"hilgw-{os.getuid()}-")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert control_folder() == folder
    listen(folder / "1.sock")
    assert live_sockets() == [folder / "1.sock"]


def test_no_folder_at_all_is_an_error(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared / "file").touch()
    monkeypatch.setattr(paths, "SHARED", shared / "file")
    with pytest.raises(HilgwError, match="cannot make a private folder"):
        control_folder()


def test_a_socket_is_live_while_a_program_listens(
    shared: Path, listen: Callable[[Path], socket.socket]
) -> None:
    folder = control_folder()
    full = listen(folder / "full.sock")
    full.listen(0)
    waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    waiting.connect(str(folder / "full.sock"))
    listen(folder / "live.sock")
    listen(folder / "dead.sock").close()
    (folder / "file.sock").touch()
    with waiting:
        assert live_sockets() == [folder / "full.sock", folder / "live.sock"]
