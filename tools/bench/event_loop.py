#!/usr/bin/env python3
"""Measurements on hilgw.engine.event_loop.direct_loop and on asyncio's own event loop: the gain.

* CPU time per packet from an XBee through a gateway (xbee.py);
* the round trip of a sensor value and a command through a control loop (control_loop.py), also in
  comparison with the direct connection: without the time of kernel and peers.
Both take turns; each figure is the median of the rounds.

    python3 tools/bench/event_loop.py [--rounds 15] [--packets 1000] [--exchanges 500]
"""

import argparse
import random
import statistics
import sys
from contextlib import ExitStack

import xbee
from control_loop import exchanges, pair, steady
from table import Row, show_all

RUN = """
import asyncio, sys
from hilgw.cli import main
from hilgw.engine.event_loop import direct_loop
if sys.argv.pop(1) == "asyncio":
    direct_loop.DirectLoop = asyncio.SelectorEventLoop
sys.exit(main.main(sys.argv[1:]))
"""
DIRECT, ASYNCIO = "direct_loop", "asyncio"


def bench_xbee(packets: int, rounds: int) -> list[Row]:
    ours, theirs = xbee.GATEWAY, xbee.GATEWAY_ON_ASYNCIO
    rows = []
    for pattern, figures in xbee.measure_all(packets, rounds, (ours, theirs)).items():
        if any(each.received != packets for name in figures for each in figures[name]):
            raise SystemExit("the gateway lost packets")
        rows.append(
            row(
                f"XBee packets {pattern}, CPU us each",
                [each.us for each in figures[ours]],
                [each.us for each in figures[theirs]],
            )
        )
    return rows


def bench_control_loop(count: int, rounds: int) -> list[Row]:
    paths = ["none", DIRECT, ASYNCIO]
    trips: dict[str, list[float]] = {path: [] for path in paths}
    with steady(), ExitStack() as stack:
        pairs = {path: pair("hilgw", stack, program=("-c", RUN, path)) for path in paths[1:]}
        pairs["none"] = pair("direct", stack)
        for _ in range(rounds):
            random.shuffle(paths)
            for path in paths:
                trips[path].append(statistics.median(exchanges(*pairs[path], count)))
    added = {
        path: [trip - direct for trip, direct in zip(trips[path], trips["none"], strict=True)]
        for path in (DIRECT, ASYNCIO)
    }
    return [
        row("control loop, round trip p50, us", trips[DIRECT], trips[ASYNCIO]),
        row("control loop, added to the round trip, us", added[DIRECT], added[ASYNCIO]),
    ]


def row(name: str, ours: list[float], theirs: list[float]) -> Row:
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    middle = f"{ASYNCIO} {statistics.median(theirs):.1f}"
    return Row(name, f"{statistics.median(ours):.1f}", middle, ratio, None)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--packets", type=int, default=1000)
    parser.add_argument("--exchanges", type=int, default=500)
    args = parser.parse_args()
    rows = bench_control_loop(args.exchanges, args.rounds) + bench_xbee(args.packets, args.rounds)
    show_all(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
