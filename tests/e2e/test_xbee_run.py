"""The main job: `hilgw --config configs/xbee.yaml`, as a newcomer runs it."""

import json
import os
import re
import signal
from pathlib import Path

from tests.e2e.running import (
    XBEE,
    Gateway,
    report_of,
    run,
    wait_until,
    with_a_second_module,
)

# In simulated time, in which a port for another program has no place.
SIMULATED = ("--speed", "max", "--backend", "mock", "--set", "airs.lab.nodes.spare.link=null")


def test_what_report_on_stdout_and_quiet_print(
    tmp_path: Path,
) -> None:
    simulated = (*SIMULATED, "--duration", "2s")
    done = run("--config", XBEE, *simulated, "--report", "-", cwd=tmp_path)
    assert json.loads(done.stdout)["ledger"]["adds_up"] is True
    assert "rover.tx" in done.stderr
    quiet = run("--config", XBEE, *simulated, "-q", cwd=tmp_path)
    assert "ping" not in quiet.stdout and "summary" in quiet.stdout


def test_the_loopback_back_end_needs_no_pty(tmp_path: Path) -> None:
    no_link = ("--set", "airs.lab.nodes.spare.link=null")
    with Gateway(tmp_path, ["--config", XBEE, "--backend", "loopback", *no_link]) as gateway:
        wait_until(lambda: '"pong 3"' in gateway.text(), what="the third answer")
        files = Path(f"/proc/{gateway.process.pid}/fd").iterdir()
        assert not [name for name in map(os.readlink, files) if name.startswith("/dev/pt")]


def test_send_through_a_running_gateway_that_shows_states_packets_and_a_summary(
    tmp_path: Path,
) -> None:
    with Gateway(tmp_path, ["--config", XBEE, "--report", "report.json"]) as gateway:
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
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["exit_code"] == 130
    assert report["latency"]["xbee0"]["count"] == report["stations"]["xbee0"]["delivered"] > 0
    assert re.search(r"^ +[\d.]+  rover\.tx +ch 12 +\"ping 1\"", text, re.MULTILINE), text
    assert re.search(r"xbee0 +up: XBee .*CH 0C PAN 3332", text)
    assert re.search(r'xbee0 +ch 12 +"pong 1" 6 B +-\d+ dBm +from 0013A2', text)
    assert "\nready\n" in text
    assert "the ledger adds up" in text
    assert "\x1b" not in text  # not a terminal: no colours


def test_two_modules_in_one_air_make_no_storm_and_no_echo(tmp_path: Path) -> None:
    config = with_a_second_module(tmp_path)
    report = report_of(tmp_path, "--config", config, *SIMULATED, "--duration", "10.2s")
    sent = report["emitters"]["rover.tx"]["departed"]
    first, other = report["stations"]["xbee0"], report["stations"]["xbee1"]
    assert first["accepted"] - first["refused"].get("own_echo", 0) == sent
    assert other["delivered"] == 0  # one module of an air only
    assert sent > 5
    assert other["refused"]["own_echo"] == report["stations"]["rover.rx"]["delivered"] == sent
