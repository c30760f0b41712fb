"""The benchmarks run and measure; only an idle machine shows whether they meet their goals."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.e2e.running import ROOT, run_program

BENCH = ROOT / "tools" / "bench"


def rows(tmp_path: Path, script: str, *options: str) -> dict[str, list[str]]:
    """The table that a script prints: first column -> the others."""
    done = run_program(sys.executable, str(BENCH / script), *options, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    table = {line[0]: line[1:] for line in lines}
    missed = any("MISSED" in line for line in done.stdout.splitlines())
    assert done.returncode == int(missed)
    return table


@pytest.mark.judge("socat", "cc")
def test_the_bridge_is_compared_with_socat(tmp_path: Path) -> None:
    options = ("--rounds", "1", "--seconds", "0.02", "--only", "round trip 16")
    table = rows(tmp_path, "bridge.py", *options)
    assert set(table) == {"round trip 16 B, p50 us", "round trip 16 B, p99 us"}
    for ours, beside, ratio, *_ in table.values():
        assert ours.startswith("hilgw ")
        assert beside.startswith("socat ")
        assert float(ratio) > 0


def test_the_xbee_path_is_compared_with_digi_xbee(tmp_path: Path) -> None:
    table = rows(tmp_path, "xbee.py", "--rounds", "1", "--packets", "40")
    assert set(table) == {
        f"XBee packets {pattern} to {name}, CPU us each"
        for pattern in ("one at a time", "back to back")
        for name in ("session", "gateway")
    }
    for ours, beside, times_less, *_ in table.values():
        assert float(ours) > 0
        assert beside.startswith("digi-xbee ")
        assert float(times_less) > 1


def test_the_firmware_stops_its_motors_when_the_gateway_freezes(tmp_path: Path) -> None:
    """On TCP nothing but its own watchdog does: the script fails when the motor keeps turning."""
    command = (sys.executable, str(BENCH / "watchdog.py"), "--runs", "1", "--only", "tcp")
    done = run_program(*command, cwd=tmp_path, timeout_s=120)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "tcp, SIGSTOP to motor 0, 1 runs: p50 " in done.stdout


@pytest.fixture(scope="module")
def tests_of_the_bridge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bridge_tests", BENCH / "bridge_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bridge_tests"] = module
    spec.loader.exec_module(module)
    return module


def test_lateness_is_distinguished_from_a_wrong_rate(tests_of_the_bridge: ModuleType) -> None:
    figures = tests_of_the_bridge.pacing(9600, 64)
    period_ns = 64 * 10 * 1e9 / 9600
    exact = [round(1e9 + index * period_ns) for index in range(200)]
    found = figures(exact)
    assert found["p99 us"] < 0.01
    assert found["rate error %"] < 1e-6
    late = [at + (3_000_000 if index % 20 == 7 else 0) for index, at in enumerate(exact)]
    assert figures(late)["p50 us"] < 0.01
    assert figures(late)["p99 us"] == pytest.approx(3000, abs=0.01)
    assert figures(late)["rate error %"] < 1e-6
    slow = [round(1e9 + index * period_ns * 1.001) for index in range(200)]
    assert figures(slow)["rate error %"] == pytest.approx(0.1, abs=0.001)


@pytest.mark.judge("cc")
def test_the_load_finds_what_is_lost_or_altered(tmp_path: Path) -> None:
    """Sockets instead of a bridge: a correct one, then faulty ones."""
    load = tmp_path / "load"
    source = str(BENCH / "load.c")
    subprocess.run(["cc", "-O2", "-o", load, source, "-lpthread"], check=True)

    def run(packet: bytes, answer: bytes) -> subprocess.CompletedProcess[str]:
        near, far = socket.socketpair()
        with near, far:
            far.sendall(answer)
            ends = (near.fileno(), os.dup(near.fileno()))
            done = subprocess.run(
                [str(load), *map(str, ends), "arrivals", "2", packet.hex()],
                pass_fds=ends,
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            os.close(ends[1])
            return done

    good = run(b"ab", b"abab")
    assert good.returncode == 0
    assert len(good.stdout.split()) == 2
    altered = run(b"ab", b"abax")
    assert (altered.returncode, altered.stderr) == (1, "altered\n")
    lost = run(b"ab", b"aba")
    assert (lost.returncode, lost.stderr) == (1, "lost\n")


def test_the_time_to_a_stop_is_measured_from_its_cause(tmp_path: Path) -> None:
    options = ("--runs", "1", "--body", "create2", "--cause", "FIN", "--cause", "Ctrl-C")
    done = run_program(sys.executable, str(BENCH / "stop_times.py"), *options, cwd=tmp_path)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    found = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "| 1 |" in line]
    assert [row[:2] for row in found] == [["create2", "FIN"], ["create2", "Ctrl-C"]]
    assert all(0 < float(row[5]) < 10_000 for row in found)
