"""`hilgw bridge` and `hilgw mock` show what passes, and do nothing else for a client."""

import re
import socket
from pathlib import Path

import pytest

from hilgw.client import Gateway
from hilgw.client.connection import ask_on, connected, messages_on
from hilgw.client.control_paths import live_sockets
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.paths import LOOK
from hilgw.protocols.gateway.requests import Watch
from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import Gateway as Program


def test_the_bytes_between_a_bridge_and_a_mock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock, bridge = tmp_path / "m", tmp_path / "b"
    mock.mkdir()
    bridge.mkdir()
    (bridge / "run").symlink_to(mock / "run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mock / "run"))
    line = ["mock", "uart-node", "--link", "./a"]
    with (
        Program(mock, line),
        Program(bridge, ["bridge", str(mock / "a"), "--listen", "127.0.0.1:0"]) as program,
    ):
        asked = {}
        for path in live_sockets(LOOK):
            connection = connected(path, DEADLINE_S)
            asked["bridge" if "bridge" in ask_on(connection, Watch(), 5)["config"] else "mock"] = (
                connection,
                path,
            )
        match = re.search(r"listening on (.*):(\d+)\n", program.text())
        assert match is not None
        with socket.create_connection((match[1], int(match[2])), DEADLINE_S) as client:
            client.sendall(b"\xa5")
            for name, part, direction in (
                ("bridge", "port", "sent"),
                ("mock", "uart_node0", "received"),
            ):
                connection, path = asked[name]
                events = (each for each in messages_on(connection) if each["event"] == "bytes")
                wanted = {"part": part, "direction": direction, "data": "a5"}
                assert any(wanted.items() <= event.items() for event in events)
                connection.close()
                with pytest.raises(HilgwError, match="send is not for this program"):
                    Gateway(path).send("a", "b")
                assert Gateway(path).report()
    assert not live_sockets(LOOK)
