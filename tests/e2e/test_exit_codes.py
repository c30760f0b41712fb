"""Every documented exit code, stops at any moment, and starts that fail and leave nothing."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from hilgw.errors import HilgwError
from hilgw.testing.sim import wait_until
from tests.e2e.running import (
    COMMAND,
    DEADLINE_S,
    HOST,
    ROOT,
    XBEE,
    Gateway,
    report_in,
    run,
    run_program,
    start,
)

SILENT = """
version: 1
backend: real
adapters:
  modem:
    kind: text
    port: {port}
    setup: [{{send: AT, expect: OK, tries: 1, timeout_s: 0.1}}]
    send: [{{send: "{{data}}"}}]
    receive: "RX (?P<data>.*)"
"""


def config_for(port: str, tmp_path: Path, *more: str) -> str:
    """The XBee example on a real port."""
    text = Path(XBEE).read_text().replace("backend: mock", "backend: real")
    text = text.replace("/dev/serial/by-id/usb-Digi_XBee-if00-port0", port)
    head, _, _ = text.partition("airs:")
    path = tmp_path / "real.yaml"
    path.write_text(head + "".join(f"    {line}\n" for line in more) + "airs: {lab: {}}\n")
    return str(path)


def test_6_another_module_than_configured_and_4_at_once_for_a_port_in_use(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["mock", "xbee", "--link", "./xb"]):
        config = config_for("./xb", tmp_path, 'module: "0013A200DEADBEEF"')
        done = run("--config", config, "--duration", "60s", cwd=tmp_path)
        assert done.returncode == 6, done.stdout + done.stderr
        assert "DEADBEEF" in done.stderr
        config = config_for("./xb", tmp_path)
        with Gateway(tmp_path, ["--config", config]):
            command = (*COMMAND, "--config", config, "--duration", "600s")
            done = run_program(*command, cwd=tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr


def test_5_a_port_without_an_answer(tmp_path: Path) -> None:
    master, slave = os.openpty()
    try:
        config = tmp_path / "silent.yaml"
        config.write_text(SILENT.format(port=os.ttyname(slave)))
        done = run("--config", str(config), "--duration", "2s", cwd=tmp_path)
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 5, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_130_and_143_after_a_clean_stop(number: signal.Signals, code: int, tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, ["--config", XBEE, "--report", "out.json"])
    assert gateway.stop(number) == code
    assert report_in(tmp_path)
    assert not (tmp_path / "xbee-spare").is_symlink()
    assert "Traceback" not in gateway.text()


def test_unread_output_delays_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ: full after some lines
    more = ["--set", "robots.rover.controller.period_ms=10", "--report", "out.json"]
    command = (*COMMAND, "-v", "--config", XBEE, "--ready-file", "ready", *more)
    process = start(tmp_path, *command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    try:
        wait_until((tmp_path / "ready").exists)
        held = bytearray(4)
        wait_until(lambda: fcntl.ioctl(reader, termios.FIONREAD, held) == 0 and _full(held))
        assert run("send", "xbee0", "hi", cwd=tmp_path, timeout_s=10).returncode == 0
        process.terminate()
        _, errors = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
        os.close(reader)
    assert (process.returncode, errors) == (143, "")
    assert report_in(tmp_path)


def _full(held: bytearray) -> bool:
    return int.from_bytes(held, sys.byteorder) > 4000


def test_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    command = ("nohup", *COMMAND, "--config", XBEE, "--ready-file", "ready")
    nothing = subprocess.DEVNULL
    process = start(tmp_path, *command, stdout=nothing, stderr=nothing)
    try:
        wait_until((tmp_path / "ready").exists)
        process.send_signal(signal.SIGHUP)
        assert run("send", "xbee0", "hi", cwd=tmp_path).returncode == 0
        process.terminate()
        assert process.wait(DEADLINE_S) == 143
    finally:
        process.kill()


@pytest.mark.wall_clock("any moment after the first output is right: there is no condition")
@pytest.mark.parametrize(("delay_ms", "number"), [(60, signal.SIGTERM), (200, signal.SIGINT)])
def test_a_signal_at_any_moment_stops_it_without_a_traceback(
    delay_ms: int, number: signal.Signals, tmp_path: Path
) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = start(tmp_path, *COMMAND, "--config", XBEE, **pipes)
    process.stdout.readline()  # our first word: before it there is only the interpreter itself
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay_ms / 1000)
    process.send_signal(number)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], errors
    assert errors == ""
    assert not (tmp_path / "xbee-spare").is_symlink()


def test_a_reader_that_leaves_ends_the_run_in_order(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    options = (XBEE, "--report", "out.json", "--ready-file", "ready")
    process = start(tmp_path, *COMMAND, *options, stdout=writer)
    os.close(writer)
    wait_until((tmp_path / "ready").exists)
    os.close(reader)
    assert process.wait(DEADLINE_S) == 130
    assert report_in(tmp_path)["exit_code"] == 130


HC12 = ["--config", str(ROOT / "configs" / "hc12.yaml"), "--duration", "20s"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("mocap ", ["--set", 'medium.mocap={{listen: "{host}:{udp}"}}']),
        ("in use", ["--set", 'metrics={{listen: "tcp://{host}:{tcp}"}}']),
        ("control socket", ["--control", "/nonexistent/x"]),
        (
            "cannot create this link",
            ["--set", 'airs.433MHz.nodes.more={{mock: hc12, link: "./no/x"}}'],
        ),
    ],
)
def test_a_start_that_fails_leaves_no_link_and_no_folder(
    reason: str, options: list[str], tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with socket.create_server((HOST, 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind((HOST, 0))
        ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
        given = [each.format(host=HOST, **ports) for each in options]
        done = run(*HC12, *given, cwd=tmp_path, TMPDIR=str(temporary))
    assert done.returncode not in (0, -9), done.stdout
    assert reason in done.stderr
    assert list(temporary.iterdir()) == []
    assert not os.path.lexists(tmp_path / "hc12-spare")


@pytest.mark.process
def test_an_existing_recording_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_text("mine")
    done = run(*HC12, "--record", "a.pcapng", cwd=tmp_path)
    assert done.returncode == HilgwError.exit_code
    assert "a.pcapng: exists already" in done.stderr
    assert "summary" not in done.stdout
    assert "ledger" not in done.stdout
    nowhere = run(*HC12, "--record", "no/a.pcapng", cwd=tmp_path)
    assert "no/a.pcapng: cannot write: no such folder" in nowhere.stderr
    assert "ledger" not in nowhere.stdout


def in_own_dev(script: str, cwd: Path) -> str:
    """Runs a shell script, where it may change /dev for itself: its output."""
    space = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if run_program(*space, "mount", "-t", "tmpfs", "none", "/dev/shm", cwd=cwd).returncode:
        pytest.skip("no file system can be mounted here")
    done = run_program(*space, "sh", "-c", script, *COMMAND, cwd=cwd, timeout_s=2 * DEADLINE_S)
    assert done.returncode, done.stdout
    return done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.judge("unshare")
@pytest.mark.parametrize(
    ("folder", "words", "errors"),
    [
        ("/dev/pts", " ".join(HC12), ["cannot make a pseudo-terminal: ", "mount devpts on"]),
        ("/dev", "status <&-", ["hilgw"]),
    ],
)
def test_a_system_without_devices_causes_no_traceback(
    folder: str, words: str, errors: list[str], tmp_path: Path
) -> None:
    printed = in_own_dev(f'mount -t tmpfs none {folder} && "$0" "$@" {words}', tmp_path)
    assert all(each in printed for each in errors) and "Traceback" not in printed, printed


@pytest.mark.process
@pytest.mark.judge("prlimit")
def test_too_few_descriptors_are_named(tmp_path: Path) -> None:
    for limit in (6, 13):
        words = 'exec prlimit --nofile="$0" -- "$@"'
        done = run_program("sh", "-c", words, str(limit), *COMMAND, *HC12, cwd=tmp_path)
        assert done.returncode
        assert "Too many open files" in done.stderr
        assert "raise ulimit -n" in done.stderr
        assert "cannot write" not in done.stderr
