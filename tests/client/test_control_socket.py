"""The client of the control socket: which gateway it finds, and answers that fail."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hilgw.client.control_socket import ask, find_gateway
from hilgw.engine.control_listener import control_folder
from hilgw.errors import PeerError, UsageError
from hilgw.protocols.gateway.messages import LINE_BYTES


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
                connection.send(b'{"error": "full"}\n')

        thread = threading.Thread(target=refuse)
        thread.start()
        assert ask(tmp_path / "full", {"do": "x" * 1_000_000}) == {"error": "full"}
        thread.join(10)


def test_an_answer_in_pieces_is_put_together(server: Callable[[bytes], Path]) -> None:
    text = "x" * 200_000
    assert ask(server(b'{"ok": "%s"}\n' % text.encode()), {}) == {"ok": text}


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"", "does not answer"),
        (b"{", "does not answer"),
        (b"x" * (LINE_BYTES + 1), "does not answer"),
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
