#!/usr/bin/env python3
"""Kills, freezes and cuts off one of three gateways of a federation, which send all the time.

Each has a connection with each other one on loopback. After each fault, nothing may have come twice
or out of order, and both ends of each link must count the same packets as delivered and as lost.

    tools/soak federation [--times 100] [--rate 200] [--report FILE]

Exit 1 when a count is wrong, or a fault was seen too late by its median: a killed gateway after
50 ms, a frozen one or one that is cut off after Zenoh's lease (1 s) and 100 ms.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from federation_lab import Lab

LEASE_MS = 1000
GOALS_MS = {"kill": 50, "freeze": LEASE_MS + 100, "partition": LEASE_MS + 100, "reset": 50}


def figures(seconds: list[float]) -> dict[str, float]:
    """Return figures in ms."""
    times_ms = sorted(1000 * each for each in seconds)
    worst = times_ms[min(len(times_ms) - 1, round(0.99 * len(times_ms)))]
    median = statistics.median(times_ms)
    named = {"median_ms": median, "p99_ms": worst, "max_ms": times_ms[-1], "min_ms": times_ms[0]}
    return {name: round(each, 1) for name, each in named.items()}


def soak(times: int, rate: float) -> dict[str, Any]:
    """Run the soak; raise AssertionError for a wrong count."""
    lab = Lab(rate)
    faults: dict[str, Callable[[], float]] = {
        "kill": lab.kill,
        "freeze": lab.freeze,
        "partition": lambda: lab.partition(silent=True),
        "reset": lambda: lab.partition(silent=False),
    }
    report: dict[str, Any] = {}
    try:
        for name, fault in faults.items():
            took = []
            for _ in range(times):
                took.append(fault())
                total = lab.check()
            report[name] = {"times": times, **figures(took), "goal_ms": GOALS_MS[name]}
            print(
                f"{name:<10} {times:4} times, seen after {report[name]['median_ms']:7.1f} ms, "
                f"p99 {report[name]['p99_ms']:7.1f}, max {report[name]['max_ms']:7.1f} "
                f"(goal {GOALS_MS[name]})",
                flush=True,
            )
        report["packets"] = total
        last = [each.end() for each in lab.nodes.values()]
        report["doubled"] = sum(each["doubled"] for each in last)
        report["disordered"] = sum(each["disordered"] for each in last)
    finally:
        lab.close()
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=100, help="of each fault (100)")
    parser.add_argument("--rate", type=float, default=200, help="packets/s of each gateway (200)")
    parser.add_argument("--report", type=Path, help="a JSON file")
    args = parser.parse_args()
    if args.times < 1 or not 0 <= args.rate <= 10_000:
        parser.error("--times must be 1 or more, --rate 0 to 10000")
    report = soak(args.times, args.rate)
    packets = report["packets"]
    print(
        f"{packets['sent']} copies sent by those that still run = {packets['delivered']} delivered "
        f"+ {packets['lost']} lost; twice: {report['doubled']}, out of order: "
        f"{report['disordered']}"
    )
    if args.report is not None:
        args.report.write_text(json.dumps(report, indent=2) + "\n")
    late = [name for name, goal in GOALS_MS.items() if report[name]["median_ms"] >= goal]
    print("missed: " + ", ".join(late) if late else "all goals are met")
    return int(bool(late or report["doubled"] or report["disordered"]))


if __name__ == "__main__":
    sys.exit(main())
