#!/usr/bin/env python3
"""Cost of a recording to a gateway with 64 UART ports, at half the rate that it carries.

A process of its own is the gateway, in real time; the microcontrollers are mocks in it, and each
port has an Emitter and a channel. First there are always some packets on the way to each port: what
arrives then is the rate that this machine carries. Then packets come at half of it, without and
with a recording in turns. A gap is the time between two calls of a timer of 1 ms.

    python3 tools/bench/record_ports.py [--rounds 5] [--seconds 3]

Exit 1 when a packet or an event is lost, or when the p99.9 of the gaps with a recording is more
than NOISE times that without and longer than in each round without.
"""

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import Row, show_all

PORTS = 64
ON_THE_WAY = 4  # to each port, where the rate is looked for
TURN_S = 0.002
TICK_NS = 1_000_000
NOISE = 1.25
PAYLOAD = bytes(range(16))
OVER = "/tmp"


def config() -> str:
    """Return one Emitter and one adapter for each channel."""
    emitters = "".join(
        f"      tx{n}: {{node: Emitter, type: serial, channel: {n}, bufferSize: -1}}\n"
        for n in range(PORTS)
    )
    adapters = "".join(
        f"  uart{n}: {{kind: uart, port: ./none{n}, backend: mock, framing: slip,"
        f" baudRate: 921600, channel: {n}}}\n"
        for n in range(PORTS)
    )
    return (
        "version: 1\nrobots:\n  sender:\n    devices:\n" + emitters + "      rx: {node: Receiver,"
        f" type: serial, channel: {PORTS}, sampling_period_ms: 32}}\n"
        "    controller: {kind: beacon, emitter: tx0, receiver: rx, period_ms: 3600000,"
        ' payload: "ping"}\nadapters:\n' + adapters
    )


class Load:
    """Load of one gateway: what it is sent, and what arrives, since `begin`."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self._counts = [gateway.ledger.station(f"uart{n}") for n in range(PORTS)]
        self.begin()

    def begin(self) -> None:
        self._sent = [0] * PORTS
        self._before = [each.delivered for each in self._counts]

    @property
    def arrived(self) -> int:
        return sum(each.delivered for each in self._counts) - sum(self._before)

    @property
    def missing(self) -> int:
        return sum(self._sent) - self.arrived

    def send(self, port: int) -> None:
        self._sent[port] += 1
        self._gateway.send(f"sender.tx{port}", PAYLOAD, None)

    async def most(self, seconds: float) -> float:
        """Return the packets per second that arrive where some are always on the way."""
        loop = asyncio.get_running_loop()
        self.begin()
        begin = loop.time()
        while (elapsed_s := loop.time() - begin) < seconds:
            for port, (count, before) in enumerate(zip(self._counts, self._before, strict=True)):
                while self._sent[port] - (count.delivered - before) < ON_THE_WAY:
                    self.send(port)
            await asyncio.sleep(TURN_S)
        per_s = self.arrived / elapsed_s
        await self.all_arrived()
        return per_s

    async def at(self, per_s: float, seconds: float) -> None:
        """Send this many packets a second, to each port in turn."""
        loop = asyncio.get_running_loop()
        self.begin()
        begin, count = loop.time(), 0
        while (elapsed_s := loop.time() - begin) < seconds:
            while count < per_s * elapsed_s:
                self.send(count % PORTS)
                count += 1
            await asyncio.sleep(TURN_S)

    async def all_arrived(self) -> None:
        """Wait for what is on the way, for some time."""
        for _ in range(500):
            if not self.missing:
                return
            await asyncio.sleep(0.01)


class Gaps:
    """Gaps of the event loop, in milliseconds."""

    def __init__(self, timer: Any) -> None:
        self.ms: list[float] = []
        self._timer = timer
        self._last = timer.now()
        self._next = timer.call_at(self._last + TICK_NS, self._tick)

    def _tick(self) -> None:
        now = self._timer.now()
        self.ms.append((now - self._last) / 1e6)
        self._last = now
        self._next = self._timer.call_at(now + TICK_NS, self._tick)

    def end(self) -> float:
        """Return the p99.9."""
        self._next.cancel()
        return statistics.quantiles(self.ms, n=1000)[998]


async def serve(rounds: int, seconds: float, folder: str) -> dict[str, Any]:
    """Run the gateway, and all that is measured on it."""
    from hilgw.assemble.gateway import build
    from hilgw.config.load import load_text
    from hilgw.engine.observer import Observer
    from hilgw.engine.recording.recordings import Recordings

    gateway = build(load_text(config(), "f").config, asyncio.get_running_loop(), Observer())
    gc.collect()
    gc.freeze()  # as `hilgw run` does
    stop, ready = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(gateway.run(stop, on_ready=ready.set))
    await ready.wait()
    load, recordings = Load(gateway), Recordings(gateway, Path(folder), dict, {})
    result: dict[str, Any] = {"most": await load.most(seconds), "lost": 0, "gaps": [[], []]}
    for number in range(rounds):
        for is_recorded in (False, True):
            name = f"round{number}"
            if is_recorded:
                recordings.begin_named(name)
            gaps = Gaps(gateway.timer)
            await load.at(result["most"] / 2, seconds)
            result["gaps"][is_recorded].append(gaps.end())
            await load.all_arrived()
            result["lost"] += load.missing
            if is_recorded:
                recordings.end(name)
    await recordings.close()
    result["lost"] += sum(each["lost"] for each in recordings.report().values())
    stop.set()
    await running
    gateway.close()
    return result


def rows(rounds: int, seconds: float) -> Iterator[Row]:
    """Yield rows of the table."""
    with tempfile.TemporaryDirectory(dir=OVER) as folder:
        words = [sys.executable, __file__, "--serve", folder]
        words += ["--rounds", str(rounds), "--seconds", str(seconds)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    name = f"{PORTS} uart ports at {result['most'] / 2:.0f} packets/s, recorded"
    yield Row(f"{name}: packets and events lost", f"{result['lost']}", "-", result["lost"], 0)
    without, recorded = map(statistics.median, result["gaps"])
    bound = max(NOISE, max(result["gaps"][0]) / without)
    text = f"{name}: p99.9 of the event loop's gaps, ms"
    yield Row(text, f"{recorded:.2f}", f"{without:.2f}", recorded / without, round(bound, 2))


def main() -> int:
    """Measure and print the table; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        with asyncio.Runner(loop_factory=DirectLoop) as runner:
            print(json.dumps(runner.run(serve(args.rounds, args.seconds, args.serve))))
        return 0
    return 0 if show_all(list(rows(args.rounds, args.seconds))) else 1


if __name__ == "__main__":
    sys.exit(main())
