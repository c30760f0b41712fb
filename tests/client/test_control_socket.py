"""The client of the control socket: which gateway it finds, and answers that fail."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hilgw.client.connection import ask
from hilgw.client.control_paths import live_sockets
from hilgw.client.control_socket import find_gateway
from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.protocols.gateway import paths
from hilgw.protocols.gateway.messages import ANSWER_BYTES, LINE_BYTES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return control_folder()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """A gateway that answers one request with these bytes, and closes."""
    threads = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = tmp_path / "control"

    def serve(answer: bytes) -> Path:
        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                try:
                    connection.sendall(answer)
                except OSError:
                    pass  # the client left

        listener.bind(str(path))
        listener.listen()
        threads.append(threading.Thread(target=run))
        threads[0].start()
        return path

    yield serve
    for thread in threads:
        thread.join(10)
    listener.close()


def test_the_only_running_gateway_is_found(folder: Path) -> None:
    assert find_gateway("./own") == Path("own")
    with pytest.raises(PeerError, match="no gateway of yours is running"):
        find_gateway(None)
    (folder / "no_number.sock").touch()
    (folder / f"{os.getpid()}.sock").touch()  # a process has this number, and no socket
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other,
    ):
        mine.bind(str(folder / "999999999.sock"))  # of a container: no process has this number
        mine.listen()
        other.bind(str(folder / "1.sock"))
        assert find_gateway(None) == folder / "999999999.sock"
        other.listen()
        with pytest.raises(UsageError, match="several gateways are running"):
            find_gateway(None)


def test_a_refusal_is_read_although_the_request_was_not(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "full"))
        listener.listen()

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.send(b'{"error": "full", "version": 2}\n')

        thread = threading.Thread(target=refuse)
        thread.start()
        assert ask(tmp_path / "full", {"do": "x" * 1_000_000}) == {"error": "full"}
        thread.join(10)


def test_an_answer_in_pieces_is_put_together(server: Callable[[bytes], Path]) -> None:
    text = "x" * (2 * LINE_BYTES)  # of many robots
    assert ask(server(b'{"ok": "%s", "version": 2}\n' % text.encode()), {}) == {"ok": text}


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"", "does not answer"),
        (b"{", "does not answer"),
        (b"x" * (ANSWER_BYTES + 1), "does not answer"),
        (b"[]\n", "invalid answer"),
    ],
)
def test_an_invalid_answer_is_an_error(
    answer: bytes, what: str, server: Callable[[bytes], Path]
) -> None:
    with pytest.raises(PeerError, match=what):
        ask(server(answer), {})


def test_a_gateway_that_is_gone_or_hangs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="does not answer"):
        ask(tmp_path / "none", {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "hangs"))
        listener.listen()
        with pytest.raises(PeerError, match="does not answer"):
            ask(tmp_path / "hangs", {}, timeout_s=0.1)


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
