"""`hilgw mock` as a command: its ports, its words, its end."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import serial

from hilgw.testing.sim import wait_until
from tests.e2e.running import COMMAND, in_process, start as start_program

pytestmark = pytest.mark.process

DEADLINE_S = 20.0
ASK_AP = bytes.fromhex("7E 00 04 08 01 41 50 65")
AP_IS_1 = bytes.fromhex("7E 00 06 88 01 41 50 00 01 E4")

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `hilgw mock ...` in a fresh directory; whatever still runs is ended."""
    running: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(start_program(tmp_path, *COMMAND, "mock", *arguments, text=True, **pipes))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def modules_of(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What it reports with --json when it is ready."""
    return json.loads(process.stdout.readline())["modules"]


def ended(*arguments: str, cwd: Path) -> tuple[int, str, str]:
    """`hilgw mock ...` in this process, interrupted when it does not end by itself."""
    late = threading.Timer(DEADLINE_S, os.kill, (os.getpid(), signal.SIGINT))
    late.start()
    try:
        return in_process("mock", *arguments, cwd=cwd)
    finally:
        late.cancel()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_makes_ports_and_takes_them_away(
    start: Start, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    arguments = ("xbee", "--link", "./a", "--link", "./b", "--set", "1.channel=13")
    process = start(*arguments, "--ready-file", "ready")
    wait_until((tmp_path / "ready").exists)
    assert int((tmp_path / "ready").read_text()) == process.pid
    with serial.Serial(str(tmp_path / "a"), 9600, timeout=DEADLINE_S) as port:
        port.write(ASK_AP)
        assert port.read(len(AP_IS_1)) == AP_IS_1
    process.send_signal(number)
    returned, out, err = finish(process)
    assert (returned, err) == (code, "")
    first, second, ready = out.splitlines()
    assert first.startswith("./a  xbee0: XBee 3 802.15.4, 0013A200")
    assert "channel 12" in first
    assert second.startswith("./b  xbee1: ")
    assert "channel 13" in second
    assert ready.startswith("ready")
    assert not (tmp_path / "a").is_symlink()
    assert not (tmp_path / "b").is_symlink()


def test_modules_without_a_name_of_their_own(start: Start, tmp_path: Path) -> None:
    """One answers over the air, the only one of a call has a port at a name that is reported."""
    process = start("xbee", "--link", "a", "--set", "1.replies=ping:pong", "--json")
    assert [module["link"] for module in modules_of(process)] == ["a", None]
    with serial.Serial(str(tmp_path / "a"), 9600, timeout=DEADLINE_S) as port:
        data = b"\x00\x00" + (0xFFFF).to_bytes(8, "big") + b"\x00ping 5"
        port.write(b"\x7e" + len(data).to_bytes(2, "big") + data)
        port.write(bytes((0xFF - sum(data) % 256,)))
        assert port.read_until(b"pong 5").endswith(b"\x28\x00pong 5")  # 1 m away: -40 dBm
    process = start("xbee", "--json", "--set", "hardware=s1")
    (module,) = modules_of(process)
    assert Path(module["link"]).exists() and "XBee S1" in module["is"]
    process.terminate()
    assert finish(process)[0] == 143
    assert not Path(module["link"]).exists()


def test_what_there_is_and_its_parameters(tmp_path: Path) -> None:
    code, out, _ = ended("--list", cwd=tmp_path)
    assert code == 0
    assert any(line.startswith("xbee ") for line in out.splitlines())
    code, out, _ = ended("xbee", "--list", "--json", cwd=tmp_path)
    assert code == 0
    assert {"channel", "pan_id", "replies", "position"} <= json.loads(out).keys()


def test_a_name_that_is_taken_is_left_alone(start: Start, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    returned, _, err = finish(start("xbee", "--link", "b", "--link", "a"))
    assert returned == 4
    assert "Traceback" not in err
    assert (tmp_path / "a").read_text() == "mine"
    assert not (tmp_path / "b").is_symlink()


def test_a_robot_listens_and_registers_its_devices(start: Start, tmp_path: Path) -> None:
    process = start("wc2ec-robot", "--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--json")
    for module in modules_of(process):
        host, _, port = module["listen"].rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port)), DEADLINE_S) as robot:
            robot.settimeout(DEADLINE_S)
            assert robot.recv(12, socket.MSG_WAITALL) == b"\0\x26\0\x07ds_left\0"
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 143


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ("", 2, "no mock given"),
        ("xbe", 2, "did you mean 'xbee'"),
        ("xbee --set channel", 2, "NAME=VALUE"),
        ("xbee --set channel=99", 2, "11 to 26"),
        ("xbee --set 999.channel=12", 2, "more than 256 modules"),
        ("xbee --loss 2", 2, "between 0 and 1"),
        ("xbee --seed x", 2, "--seed"),
        ("xbee --link missing/dir/a", 4, "missing/dir/a"),
        ("xbee --ready-file missing/ready", 1, "missing/ready"),
        ("wc2ec-robot --link a", 2, "use --listen"),
        ("webots-simulator --connect 127.0.0.1:1", 2, "use --listen"),
        ("webots-simulator --set devices=x:Lidar", 2, "devices: "),
        ("wc2ec-controller --listen 127.0.0.1:0", 2, "use --connect"),
        ("wc2ec-node --connect 127.0.0.1:1", 2, "use --link"),
        ("xbee --listen 127.0.0.1:0", 2, "use --link"),
        ("wc2ec-robot --set frame=cobs-crc16 --listen 127.0.0.1:0", 2, "use --link"),
        ("wc2ec-robot --listen 27015", 2, "not HOST:PORT"),
        ("wc2ec-robot --listen 127.0.0.1:99999", 2, "not HOST:PORT"),
        ("wc2ec-controller --connect 127.0.0.1:0", 2, "port 0 is not valid"),
        ("wc2ec-robot --listen 192.0.2.1:0", 4, "loopback"),
    ],
)
def test_a_command_line_that_is_refused(words: str, code: int, error: str, tmp_path: Path) -> None:
    returned, out, err = ended(*words.split(), cwd=tmp_path)
    assert (returned, out if code == 2 else "") == (code, "")
    assert error in err and "Traceback" not in err


def test_a_port_that_is_taken(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        returned, _, err = finish(start("wc2ec-robot", "--listen", f"127.0.0.1:{port}"))
    assert returned == 4
    assert "in use" in err
