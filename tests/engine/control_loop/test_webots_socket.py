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
from hilgw.protocols.webots.address import INSTANCES, instances_of
from tests.engine.control_loop.test_webots_controllers import FIRST, QUIT, STEP, Running

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


def test_there_is_no_handshake_and_answers_have_no_chunks(tmp_path: Path, instances: Path) -> None:
    with running(tmp_path) as gateway:
        path = instances / "1234" / "ipc" / "rover" / "extern"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {stat.S_IMODE(each.stat().st_mode) for each in list(path.parents)[:4]} == {0o700}
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"rover\0" in peer.poll(), "the configuration")
        size, delay, tag = struct.unpack_from("<iiH", peer.received)
        assert (size, delay, tag) == (len(peer.received), 0, 0)
        second = gateway.knock_at(path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        assert second.received == b""
        assert gateway.report()["refused"] == {"second_controller": 1}
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not instances.exists() or not list(instances.iterdir())


def test_a_mock_uses_the_socket_where_there_is_no_address(tmp_path: Path, instances: Path) -> None:
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
        peer = gateway.knock_at(instances / "1234" / "ipc" / "rover" / "extern")
        peer.connection.sendall(FIRST)
        gateway.loop.advance(5)
        assert peer.poll() == b""
        assert not peer.ended
        assert not gateway.log.saw("rover.controller", State.UP)


BLIND = """
version: 1
robots:
  rover:
    controller: {kind: webots, ipc: true}
    devices: {"front/eye": {node: Camera, absent: blank, width: 4, height: 2}}
"""
ENABLE_EYE = struct.pack("<iIHiBH", 17, 32, 1, 3, 1, 32)


def test_the_image_of_a_blank_camera_is_beside_the_socket(tmp_path: Path, instances: Path) -> None:
    """Where libController maps it."""
    with running(tmp_path, BLIND) as gateway:
        path = instances / "1234" / "ipc" / "rover" / "extern"
        image = path.with_name("snap.webots.front%2Feye")
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"front/eye\0" in peer.poll(), "the configuration")
        assert stat.S_IMODE(image.stat().st_mode) == 0o600
        assert image.read_bytes() == bytes.fromhex("000000ff" * 8)
        peer.connection.sendall(ENABLE_EYE)
        gateway.until(lambda: f"{image}\0".encode() in peer.poll(), "the name of the file")
    assert not image.exists() and not image.parent.exists()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "default"),
        ({"USER": "", "USERNAME": ""}, "default"),
        ({"USERNAME": "bob"}, "bob"),
        ({"USER": "ann", "USERNAME": "bob"}, "ann"),
    ],
)
def test_the_folder_is_that_of_libcontroller(environment: dict[str, str], folder: str) -> None:
    """Also of a service or a container, whose environment has no user."""
    assert instances_of(environment) == INSTANCES / folder


def test_a_live_socket_stays_and_a_dead_one_is_replaced(tmp_path: Path, instances: Path) -> None:
    path = instances / "1234" / "ipc" / "rover" / "extern"
    dead = instances / "1234" / "ipc" / "old" / "extern"
    for each in (path, dead):
        each.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(each))
    with running(tmp_path) as gateway:
        assert not dead.exists()  # or a controller without a name would ask which robot it means
        gateway.knock_at(path)
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
    with pytest.raises(HilgwError, match="belongs to another user"), running(tmp_path):
        pass


# --- The socket of the remote-control plug-in, in the folder of the control sockets ---------------


ROVER = """
version: 1
medium: {step_ms: 32}
robots:
  my rover: {controller: {kind: webots_plugin}}
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of the control sockets; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="hw") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield Path(runtime) / "hilgw"


def plugin(folder: Path, text: str = ROVER) -> Running:
    return Running(folder, text=text, robot="my rover")


def test_it_is_for_this_user_alone_and_ends_with_the_gateway(tmp_path: Path, folder: Path) -> None:
    with plugin(tmp_path) as gateway:
        path = folder / "my%20rover.plugin"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"my rover\0" in peer.poll(), "the configuration")
        second = gateway.knock_at(path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not path.exists()


WITHOUT_BODY = """
version: 1
robots:
  my rover:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:9"}
    controller: {kind: webots_plugin}
"""


def test_a_plugin_that_leaves_while_the_robot_is_down_is_free(tmp_path: Path, folder: Path) -> None:
    """After a set_mode that failed: its connection does not wait for the robot."""
    with plugin(tmp_path, WITHOUT_BODY) as gateway:
        port = gateway.gateway.supervisors["my rover.controller"]
        for _ in range(3):
            peer = gateway.knock_at(folder / "my%20rover.plugin")
            peer.connection.sendall(FIRST)
            gateway.until(lambda: port.line.first is not None, "it waits")
            peer.connection.close()
            gateway.until(lambda: port.line.first is None, "the end")


def test_a_late_request_ends_at_once(tmp_path: Path, folder: Path) -> None:
    """Webots takes its own step between two requests: both take one step of time, not two."""
    with plugin(tmp_path) as gateway:
        peer = gateway.knock_at(folder / "my%20rover.plugin")
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"my rover\0" in peer.poll(), "the configuration")
        times = []
        for _ in range(10):
            peer.received.clear()
            peer.connection.sendall(STEP)
            gateway.until(lambda: len(peer.poll()) >= 8, "the answer")
            times.append(gateway.loop.time())
            gateway.loop.advance(0.030)  # Webots' own step
        spent = (times[-1] - times[0]) / (len(times) - 1)
        assert spent == pytest.approx(0.032, abs=0.001)
        assert struct.unpack_from("<i", peer.received)[0] == len(peer.received)


def test_that_of_another_gateway_is_not_taken(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    path = folder / "my%20rover.plugin"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with plugin(tmp_path) as gateway:
        gateway.knock_at(path)
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()
        with pytest.raises(HilgwError, match="another program has this socket of the plug-in"):
            plugin(tmp_path).__enter__()
        assert path.exists()
