#!/usr/bin/env python3
"""Gateways on one medium over Zenoh: the way of a packet, packets per second, cost by members.

All gateways are processes on loopback; what is compared takes turns, and the figures are medians.

* One way: from the instant a packet is transmitted on the medium of a gateway until it is delivered
  to a listener of another gateway; and from the instant its Emitter gets it. Compared with
  zenoh-python, from `put` in an event loop until the other event loop has the bytes: its usual
  publisher, and one with express=True.
* Packets/s: from an Emitter to the Receiver of a robot, read by its controller, as fast as it goes
  without a loss: two gateways, compared with both robots in one gateway. And in one gateway with a
  federation without members, compared with one without `federation`.
* CPU time of the sending gateway per packet, by the number of members, and of those that listen,
  beyond that while it sends nothing. Members share two processes; each has its own session.

    python3 tools/bench/federation.py [--rounds 5] [--only way|rate|members]

Exit 1 when a goal is missed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from socket import socket
from typing import Any

from federation_ends import CHANNEL
from table import Row, show_all

ENDS = Path(__file__).with_name("federation_ends.py")
DEADLINE_S = 60.0
ONE_WAY, RATE, GROWTH = 1.5, 0.7, 1.3  # the goals
WAYS = ((100, 16), (100, 256), (1000, 16), (1000, 256))  # packets/s, bytes
PACKETS = {100: 20, 1000: 100}  # of a turn, by rate
TURNS = 4  # of a round: short ones, as the machine is not the same from second to second
RATE_S, RATE_BYTES = 2.0, 16
MEMBERS = ((1, 1), (9, 1), (49, 1), (9, 9), (49, 49))  # besides the sender; of them listen
MEMBERS_RATE, MEMBERS_PACKETS = 1000, 1500
MEMBER_PROCESSES = 2
SENDER = f"""
  sender: {{devices: {{tx: {{node: Emitter, type: radio, channel: {CHANNEL}, bufferSize: -1}}}}}}"""
ROVER = f"""
  rover:
    devices:
      tx: {{node: Emitter, type: radio, channel: {CHANNEL}}}
      rx: {{node: Receiver, type: radio, channel: {CHANNEL}, bufferSize: -1, sampling_period_ms: 8}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: "ping"}}"""
ELSEWHERE = """
  idle: {devices: {rx: {node: Receiver, type: serial, channel: 99}}}"""


# --- the processes --------------------------------------------------------------------------------


class Process:
    """A process of federation_ends.py."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, str(ENDS), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._line() != "ready\n":
            raise SystemExit("a process did not start")

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline()

    def ask(self, do: str, **more: Any) -> Any:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._child.stdin.flush()
        return json.loads(self._line())

    def wait(self, until: Callable[[Any], bool]) -> Any:
        """Return what it has counted, once this is true of it."""
        deadline = time.monotonic() + DEADLINE_S
        while not until(counted := self.ask("take")):
            if time.monotonic() > deadline:
                raise SystemExit(f"waited too long: {counted}")
            time.sleep(0.05)
        return counted

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def free_endpoint() -> str:
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{one.getsockname()[1]}"


def gateway(robots: str, federation: str = "") -> str:
    """Return a configuration."""
    return f"version: 1\nguardian_ms: 10000\n{federation}robots:{robots}\n"


def federation(name: str, word: str, endpoint: str) -> str:
    return f"federation: {{name: {name}, {word}: [{endpoint}]}}\n"


@contextmanager
def processes(*settings: dict[str, Any]) -> Iterator[list[Process]]:
    with ExitStack() as stack:
        made = []
        for options in settings:
            made.append(Process(options))
            stack.callback(made[-1].close)
        yield made


