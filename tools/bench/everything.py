#!/usr/bin/env python3
"""All benchmarks: one table of the bridge and the XBee path, then the tables of the others.

    tools/bench/all [--rounds 7] [--quick]

Exit 1 when a goal is missed. docs/performance.md describes the measurements.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import bridge
import watch
import xbee
from table import show_all

HERE = Path(__file__).resolve().parent
# Each prints its own table, and exits with 1 when one of its limits is missed.
OTHERS = {
    "timer": "--rounds",
    "medium": "--rounds",
    "observers": "--rounds",
    "control_loop": "",
    "record": "--rounds",
    "web": "",
    "federation": "--rounds",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/bench/all", description="All benchmarks.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one short round of the first table")
    args = parser.parse_args()
    rounds, seconds, packets = (1, 0.05, 200) if args.quick else (args.rounds, 0.3, 1000)
    rows = bridge.bench(rounds, seconds) + xbee.bench(packets, min(rounds, 3))
    rows += watch.bench(*((0.5, 1) if args.quick else (2, 3)))
    missed = [] if show_all(rows) else ["the first table"]
    if not args.quick:
        missed += [name for name, option in OTHERS.items() if not run(name, option, rounds)]
    print("\nall goals met" if not missed else f"\nmissed: {', '.join(missed)}")
    return 1 if missed else 0


def run(name: str, option: str, rounds: int) -> bool:
    """Run one of the others, if it exists; return true when its limits hold."""
    script = HERE / f"{name}.py"
    if not script.exists():
        return True
    print(f"\n{name}", flush=True)
    options = [option, str(rounds)] if option else []
    return subprocess.run([sys.executable, str(script), *options], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
