"""The client of the control socket: which gateway it finds, and answers that fail."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.client.connection import ask
from hilgw.client.control_paths import live_sockets
from hilgw.client.control_socket import find_gateway
from hilgw.engine.control_socket.listener import control_folder
from hilgw.errors import HilgwError, PeerError, UsageError
from hilgw.protocols.gateway import paths
from hilgw.protocols.gateway.messages import ANSWER_BYTES, LINE_BYTES
from tests.client.several import frozen, killed, peer


def test_the_only_running_gateway_is_found(folder: Path) -> None:
    assert find_gateway("./own") == Path("own")
    with pytest.raises(PeerError, match="no gateway of yours is running"):
        find_gateway(None)
    (folder / "no_number.sock").touch()
    (folder / f"{os.getpid()}.sock").touch()  # a process has this number, and no socket
    # Of a container: no process has this number.
    with frozen(folder / "999999999.sock"), socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "1.sock"))
        assert find_gateway(None) == folder / "999999999.sock"
        other.listen()
        with pytest.raises(UsageError, match="several gateways are running"):
            find_gateway(None)


def test_a_refusal_is_read_although_the_request_was_not(tmp_path: Path) -> None:
    with frozen(tmp_path / "full") as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.send(b'{"error": "full", "version": 2}\n')

        thread = threading.Thread(target=refuse)
        thread.start()
        assert ask(tmp_path / "full", {"do": "x" * 1_000_000}) == {"error": "full"}
        thread.join(10)


def answered(path: Path, answer: bytes) -> object:
    """Ask a gateway there that answers with these bytes, and closes."""
    with peer(path, lambda _: answer):
        return ask(path, {})


def test_an_answer_in_pieces_is_put_together(tmp_path: Path) -> None:
    text = "x" * (2 * LINE_BYTES)  # of many robots
    answer = b'{"ok": "%s", "version": 2}\n' % text.encode()
    assert answered(tmp_path / "control", answer) == {"ok": text}


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"", "does not answer"),
        (b"{", "does not answer"),
        (b"x" * (ANSWER_BYTES + 1), "does not answer"),
        (b"[]\n", "invalid answer"),
    ],
)
def test_an_invalid_answer_is_an_error(answer: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=what):
        answered(tmp_path / "control", answer)


def test_a_gateway_that_is_gone_or_hangs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="does not answer"):
        ask(tmp_path / "none", {})
    with frozen(tmp_path / "hangs"), pytest.raises(PeerError, match="does not answer"):
        ask(tmp_path / "hangs", {}, timeout_s=0.1)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces /tmp; XDG_RUNTIME_DIR is not set."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(paths, "SHARED", tmp_path)
    return tmp_path


def test_the_folder_is_private_or_refused(shared: Path) -> None:
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    for find in (control_folder, live_sockets):
        with pytest.raises(HilgwError, match="not a private folder"):
            find()


Owned = Callable[[dict[Path, int]], None]


def test_a_runtime_folder_of_another_user_is_passed_by(
    shared: Path, owned_by: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = shared / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    owned_by({runtime: os.getuid() + 1})
    folder = control_folder()
    assert folder == shared / f"hilgw-{os.getuid()}"
    assert not list(runtime.iterdir())  # a root of that user's session leaves nothing in it
    with frozen(folder / "1.sock"):
        assert live_sockets() == [folder / "1.sock"]


def test_beside_a_shared_folder_of_another_user_a_new_one_is_made_and_found(
    shared: Path, owned_by: Owned
) -> None:
    taken = shared / f"hilgw-{os.getuid()}"
    taken.mkdir(mode=0o755)
    owned_by({taken: os.getuid() + 1})
    assert live_sockets() == []
    assert list(shared.iterdir()) == [taken]  # a client makes no folder
    folder = control_folder()
    assert folder.name.startswith(f"hilgw-{os.getuid()}-")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert control_folder() == folder
    with frozen(folder / "1.sock"):
        assert live_sockets() == [folder / "1.sock"]


def test_no_folder_at_all_is_an_error(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared / "file").touch()
    monkeypatch.setattr(paths, "SHARED", shared / "file")
    with pytest.raises(HilgwError, match="cannot make a private folder"):
        control_folder()


def test_a_socket_is_live_while_a_program_listens(shared: Path) -> None:
    folder = control_folder()
    killed(folder / "dead.sock")
    (folder / "file.sock").touch()
    with frozen(folder / "full.sock") as full, frozen(folder / "live.sock"):
        full.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(folder / "full.sock"))
            assert live_sockets() == [folder / "full.sock", folder / "live.sock"]
