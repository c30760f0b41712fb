"""Short runs of soaks and benchmarks, slow clients, and tests of real devices on virtual ones."""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from urllib.request import urlopen

import pytest

from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import HOST, ROOT, XBEE, Gateway, bench_tool, free_port, run_program

BENCH = ROOT / "tools" / "bench"


def test_full_lines_lose_nothing(tmp_path: Path) -> None:
    options = ("--seconds", "3", "--ports", "4", "--report", "soak.json")
    done = run_program(sys.executable, str(BENCH / "soak.py"), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "soak.json").read_text())
    assert report["overrun_bytes"] == 0
    for direction in ("to_devices", "to_gateway"):
        counts = report[direction]
        assert counts["full"] > 0.5  # a busy machine does not fill the lines
        assert counts["received"] == counts["sent"] > 500
        wrong = ("lost", "doubled", "reordered", "altered", "bad_frames")
        assert {key: counts[key] for key in wrong} == dict.fromkeys(wrong, 0)
    assert report["gateway_cpu_percent"] > 0


@pytest.fixture(scope="module")
def numbered() -> ModuleType:
    return bench_tool("numbered")


@pytest.mark.parametrize(
    ("order", "lost", "doubled", "reordered"),
    [
        ([0, 1, 2, 3], 0, 0, 0),
        ([0, 1, 3], 1, 0, 0),
        ([0, 1, 2], 1, 0, 0),
        ([1, 2, 3], 1, 0, 0),
        ([], 4, 0, 0),
        ([0, 1, 1, 2, 3], 0, 1, 0),
        ([0, 2, 1, 3], 0, 0, 1),
        ([0, 2, 1, 1, 3], 0, 1, 1),
        ([3, 2, 1, 0], 0, 0, 3),
    ],
)
def test_the_checker_finds_what_is_wrong(
    order: list[int], lost: int, doubled: int, reordered: int, numbered: ModuleType
) -> None:
    checker = numbered.Checker(7)
    for number in order:
        checker.check(numbered.payload(number, 7))
    checker.finish(4)
    counts = checker.as_dict()
    assert (counts["lost"], counts["doubled"], counts["reordered"]) == (lost, doubled, reordered)
    assert counts["altered"] == 0


def test_the_checker_finds_altered_and_misdirected_packets(numbered: ModuleType) -> None:
    checker = numbered.Checker(7)
    packet = numbered.payload(0, 7)
    checker.check(packet[:-1] + bytes([packet[-1] ^ 1]))
    checker.check(packet + b"more")
    checker.check(numbered.payload(0, 8))
    checker.check(b"")
    assert checker.as_dict()["altered"] == 4
    assert checker.received == 0


def test_the_firmware_stops_its_motors_when_the_gateway_freezes(tmp_path: Path) -> None:
    """On TCP nothing but its own watchdog does: the script fails when the motor keeps turning."""
    command = (sys.executable, str(BENCH / "watchdog.py"), "--runs", "1", "--only", "tcp")
    done = run_program(*command, cwd=tmp_path, timeout_s=120)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "tcp, SIGSTOP to motor 0, 1 runs: p50 " in done.stdout


@pytest.mark.parametrize(("tool", "wrong"), [("stop_times", "--body x"), ("guardian_soak", "-x")])
def test_a_benchmark_of_stops_reads_its_options(tool: str, wrong: str, tmp_path: Path) -> None:
    command = (sys.executable, str(BENCH / f"{tool}.py"))
    done = run_program(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {tool}.py "), done.stderr
    done = run_program(*command, *wrong.split(), cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.process
def test_the_metrics_are_there_whatever_slow_clients_do(tmp_path: Path) -> None:
    port = free_port()
    options = ["--config", XBEE, "--backend", "mock", "--metrics", f"{HOST}:{port}"]
    with Gateway(tmp_path, options) as gateway:
        limit_descriptors(gateway.process.pid)
        with slow_clients(port, MANY, HOST):
            with urlopen(f"http://{HOST}:{port}/metrics", timeout=DEADLINE_S) as answer:
                assert b"hilgw_info" in answer.read()


ORDINARY = 1024
"""The limit of descriptors that programs have as a rule."""
MANY = 1020
"""Connections that use all descriptors of an ordinary program."""
SPARE = 32
"""Descriptors that the test itself needs beside them."""


def limit_descriptors(pid: int) -> None:
    """A process has as few descriptors as programs have as a rule."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(ORDINARY, hard), hard))


@contextmanager
def slow_clients(port: int, count: int, host: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """So many connections, as far as this process may have them, that send one byte of a request
    after the other, and no end."""
    limits = _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len([*Path("/dev/fd").iterdir()])
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients: list[socket.socket] = []
    done = threading.Event()

    def drip() -> None:
        while not done.wait(0.2):
            for client in clients:
                with suppress(OSError):  # it was ended
                    client.send(b"X")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        while len(clients) < min(count, hard - used - SPARE):
            clients.append(socket.create_connection((host, port)))
        yield clients
    finally:
        done.set()
        dripping.join()
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def pytest_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/real"]
    return run_program(*command, *arguments, cwd=ROOT, timeout_s=180)


class LoopPlug:
    """A line that returns its bytes, complete or not."""

    def __init__(self, wrong: bytes, right: bytes) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self._table = bytes.maketrans(right, wrong)
        self._thread = threading.Thread(target=self._repeat)
        self._thread.start()

    def _repeat(self) -> None:
        while data := os.read(self.master, 4096):
            if data == b"\x04the end":
                return
            os.write(self.master, data.translate(self._table))

    def end(self) -> None:
        os.write(self.slave, b"\x04the end")
        self._thread.join()
        os.close(self.master)
        os.close(self.slave)


def test_a_line_that_alters_a_byte_fails() -> None:
    plug = LoopPlug(b"b", b"a")
    try:
        done = pytest_of("--loop-plug", plug.path, "-k", "all_values and posix and 115200")
    finally:
        plug.end()
    assert "1 failed" in done.stdout, done.stdout + done.stderr


def test_a_loop_plug_an_xbee_and_robots(tmp_path: Path) -> None:
    kinds = ("xbee", "epuck", "create2", "dynamixel")
    with ExitStack() as running:
        plug = LoopPlug(b"a", b"a")
        running.callback(plug.end)
        options = ["--loop-plug", plug.path]
        for kind in kinds:
            bench = tmp_path / kind
            bench.mkdir()
            running.enter_context(Gateway(bench, ["mock", kind, "--link", "./robot"]))
            options += [f"--{kind}", str(bench / "robot")]
        done = pytest_of(*options)
    assert done.returncode == 0, done.stdout + done.stderr
