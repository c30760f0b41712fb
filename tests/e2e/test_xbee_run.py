"""The main job: `hilgw --config configs/xbee.yaml`, as a newcomer runs it; remote registers."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import XBEE, Gateway, report_in, run, wait_until

# In simulated time, in which a port for another program has no place.
SIMULATED = ("--speed", "max", "--backend", "mock", "--set", "airs.lab.nodes.spare.link=null")


def test_what_report_on_stdout_and_quiet_print(tmp_path: Path) -> None:
    simulated = (*SIMULATED, "--duration", "2s")
    done = run("--config", XBEE, *simulated, "--report", "-", cwd=tmp_path)
    assert json.loads(done.stdout)["ledger"]["adds_up"] is True
    assert "rover.tx" in done.stderr
    quiet = run("--config", XBEE, *simulated, "-q", cwd=tmp_path)
    assert "ping" not in quiet.stdout and "summary" in quiet.stdout


def test_send_through_a_gateway_that_shows_states_packets_and_a_summary(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", XBEE, "--report", "out.json"]) as gateway:
        wait_until(lambda: '"pong 1"' in gateway.text(), what="the answer")
        done = run("send", "rover.tx", "--channel", "12", "ping by hand", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: '"pong by hand"' in gateway.text(), what="the answer")
        done = run("send", "xbee0", "--hex", "70 69 6e 67 ff", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: '"pong\\xff"' in gateway.text(), what="the answer to bytes")
        done = run("send", "xbee0", "--channel", "7", "lost", cwd=tmp_path)
        assert (done.returncode, "channel" in done.stderr) == (1, True)
        done = run("send", "xbee9", "x", cwd=tmp_path)
        assert done.returncode == 1
        assert "did you mean 'xbee0'?" in done.stderr
        assert gateway.stop(signal.SIGINT) == 130
        text = gateway.text()
    done = run("send", "rover.tx", "x", cwd=tmp_path)
    assert done.returncode == 5
    assert "no gateway" in done.stderr
    report = report_in(tmp_path)
    assert report["exit_code"] == 130
    assert report["latency"]["xbee0"]["count"] == report["stations"]["xbee0"]["delivered"] > 0
    assert re.search(r"^ +[\d.]+  rover\.tx +ch 12 +\"ping 1\"", text, re.MULTILINE), text
    assert re.search(r"xbee0 +up: XBee .*CH 0C PAN 3332", text)
    assert re.search(r'xbee0 +ch 12 +"pong 1" 6 B +-\d+ dBm +from 0013A2', text)
    assert "\nready\n" in text
    assert "the ledger adds up" in text
    assert "\x1b" not in text  # not a terminal: no colours


REMOTE = "0013A2004AB67FB2"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("at")
    with Gateway(folder, ["--config", XBEE, "--backend", "loopback"]):
        yield folder


def at(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = run("set", "xbee0", "--at", *arguments, cwd=folder)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_a_register_is_written_and_read_back(running: Path) -> None:
    assert at(running, REMOTE, "NI", "far end") == (0, f"{REMOTE}: NI = far end", "")
    assert at(running, REMOTE, "NI") == (0, "far end", "")
    assert at(running, REMOTE.lower(), "rr", "3")[0] == 0
    assert at(running, REMOTE, "RR") == (0, "03", "")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((REMOTE, "RR", "77"), 5, f"{REMOTE}: RR: "),
        (("0013A20000000001", "NI"), 5, "0013A20000000001: NI: "),
        ((REMOTE, "RR", "fast"), 2, "'fast' is not a value of RR; write hexadecimal digits"),
        (("0013A2", "NI"), 2, "address must be an address of 16 or 4 hexadecimal digits"),
        ((REMOTE, "NIX"), 2, "name must be an AT command of two characters"),
        ((REMOTE,), 2, "--at takes REMOTE COMMAND [VALUE]"),
    ],
)
def test_an_error_is_shown(running: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    returned, _, error = at(running, *arguments)
    assert (returned, text in error) == (code, True), error
