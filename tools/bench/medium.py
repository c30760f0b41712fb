#!/usr/bin/env python3
"""The cost of one infra-red transmission on the medium, by the number of other stations.

Stations are at random positions, with the same density in each row: ten of them in range of one.
Rows take turns; the figures are medians over the rounds of the cost and of its ratio to that of the
first row. With an infinite range every station gets a copy. Exit 1 when a limit is missed.

    python3 tools/bench/medium.py [--rounds 15]
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.obstacles import Box, Capsule, Cylinder, Obstacle, Solid, Sphere
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose, Vector

RANGE_M = 5.0
IN_RANGE = 10
TRANSMISSIONS = 50
SOLIDS: tuple[Solid, ...] = (
    Sphere(0.3),
    Box((0.8, 0.1, 1.0)),
    Cylinder(0.2, 1.0, 2),
    Capsule(0.2, 1.0, 2),
)


@dataclass(frozen=True)
class Row:
    """Stations on the channel, obstacles, stations on other channels; limit: of the ratio."""

    name: str
    stations: int
    obstacles: int = 0
    elsewhere: int = 0
    limit: float | None = None
    infinite: bool = False


ROWS = (
    Row("10 stations", 10),
    Row("10 stations, 200 obstacles", 10, 200),
    Row("1,000 stations", 1000),
    Row("1,000 stations, 200 obstacles", 1000, 200, limit=20.0),
    Row("10 stations, 990 on other channels", 10, elsewhere=990, limit=1.5),
    Row("10 stations, 9,990 on other channels", 10, elsewhere=9990, limit=1.5),
    Row("1,000 stations, infinite range", 1000, infinite=True),
    Row("1,000 stations, infinite range, 200 obstacles", 1000, 200, infinite=True),
)


def world(row: Row, random: Random) -> Callable[[], int]:
    """Return a medium with the row's stations; a call transmits and returns the copies' number."""
    ledger = Ledger()
    medium = Medium(ledger)
    side = RANGE_M * math.sqrt(math.pi * max(row.stations, IN_RANGE) / IN_RANGE)

    def anywhere() -> Vector:
        return (random.uniform(0, side), random.uniform(0, side), 0.0)

    def station(name: str, channel: int, position: Vector) -> None:
        count = ledger.station(name)
        medium.attach(
            Listener(
                name=name,
                type="infra-red",
                owner=name,
                channels=frozenset([channel]),
                pose=Pose(position),
                deliver=lambda copy: count.deliver(),
            )
        )

    positions = [anywhere() for _ in range(row.stations)]
    if row.stations <= IN_RANGE:  # in a ring, all in range of all
        middle, turn = side / 2, math.tau / row.stations
        positions = [
            (middle + 2.4 * math.cos(turn * each), middle + 2.4 * math.sin(turn * each), 0.0)
            for each in range(row.stations)
        ]
    for index, position in enumerate(positions):
        station(f"r{index}", 1, position)
    for index in range(row.elsewhere):
        station(f"x{index}", 2 + index % 50, anywhere())
    for _ in range(row.obstacles):
        pose = Pose.from_axis_angle(anywhere(), (0, 0, 1, random.uniform(0, math.tau)))
        medium.obstruct(Obstacle(random.choice(SOLIDS), pose))
    inner = [
        index
        for index, position in enumerate(positions)
        if all(
            min(RANGE_M, side / 4) <= each <= side - min(RANGE_M, side / 4) for each in position[:2]
        )
    ] or [0]
    source = ledger.source("bench")

    def transmit() -> int:
        index = random.choice(inner)
        before = source.copies
        medium.transmit(
            Packet(
                data=b"x" * 16,
                channel=1,
                type="infra-red",
                source="bench",
                owner=f"r{index}",
                range=-1.0 if row.infinite else RANGE_M,
            ),
            Pose(positions[index]),
        )
        return source.copies - before

    return transmit


def main() -> int:
    """Measure and print the table; return 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    random = Random(1)
    worlds = [world(row, random) for row in ROWS]
    costs: list[list[float]] = [[] for _ in ROWS]
    copies = [0] * len(ROWS)
    for transmit in worlds:
        transmit()  # builds the index
    for _ in range(rounds):
        for index, transmit in enumerate(worlds):
            repeats = TRANSMISSIONS if not ROWS[index].infinite else 2
            begin = time.perf_counter()
            copies[index] += sum(transmit() for _ in range(repeats))
            costs[index].append((time.perf_counter() - begin) / repeats)
    medians = [statistics.median(each) for each in costs]
    missed = 0
    print(f"{'':46}{'µs':>9}{'copies':>9}{'ratio':>8}{'limit':>8}")
    for row, times, cost, made in zip(ROWS, costs, medians, copies, strict=True):
        ratio = statistics.median(a / b for a, b in zip(times, costs[0], strict=True))
        per = made / rounds / (TRANSMISSIONS if not row.infinite else 2)
        limit = "" if row.limit is None else f"{row.limit:g}"
        fails = row.limit is not None and ratio > row.limit
        missed += fails
        print(
            f"{row.name:46}{cost * 1e6:9.1f}{per:9.1f}{ratio:8.2f}{limit:>8}"
            f"{'  missed' if fails else ''}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
