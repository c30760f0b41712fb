#!/usr/bin/env python3
"""Kills a gateway that records, at random instants, with SIGKILL.

Each file must open without an error, and hold all events but those of the last 0.1 s: the gateway
exchanges packets each 5 ms, on a machine that is not busy. Exit 1 where one does not.

    tools/soak kills [--count 100] [--seed 1]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hilgw.protocols.pcapng.blocks import RecordingError
from hilgw.record.recording import Recording

CONFIG = Path(__file__).parents[2] / "configs" / "uart.yaml"
OFTEN = ("--set", "robots.rover.controller.period_ms=5")
LATEST_S = 1.5
LOST_NS = 100_000_000
DEADLINE_S = 60.0


def killed(path: Path, after_s: float) -> int:
    """Kill a gateway this long after the start of its recording; return when."""
    options = ["--config", str(CONFIG), *OFTEN, "--record", str(path)]
    command = [sys.executable, "-m", "hilgw", *options]
    gateway = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=path.parent
    )
    end_s = time.monotonic() + DEADLINE_S
    while not (path.exists() and path.stat().st_size):
        assert gateway.poll() is None and time.monotonic() < end_s, "the gateway does not record"
        time.sleep(0.001)
    time.sleep(after_s)
    killed_ns = time.monotonic_ns()
    os.kill(gateway.pid, signal.SIGKILL)
    gateway.wait()
    assert gateway.stderr is not None
    gateway.stderr.read()  # ends with the process that writes
    return killed_ns


def fault(path: Path, killed_ns: int) -> tuple[str, int]:
    """Return what is wrong with the file, "" for nothing, and the time that is lost."""
    try:
        recording = Recording(path)
    except RecordingError as error:
        return str(error), 0
    last_ns = recording.head["mono_ns"]
    for event in recording.events():
        last_ns = event["mono_ns"]
    if recording.error or recording.truncated:
        return str(recording.error or "ends within an event"), killed_ns - last_ns
    lost_ns = killed_ns - last_ns
    return "too much is lost" if lost_ns > LOST_NS else "", lost_ns


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills")
    parser.add_argument("--seed", type=int, default=1, help="of the instants")
    args = parser.parse_args()
    instants, faults, most_ns = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.count):
            path = Path(folder, f"{number}.pcapng")
            after_s = instants.uniform(0, LATEST_S)
            problem, lost_ns = fault(path, killed(path, after_s))
            most_ns = max(most_ns, lost_ns)
            if problem:
                faults += 1
                print(f"kill {number}, after {after_s:.3f} s: {problem} ({lost_ns / 1e6:.0f} ms)")
    print(f"{args.count} kills: {faults} faults; at most {most_ns / 1e6:.0f} ms are lost")
    return 1 if faults or not args.count else 0


if __name__ == "__main__":
    raise SystemExit(main())
