"""`hilgw watch` beside a running gateway, and what `bridge` and `mock` show of what passes."""

import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from hilgw.client import Gateway as Client
from hilgw.client.connection import ask_on, connected, messages_on
from hilgw.client.control_paths import live_sockets
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.paths import LOOK
from hilgw.protocols.gateway.requests import Watch
from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import COMMAND, ROOT, Gateway, start

UART = str(ROOT / "configs" / "uart.yaml")


def test_ctrl_c_ends_it_and_not_the_gateway(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", UART]) as gateway:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        words = start(tmp_path, *COMMAND, "watch", "rover.tx", **pipes)
        assert words.stdout.readline()
        words.send_signal(signal.SIGINT)
        _, errors = words.communicate(timeout=DEADLINE_S)
        assert words.returncode == 130
        assert "Traceback" not in errors
        assert gateway.process.poll() is None


def test_bytes_between_a_bridge_and_a_mock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mock, bridge = tmp_path / "m", tmp_path / "b"
    mock.mkdir()
    bridge.mkdir()
    (bridge / "run").symlink_to(mock / "run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mock / "run"))
    line = ["mock", "uart-node", "--link", "./a"]
    with (
        Gateway(mock, line),
        Gateway(bridge, ["bridge", str(mock / "a"), "--listen", "127.0.0.1:0"]) as program,
    ):
        asked = {}
        for path in live_sockets(LOOK):
            connection = connected(path, DEADLINE_S)
            config = ask_on(connection, Watch(), 5)["config"]
            asked["bridge" if "bridge" in config else "mock"] = connection, path
        match = re.search(r"listening on (.*):(\d+)\n", program.text())
        assert match is not None
        with socket.create_connection((match[1], int(match[2])), DEADLINE_S) as client:
            client.sendall(b"\xa5")
            ends = ("bridge", "port", "sent"), ("mock", "uart_node0", "received")
            for name, part, direction in ends:
                connection, path = asked[name]
                events = (each for each in messages_on(connection) if each["event"] == "bytes")
                wanted = {"part": part, "direction": direction, "data": "a5"}
                assert any(wanted.items() <= event.items() for event in events)
                connection.close()
                with pytest.raises(HilgwError, match="send is not for this program"):
                    Client(path).send("a", "b")
                assert Client(path).report()
    assert not live_sockets(LOOK)
