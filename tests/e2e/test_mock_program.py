"""A configuration whose `mock:` is a program: the same file runs on a port and on a recording."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.running import ROOT, Gateway, run, run_program, wait_until

EMULATED = ROOT / "configs" / "firmware-emulated.yaml"
ECHO = """
import os
while data := os.read(0, 100):
    os.write(1, data.replace(b"ping", b"pong"))
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A robot whose packets a program answers; its real port does not exist."""
    (tmp_path / "echo.py").write_text(ECHO)
    board = {
        "kind": "uart", "port": "/dev/serial/by-id/none", "channel": 1, "framing": "lines",
        "mock": {"program": f"{sys.executable} -IS echo.py"},
    }  # fmt: skip
    robot = {
        "devices": {
            "tx": {"node": "Emitter", "type": "serial", "channel": 1},
            "rx": {"node": "Receiver", "type": "serial", "channel": 1},
        },
        "controller": {
            "kind": "beacon", "emitter": "tx", "receiver": "rx",
            "period_ms": 100, "payload": "ping {n}",
        },
    }  # fmt: skip
    config = {"version": 1, "robots": {"rover": robot}, "adapters": {"board": board}}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    return "run.yaml"


def received(gateway: Gateway) -> int:
    return int(gateway.report()["stations"]["rover.rx"]["delivered"])


def test_mock_real_and_replay_of_one_file(file: str, tmp_path: Path) -> None:
    options = ["--config", file, "--backend", "mock", "--record", "run.pcapng"]
    with Gateway(tmp_path, options) as running:
        wait_until(lambda: received(running) > 2, what="answered")
        assert '"pong 1" 6 B  -> rover.rx' in running.text()
        assert running.stop() == 130
    (tmp_path / "echo.py").unlink()
    with Gateway(tmp_path, ["--config", file, "--replay", "run.pcapng"]) as running:
        wait_until(lambda: received(running) > 2, what="replayed")
        assert '"pong 1" 6 B  -> rover.rx' in running.text()
        assert running.stop() == 130
    real = run("--config", file, "--backend", "real", "--duration", "1s", cwd=tmp_path)
    assert "/dev/serial/by-id/none: cannot open: No such file or directory" in real.stderr


def test_without_qemu_the_shipped_file_names_its_package(tmp_path: Path) -> None:
    """Python alone is found. The processor time is bounded: wall clock depends on the machine."""
    (tmp_path / "bin").mkdir()
    before = os.times()
    done = run_program(
        sys.executable, "-m", "hilgw", "--config", str(EMULATED), "--duration", "9s",
        cwd=tmp_path, PATH=str(tmp_path / "bin"),
    )  # fmt: skip
    after = os.times()
    assert done.returncode == 3
    assert "mouse.controller: program 'qemu-system-arm' is not there" in done.stderr
    assert "apt-get install qemu-system-arm" in done.stderr
    assert after.children_user - before.children_user < 2
