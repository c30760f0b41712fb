#!/usr/bin/env python3
"""What subscribers of the control socket cost a gateway that passes 2,000 packets a second.

A process of its own is the gateway: packets go from one robot to another, ten at a time. It is
measured without a subscriber, with one that reads all packets, and with ten that read nothing, in
turns. The share is its CPU time beyond that without a subscriber; late is how long after its time a
turn of ten packets begins. Exit 1 when a goal is missed.

    python3 tools/bench/watch.py [--seconds 5] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from table import Row, show_all

PER_SECOND = 2000
TOGETHER = 10
SHARE = 0.15  # of a core, at most, for one subscriber
MEMORY_BYTES = 16 * 1024 * 1024  # ten times what may wait for one, and more
CONFIG = """
version: 1
robots:
  sender: {devices: {tx: {node: Emitter, bufferSize: -1}}}
  rover:
    devices: {tx: {node: Emitter}, rx: {node: Receiver, bufferSize: -1, sampling_period_ms: 32}}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: "ping"}
"""


async def serve(path: str) -> None:
    """The gateway; each line of stdin is answered by the time of the latest turns."""
    from hilgw.assemble.gateway import build
    from hilgw.config.load import load_text
    from hilgw.engine.control_socket import ControlServer
    from hilgw.engine.observer import Observer

    loop, stop, late = asyncio.get_running_loop(), asyncio.Event(), list[float]()
    gateway = build(load_text(CONFIG, "f").config, loop, Observer())
    gc.collect()
    gc.freeze()  # as `hilgw run` does
    server = ControlServer(gateway, path)
    await server.start()

    def turn(due: float) -> None:
        late.append(loop.time() - due)
        for _ in range(TOGETHER):
            gateway.send("sender.tx", b"x" * 16, None)
        due += TOGETHER / PER_SECOND
        loop.call_at(due, turn, due)

    def answer() -> None:
        if not sys.stdin.readline():
            stop.set()
            return
        print(statistics.quantiles(late, n=100)[98] if len(late) > 1 else 0, flush=True)
        late.clear()

    loop.add_reader(sys.stdin.fileno(), answer)
    running = asyncio.create_task(
        gateway.run(stop, on_ready=lambda: turn(loop.time() + TOGETHER / PER_SECOND))
    )
    print("ready", flush=True)
    await running
    await server.close()
    gateway.close()


def cpu_s(pid: int) -> float:
    """CPU time of all threads of a process, by Linux' clock of that process."""
    return time.clock_gettime((~pid << 3) | 2)


def subscribed(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    connection.sendall(json.dumps({"do": "watch", "kinds": ["packet"]}).encode() + b"\n")
    return connection


def read_all(connection: socket.socket, counts: list[int]) -> None:
    while data := connection.recv(65536):
        counts.append(data.count(b'"packet"'))


class Measured:
    """One phase: the share of a core, the memory at its end, p99 of the lateness."""

    def __init__(self, child: subprocess.Popen[str], path: Path, seconds: float) -> None:
        self._late_s(child)
        begin_s, begin = time.monotonic(), cpu_s(child.pid)
        time.sleep(seconds)
        self.share = (cpu_s(child.pid) - begin) / (time.monotonic() - begin_s)
        self.late_ms = self._late_s(child) * 1e3
        pages = Path(f"/proc/{child.pid}/statm").read_text(encoding="ascii").split()[1]
        self.memory = int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _late_s(self, child: subprocess.Popen[str]) -> float:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        return float(child.stdout.readline())


def measure(path: Path, seconds: float, rounds: int) -> tuple[dict[str, list[Measured]], float]:
    """The phases of all rounds, and the packets per second that the reader got."""
    from hilgw.client.control_socket import ask

    words = [sys.executable, __file__, "--serve", str(path)]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    found: dict[str, list[Measured]] = {"none": [], "one": [], "ten": []}
    counts: list[int] = []
    for _ in range(rounds):
        found["none"].append(Measured(child, path, seconds))
        connection = subscribed(path)
        reader = threading.Thread(target=read_all, args=(connection, counts))
        reader.start()
        found["one"].append(Measured(child, path, seconds))
        connection.shutdown(socket.SHUT_RDWR)
        reader.join()
        connection.close()
        with ExitStack() as stack:
            for _ in range(10):
                stack.enter_context(subscribed(path))
            found["ten"].append(Measured(child, path, seconds))
    report: dict[str, Any] = ask(path, {"do": "report"})
    assert report["report"]["ledger"]["adds_up"]
    child.stdin.close()
    child.wait(10)
    return found, sum(counts) / (seconds * rounds)


def bench(seconds: float, rounds: int) -> list[Row]:
    """Rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found, per_s = measure(Path(folder) / "control", seconds, rounds)

    def middle(phase: str, what: str) -> float:
        return statistics.median(getattr(each, what) for each in found[phase])

    alone, late = middle("none", "share"), middle("none", "late_ms")
    rows = []
    for phase, goal in (("one", SHARE), ("ten", None)):
        added = middle(phase, "share") - alone
        name = f"2,000 packets/s, {phase} subscriber{'s that read nothing' if goal is None else ''}"
        rows.append(Row(f"{name}: share of a core", f"{added:.3f}", f"{alone:.3f}", added, goal))
        ours = middle(phase, "late_ms")
        rows.append(Row(f"{name}: p99 late, ms", f"{ours:.2f}", f"{late:.2f}", ours - late, None))
    grown = max(each.memory for each in found["ten"]) - found["none"][0].memory
    rows.append(Row("its memory, MiB", f"{grown / 2**20:.1f}", "-", grown, MEMORY_BYTES))
    rows.append(Row("packets/s to the reader", f"{per_s:.0f}", "2000", per_s, 1900, at_least=True))
    return rows


def main() -> int:
    """Measures, prints the table; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        with asyncio.Runner(loop_factory=DirectLoop) as runner:
            runner.run(serve(args.serve))
        return 0
    return 0 if show_all(bench(args.seconds, args.rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
