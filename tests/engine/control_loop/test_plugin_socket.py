"""The socket of the remote-control plug-in, in the folder of the control sockets."""

from __future__ import annotations

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
from tests.engine.control_loop.test_webots_controllers import FIRST, QUIT, STEP, Running

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


class Plugin(Running):
    """A gateway whose robot is `my rover`."""

    def __enter__(self) -> Plugin:
        self._running = self.loop.create_task(self.gateway.run(self._stop))
        self.until(
            lambda: self._running.done() or self.log.saw("my rover.controller", State.WAITING)
        )
        if self._running.done():
            self.__exit__(None, None, None)
        return self


def knock(gateway: Running, path: Path) -> SimPeer:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return SimPeer(gateway.ends.enter_context(connection), gateway.loop)


def test_it_is_for_this_user_alone_and_ends_with_the_gateway(tmp_path: Path, folder: Path) -> None:
    with Plugin(tmp_path, text=ROVER) as gateway:
        path = folder / "my%20rover.plugin"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        peer = knock(gateway, path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"my rover\0" in peer.poll(), "the configuration")
        second = knock(gateway, path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not path.exists()


def test_a_late_request_ends_at_once(tmp_path: Path, folder: Path) -> None:
    """Webots takes its own step between two requests: both take one step of time, not two."""
    with Plugin(tmp_path, text=ROVER) as gateway:
        peer = knock(gateway, folder / "my%20rover.plugin")
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
    with Plugin(tmp_path, text=ROVER) as gateway:
        knock(gateway, path)
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()
        with pytest.raises(HilgwError, match="another program has this socket of the plug-in"):
            Plugin(tmp_path, text=ROVER).__enter__()
        assert path.exists()
