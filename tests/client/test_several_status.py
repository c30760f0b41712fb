"""`hilgw status` and `hilgw metrics` of several gateways: each is shown, whatever the others do."""

import json
import os
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.client import control_socket
from hilgw.engine.control_socket.listener import control_folder
from hilgw.testing.sim import DEADLINE_S
from tests.client.several import killed, peer, running, with_robots


def test_one_that_does_not_answer_is_named_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(control_socket, "ASK_ALL_S", DEADLINE_S)
    folder = control_folder()
    killed(folder / "K.sock")
    assert main(["status"]) == 5
    assert "no gateway of yours is running" in capsys.readouterr().err
    with (
        running(folder, A=with_robots("bus"), B="version: 1\nrobots: {cab: {}}\n"),
        peer(folder / "C.sock", lambda request: b""),
        peer(
            folder / "D.sock",
            lambda request: b'{"error": "unknown \\u001b request", "version": 2}\n',
        ),
    ):
        assert main(["status"]) == 5
        printed = capsys.readouterr().out
        assert max(map(len, printed.splitlines())) <= 80 + len(str(folder))
        shown = " ".join(printed.split())
        assert f"the gateway does not answer (process {os.getpid()}: " in shown
        assert "bus: armed, body down" in shown
        assert f"{folder}/C.sock: the gateway does not answer" in shown
        assert f"{folder}/D.sock: 'unknown" in shown
        assert "\x1b" not in printed
        assert main(["status", "--json"]) == 5
        names = [Path(each["control"]).name for each in json.loads(capsys.readouterr().out)]
        assert names == ["A.sock", "B.sock", "C.sock", "D.sock"]
        assert main(["status", "-c", "B"]) == 0
        assert main(["metrics"]) == 5
        printed = capsys.readouterr()
        assert 'hilgw_info{config="/A.yaml"' in printed.out
        assert "C.sock: the gateway does not answer" in printed.err
