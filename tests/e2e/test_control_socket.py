"""The control socket of the installed command: signals, kills, and a second gateway."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

from tests.e2e.running import Gateway, run


def test_a_gateway_ends_in_silence_with_clients_connected_and_sweeps_the_dead(
    tmp_path: Path,
) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    folder = tmp_path / "run" / "hilgw"
    killed = Gateway(tmp_path, ["--config", "one.yaml"])
    killed.stop(signal.SIGKILL)
    [dead] = folder.iterdir()
    gateway = Gateway(tmp_path, ["--config", "one.yaml"])
    [path] = folder.iterdir()
    assert path != dead
    clients = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(20)]
    for client in clients:
        client.connect(str(path))
        client.send(b'{"do": "report"}\n')
        with client.makefile() as answers:
            answer = json.loads(answers.readline())
        assert answer["report"]["control_socket"] == {"refused": 0}
    second = run("--config", "one.yaml", "--control", str(path), cwd=tmp_path)
    assert (second.returncode, second.stderr.count("\n")) == (1, 1), second.stderr
    assert "another program has this control socket" in second.stderr
    assert run("place", "rover", "1", "2", "3", cwd=tmp_path).returncode == 1  # unknown, and asked
    assert gateway.stop(signal.SIGTERM) == 143
    assert "Traceback" not in gateway.text()
    assert not list(folder.iterdir())
    for client in clients:
        client.close()
