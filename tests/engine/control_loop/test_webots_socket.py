"""Local sockets of robots, where libController looks for them."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hilgw.engine.observer import State
from hilgw.errors import HilgwError
from tests.engine.control_loop.running import SimPeer
from tests.engine.control_loop.test_webots_controllers import FIRST, QUIT, Running

ALONE = """
version: 1
robots:
  rover: {controller: {kind: webots, ipc: true}}
"""


@pytest.fixture
def instances(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of this user's simulators; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="hw") as folder:
        root = Path(folder) / "webots"
        monkeypatch.setenv("USER", "ann")
        monkeypatch.setattr("hilgw.protocols.webots.address.INSTANCES", root)
        monkeypatch.setattr("hilgw.engine.control_loop.servers.webots_socket.INSTANCES", root)
        yield root / "ann"


def running(folder: Path, text: str = ALONE) -> Running:
    return Running(folder, text=text)


def knock(gateway: Running, path: Path) -> SimPeer:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return SimPeer(gateway.ends.enter_context(connection), gateway.loop)


def test_a_controller_needs_no_handshake_and_answers_have_no_chunks(
    tmp_path: Path, instances: Path
) -> None:
    with running(tmp_path) as gateway:
        path = instances / "1234" / "ipc" / "rover" / "extern"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {stat.S_IMODE(each.stat().st_mode) for each in list(path.parents)[:4]} == {0o700}
        peer = knock(gateway, path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"rover\0" in peer.poll(), "the configuration")
        size, delay, tag = struct.unpack_from("<iiH", peer.received)
        assert (size, delay, tag) == (len(peer.received), 0, 0)
        second = knock(gateway, path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        assert second.received == b""
        assert gateway.report()["refused"] == {"second_controller": 1}
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not instances.exists() or not list(instances.iterdir())


def test_the_mock_of_a_controller_uses_the_socket_where_there_is_no_address(
    tmp_path: Path, instances: Path
) -> None:
    mock = "ipc: true, mock: {script: send tx over the socket; step 32 x 3}}, "
    text = ALONE.replace("ipc: true}", f"{mock}devices: {{tx: {{node: Emitter}}}}")
    with running(tmp_path, f"{text}backend: mock\n") as gateway:
        mock_controller = gateway.controller
        gateway.until(lambda: mock_controller.ended)
        assert (mock_controller.ended, mock_controller.counts["steps"]) == ("left", 3)
        assert gateway.gateway.report()["emitters"]["rover.tx"]["departed"] == 1
        assert gateway.report()["refused"] == {}


def test_a_controller_waits_for_the_body(tmp_path: Path, instances: Path) -> None:
    text = ALONE.replace("ipc: true}", 'ipc: true}, body: {kind: wc2ec, connect: "tcp://h:1"}')
    with running(tmp_path, text) as gateway:
        peer = knock(gateway, instances / "1234" / "ipc" / "rover" / "extern")
        peer.connection.sendall(FIRST)
        gateway.loop.advance(5)
        assert peer.poll() == b""
        assert not peer.ended
        assert not gateway.log.saw("rover.controller", State.UP)


def test_a_live_socket_is_never_taken_and_a_dead_one_is_replaced(
    tmp_path: Path, instances: Path
) -> None:
    path = instances / "1234" / "ipc" / "rover" / "extern"
    dead = instances / "1234" / "ipc" / "old" / "extern"
    for each in (path, dead):
        each.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(each))
    with running(tmp_path) as gateway:
        assert not dead.exists()  # or a controller without a name would ask which robot it means
        knock(gateway, path)
    with socket.socket(socket.AF_UNIX) as live:
        path.parent.mkdir(parents=True, exist_ok=True)
        live.bind(str(path))
        live.listen()
        with (
            pytest.raises(HilgwError, match="another program has this local socket"),
            running(tmp_path) as gateway,
        ):
            pass
        assert path.exists()


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instances.mkdir(parents=True)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with (
        pytest.raises(HilgwError, match="belongs to another user"),
        running(tmp_path),
    ):
        pass
