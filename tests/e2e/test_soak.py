"""Short runs of the soaks and of two benchmarks; the checker of the soak finds errors."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.e2e.running import ROOT, bench_tool, run_program

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
    found = checker.as_dict()
    assert (found["lost"], found["doubled"], found["reordered"]) == (lost, doubled, reordered)
    assert found["altered"] == 0


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
