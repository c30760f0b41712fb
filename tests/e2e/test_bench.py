"""The benchmarks run and measure; only an idle machine shows whether they meet their goals."""

import sys
from pathlib import Path

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


def test_the_time_to_a_stop_is_measured_from_its_cause(tmp_path: Path) -> None:
    options = ("--runs", "1", "--body", "create2", "--cause", "FIN", "--cause", "Ctrl-C")
    done = run_program(sys.executable, str(BENCH / "stop_times.py"), *options, cwd=tmp_path)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    found = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "| 1 |" in line]
    assert [row[:2] for row in found] == [["create2", "FIN"], ["create2", "Ctrl-C"]]
    assert all(0 < float(row[5]) < 10_000 for row in found)
