#!/usr/bin/env python3
"""Multiple of real time that shipped configurations reach at `--speed max`, on their mocks.

    python3 tools/bench/speed.py [--rounds 3] [--duration 60]

Prints the median of the rounds. Exit 1 when a run is slower than real time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# With the link of a node, which another program would open, taken away.
CONFIGS = {
    "swarm": [],
    "xbee": ["--set", "airs.lab.nodes.spare.link=null"],
    "wc2ec": [],
}
GOAL = 1.0


def achieved(name: str, options: list[str], duration_s: float) -> float:
    """Return the speed of one run, without the start of the process."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "hilgw", "--config", str(ROOT / f"configs/{name}.yaml")]
        command += ["--backend", "mock", "--speed", "max", "--duration", f"{duration_s}s"]
        command += ["--quiet", "--report", str(report), "--control", f"{folder}/control"]
        subprocess.run([*command, *options], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return float(json.loads(report.read_text())["speed"]["achieved"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Times real time at --speed max.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", type=float, default=60.0, help="simulated seconds")
    args = parser.parse_args()
    print("| configuration | times real time |\n|---|---|")
    slowest = float("inf")
    for name, options in CONFIGS.items():
        rounds = [achieved(name, options, args.duration) for _ in range(args.rounds)]
        slowest = min(slowest, *rounds)
        print(f"| {name}.yaml | {statistics.median(rounds):.3g} |", flush=True)
    return 0 if slowest >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