def two_gateways(receiver: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    endpoint = free_endpoint()
    a = gateway(SENDER, federation("a", "listen", endpoint))
    b = gateway(receiver, federation("b", "connect", endpoint))
    return {"configurations": [a]}, {"configurations": [b], **more}


def meet(a: Process, b: Process) -> None:
    """Wait until each has the state of the other, and packets arrive."""
    for process in (a, b):
        process.wait(lambda counted: counted["up"] == 1)
    a.wait(lambda counted: counted["listeners"] == 1)


def until_arrives(a: Process, b: Process) -> None:
    """Send packets until one arrives: the way is open."""
    deadline = time.monotonic() + DEADLINE_S
    while not b.ask("take")["late_us"]:
        assert time.monotonic() < deadline
        a.ask("paced", rate=100, size=16, packets=1)
        time.sleep(0.1)


# --- one way --------------------------------------------------------------------------------------


def programs(*, express: bool, thread: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of two programs on zenoh-python."""
    endpoint, closed = free_endpoint(), {"scouting/multicast/enabled": False}
    listening = {**closed, "listen/endpoints": [endpoint]}
    connecting = {**closed, "listen/endpoints": [], "connect/endpoints": [endpoint]}
    return {"zenoh": listening, "express": express, "thread": thread}, {
        "zenoh": connecting,
        "listens": True,
    }


def one_way(a: Process, b: Process, rate: int, size: int, packets: int, way: str) -> list[float]:
    """Measure microseconds of each packet; zenoh-python may drop some, by default."""
    a.wait(lambda counted: not counted["sending"])
    b.ask("take")
    a.ask("paced", rate=rate, size=size, packets=packets, way=way)
    late_us: list[float] = []
    time.sleep(packets / rate)
    deadline = time.monotonic() + 5
    while len(late_us) < packets and time.monotonic() < deadline:
        late_us += b.ask("take")["late_us"]
    return late_us


MEDIUM, EMITTER, USUAL, EXPRESS = "medium", "Emitter", "zenoh-python", "zenoh-python, express"
THREAD = "zenoh-python, express, a thread sends"


def way_rows(rounds: int) -> list[Row]:
    delays: dict[tuple[str, int, int], list[list[float]]] = {}
    with ExitStack() as stack:
        ours = stack.enter_context(processes(*two_gateways(ELSEWHERE, listens=True)))
        running = {
            MEDIUM: ours,
            EMITTER: ours,
            USUAL: stack.enter_context(processes(*programs(express=False))),
            EXPRESS: stack.enter_context(processes(*programs(express=True))),
            THREAD: stack.enter_context(processes(*programs(express=True, thread=True))),
        }
        meet(*ours)
        for a, b in running.values():
            until_arrives(a, b)
        for turn in range(rounds * TURNS):
            for rate, size in WAYS:
                names, shift = list(running), turn % len(running)
                for name in names[shift:] + names[:shift]:
                    packets, way = PACKETS[rate], "transmit" if name == MEDIUM else "send"
                    late = one_way(*running[name], rate, size, packets, way)
                    if running[name] is ours and len(late) < packets:
                        raise SystemExit(f"{packets - len(late)} of {packets} packets are lost")
                    delays.setdefault((name, rate, size), []).append(late)
    return [
        row
        for rate, size in WAYS
        for name, other in (
            *((MEDIUM, each) for each in (USUAL, EXPRESS, THREAD)),
            (EMITTER, USUAL),
        )
        for row in way_pair(delays, name, other, rate, size)
    ]


def way_pair(
    delays: dict[tuple[str, int, int], list[list[float]]],
    name: str,
    other: str,
    rate: int,
    size: int,
) -> tuple[Row, Row]:
    """Return the p50, with the median of the ratios of all turns, and the p99 of all packets."""
    turns = delays[name, rate, size], delays[other, rate, size]
    mine, theirs = ([statistics.median(late) for late in each] for each in turns)
    last = [statistics.quantiles(chain.from_iterable(each), n=100)[98] for each in turns]
    title = f"one way from the {name}, {size} B, {rate}/s"
    return (
        Row(
            f"{title}: p50 µs",
            f"{statistics.median(mine):.0f}",
            f"{other} {statistics.median(theirs):.0f}",
            statistics.median(x / y for x, y in zip(mine, theirs, strict=True)),
            ONE_WAY if (name, other) == (MEDIUM, USUAL) else None,
        ),
        Row(
            f"{title}: p99 µs", f"{last[0]:.0f}", f"{other} {last[1]:.0f}", last[0] / last[1], None
        ),
    )


# --- packets per second ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """Packets/s, and the CPU time per packet of the sending and the receiving process."""

    per_s: float
    sender_us: float
    receiver_us: float


def flood(a: Process, b: Process, progress: str) -> Rate:
    """SystemExit when a packet is lost, or a ledger does not add up."""
    b.ask("show", is_shown=True)
    before, begin_s = b.ask("take"), a.ask("take")["cpu_s"]
    a.ask("flood", seconds=RATE_S, size=RATE_BYTES, progress=progress)
    sent = a.wait(lambda counted: not counted["sending"])
    sent = a.wait(lambda counted: not counted["unsettled"])
    b.ask("show", is_shown=False)
    received = b.ask("take")
    arrived = received["received"] - before["received"]
    wrong = [each["violations"] or each["losses"].get("refused") for each in (sent, received)]
    if arrived != sent["sent"] or any(wrong) or received["missed"]:
        raise SystemExit(f"sent {sent['sent']}, received {arrived}: {sent}, {received}")
    each_us = 1e6 / arrived
    return Rate(
        sent["sent"] / sent["took_s"],
        (sent["cpu_s"] - begin_s) * each_us,
        (received["cpu_s"] - before["cpu_s"]) * each_us,
    )


def rate_rows(rounds: int) -> list[Row]:
    alone, empty, two = "one gateway", "without members", "two gateways"
    rates: dict[str, list[Rate]] = {alone: [], empty: [], two: []}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        paths = {name: str(Path(folder) / name.replace(" ", "_")) for name in rates}
        for path in paths.values():
            Path(path).write_bytes(bytes(8))
        both, one = SENDER + ROVER, federation("a", "listen", free_endpoint())
        ends = {
            alone: [{"configurations": [gateway(both)], "progress": paths[alone]}],
            empty: [{"configurations": [gateway(both, one)], "progress": paths[empty]}],
            two: list(two_gateways(ROVER, progress=paths[two])),
        }
        running = {name: stack.enter_context(processes(*each)) for name, each in ends.items()}
        meet(*running[two])
        for process in running[two]:
            process.wait(lambda counted: not counted["unsettled"])
        for turn in range(rounds):
            names = list(rates)
            for name in names[turn % 3 :] + names[: turn % 3]:
                rates[name].append(flood(running[name][0], running[name][-1], paths[name]))

    def row(title: str, name: str, of: Callable[[Rate], float], goal: float | None = None) -> Row:
        ours, theirs = [of(each) for each in rates[name]], [of(each) for each in rates[alone]]
        ratio = statistics.median(x / y for x, y in zip(ours, theirs, strict=True))
        other = f"one gateway {statistics.median(theirs):.3g}"
        return Row(title, f"{statistics.median(ours):.3g}", other, ratio, goal, at_least=True)

    return [
        row("packets/s, between two gateways, none lost", two, lambda each: each.per_s, RATE),
        row("packets/s, `federation` without members", empty, lambda each: each.per_s),
        row("CPU µs a packet, `federation` without members", empty, lambda each: each.sender_us),
        row("CPU µs a packet, the sending one of two", two, lambda each: each.sender_us),
        row("CPU µs a packet, the receiving one of two", two, lambda each: each.receiver_us),
    ]


# --- by members -----------------------------------------------------------------------------------


def member_configurations(members: int, listeners: int, endpoint: str) -> list[dict[str, Any]]:
    """Return the settings of the processes; members take turns."""
    texts = [
        gateway(
            ROVER if number < listeners else ELSEWHERE,
            federation(f"m{number}", "connect", endpoint),
        )
        for number in range(members)
    ]
    parts = [texts[at::MEMBER_PROCESSES] for at in range(MEMBER_PROCESSES)]
    return [{"configurations": each} for each in parts if each]


def cost_us(members: int, listeners: int) -> float:
    """CPU time of the sender for each packet, beyond that of the time."""
    endpoint = free_endpoint()
    a = {"configurations": [gateway(SENDER, federation("a", "listen", endpoint))]}
    with processes(a, *member_configurations(members, listeners, endpoint)) as (first, *_):
        first.wait(lambda counted: counted["up"] == members)
        first.wait(lambda counted: not counted["unsettled"])
        seconds = MEMBERS_PACKETS / MEMBERS_RATE
        time.sleep(1)  # what follows the arrival of this many is over
        begin = first.ask("take")["cpu_s"]
        time.sleep(seconds)
        idle = first.ask("take")["cpu_s"]
        first.ask("paced", rate=MEMBERS_RATE, size=16, packets=MEMBERS_PACKETS)
        counted = first.wait(lambda counted: not counted["sending"])
        first.wait(lambda counted: not counted["unsettled"])
        if len(counted["links"]) != listeners or counted["losses"].get("refused"):
            raise SystemExit(f"not all received: {counted}")
        return float((counted["cpu_s"] - idle - (idle - begin)) * 1e6 / MEMBERS_PACKETS)


def member_rows(rounds: int) -> list[Row]:
    times: dict[tuple[int, int], list[float]] = {each: [] for each in MEMBERS}
    for _ in range(rounds):
        for members, listeners in MEMBERS:
            times[members, listeners].append(cost_us(members, listeners))
    first = times[MEMBERS[0]]
    return [
        Row(
            f"CPU µs a packet, {members + 1} gateways, {listeners} listening",
            f"{statistics.median(times[members, listeners]):.0f}",
            f"2 gateways {statistics.median(first):.0f}",
            statistics.median(x / y for x, y in zip(times[members, listeners], first, strict=True)),
            GROWTH if listeners == 1 and members > 1 else None,
        )
        for members, listeners in MEMBERS
    ]


PARTS = {"way": way_rows, "rate": rate_rows, "members": member_rows}


def main() -> int:
    """Measure and print the table; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=PARTS)
    args = parser.parse_args()
    parts = [PARTS[args.only]] if args.only else list(PARTS.values())
    return 0 if show_all([row for part in parts for row in part(args.rounds)]) else 1


if __name__ == "__main__":
    sys.exit(main())
