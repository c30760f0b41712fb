#!/usr/bin/env python3
"""Cost of subscribers of the control socket to a gateway that passes 2,000 packets a second.

A process of its own is the gateway: packets go from one robot to another, ten at a time; in
further runs through a line to a uart, and to an XBee, which are mocks in that process. A controller
asks for steps of 8 ms meanwhile. It is measured without a subscriber and with each kind of load, in
turns:

* one that reads packets; one with the events of `hilgw watch` on a terminal, with those of
  --frames, of --bytes, and with all;
* ten that read nothing;
* the metrics, read ten times a second;
* with the uart: a program that wakes as often and uses as much CPU time as that with the events of
  `hilgw watch`, and is not connected: what it costs is the machine's, and not the gateway's.

The share is the gateway's CPU time beyond that without a subscriber. A turn of ten packets, and a
step, are late by the time from when they were due; late steps are those that the gateway counts.
The answer to a step is late in the gateway's process, the step in the controller's.
Exit 1 when a goal is missed.

    python3 tools/bench/watch.py [--seconds 5] [--rounds 3] [--only air|uart|xbee]
        [--load WORD]
"""

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from table import Row, show_all
from watching import ALL, TABLE, subscribed, watching

ROOT = Path(__file__).resolve().parent.parent.parent
PER_SECOND = 2000
TOGETHER = 10
STEP_MS = 8
SHARE = 0.15  # of a core, at most, for one subscriber
NOT_CONNECTED = "a program that is not connected"
MEMORY_BYTES = 16 * 1024 * 1024  # ten times what may wait for one, and more
CONFIG = """
version: 1
medium: {{step_ms: 8}}
guardian_ms: 10000  # a busy machine
robots:
  sender: {{devices: {{tx: {{node: Emitter, type: {type}, channel: 12, bufferSize: -1}}}}}}
  rover:
    devices:
      tx: {{node: Emitter, type: {type}, channel: 12}}
      rx: {{node: Receiver, type: {type}, channel: {heard}, bufferSize: -1, sampling_period_ms: 32}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: "ping"}}
  stepper:
    devices: {{ds: {{node: DistanceSensor}}, left: {{node: RotationalMotor}}}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:0"}}
    safety: {{late_s: 60, command_timeout_s: 60}}
"""
UART = """
adapters:
  uart0: {kind: uart, port: ./none, backend: mock, framing: slip, baudRate: 921600, channel: 12}
"""
XBEE = """
adapters:
  xbee0: {kind: xbee, port: ./none, backend: mock, baudRate: 921600, channel: 12, pan_id: 0x3332,
    api_mode: 1, air: lab}
airs: {lab: {seed: 1}}
"""
CONFIGS = {
    "air": CONFIG.format(type="radio", heard=12),
    "uart": CONFIG.format(type="serial", heard=13) + UART,
    "xbee": CONFIG.format(type="radio", heard=13) + XBEE,
}
CONTROLLER = """
import sys, time
from controller import Robot
robot = Robot()
ds, left = robot.getDevice("ds"), robot.getDevice("left")
ds.enable(8)
while robot.step(8) != -1:
    print(time.monotonic(), robot.getTime(), flush=True)
    left.setVelocity(1)
"""


# --- the gateway ----------------------------------------------------------------------------------


async def serve(name: str, path: str) -> None:
    """Run the gateway; answer each line of stdin by the time of the latest turns."""
    from hilgw.assemble.gateway import build
    from hilgw.assemble.network import NetworkPorts
    from hilgw.config.load import load_text
    from hilgw.engine.control_loop.controller_steps import ControllerSteps
    from hilgw.engine.control_socket.control_server import ControlServer
    from hilgw.engine.observer import Observer
    from hilgw.engine.reporting.metrics_server import MetricsServer
    from hilgw.protocols.gateway.metrics import text_of

    loop, stop, late = asyncio.get_running_loop(), asyncio.Event(), list[float]()
    answered, answer_step = list[float](), ControllerSteps._answer

    def timed(steps: ControllerSteps, time_ns: int, delay_ms: int) -> None:
        answer_step(steps, time_ns, delay_ms)  # is written when it returns
        answered.append(loop.time() - time_ns / 1e9)

    ControllerSteps._answer = timed  # type: ignore[method-assign]
    config = load_text(CONFIGS[name], "f").config
    gateway = build(config, loop, Observer())
    gc.collect()
    gc.freeze()  # as `hilgw run` does
    server = ControlServer(gateway, path)
    await server.start()
    ports = NetworkPorts(config, gateway)
    metrics = MetricsServer(
        ports.listening("tcp://127.0.0.1:0", mocked=False, tokens=True, role="monitor"),
        lambda: text_of([({}, server.status())]),
        gateway.real_timer,
    )
    url = await metrics.start(print)

    def turn(due: float) -> None:
        late.append(loop.time() - due)
        for _ in range(TOGETHER):
            gateway.send("sender.tx", b"x" * 8, None)
        due += TOGETHER / PER_SECOND
        loop.call_at(due, turn, due)

    def answer() -> None:
        if not sys.stdin.readline():
            stop.set()
            return
        steps = gateway.control_loops["stepper"].statistics.lateness.count
        p50, p99 = percentiles(late) if len(late) > 1 else (0, 0)
        packets = gateway.ledger.source("sender.tx").packets
        p50_step, p99_step = beyond_least(answered)
        print(p50, p99, steps, packets, p50_step, p99_step, flush=True)
        late.clear()
        answered.clear()

    def begin() -> None:
        turn(loop.time() + TOGETHER / PER_SECOND)

    loop.add_reader(sys.stdin.fileno(), answer)
    loop.call_later(1, begin)
    running = asyncio.create_task(gateway.run(stop))
    port = await listening(gateway)
    print(f"ready {url} {port}", flush=True)
    await running
    metrics.close()
    await server.close()
    gateway.close()


async def listening(gateway: Any) -> str:
    """Return the port of the stepped controller, once it is open."""
    first = gateway.listening[0]
    while not first.where:
        await asyncio.sleep(0.01)
    return str(first.where).rpartition(":")[2]


# --- the measurement ------------------------------------------------------------------------------


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]


def beyond_least(values: Sequence[float]) -> tuple[float, float]:
    """Return percentiles of what these are more than the least of them; 0 of too few."""
    if len(values) < 2:
        return 0, 0
    p50, p99 = percentiles(values)
    return p50 - min(values), p99 - min(values)


def cpu_s(pid: int) -> float:
    """CPU time of all threads of a process, by Linux' clock of that process."""
    return time.clock_gettime((~pid << 3) | 2)


class Running:
    """The gateway, and the controller that it steps. steps: when each one returned, and which."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = folder / f"{name}.sock"
        self.steps: list[tuple[float, float]] = []
        self.child = _started([sys.executable, __file__, "--serve", name, str(self.path)])
        _, self.metrics, port = self._line().split()
        script = folder / "steps.py"
        script.write_text(CONTROLLER)
        environment = {
            **os.environ,
            "WEBOTS_CONTROLLER_URL": f"tcp://127.0.0.1:{port}/stepper",
            "PYTHONPATH": str(ROOT / "hilgw" / "api" / "path"),
        }
        self.controller = _started([sys.executable, str(script)], environment)
        self._reader = threading.Thread(target=self._read_steps, daemon=True)
        self._reader.start()
        while len(self.steps) < 1.5e3 / STEP_MS:  # the packets begin, too
            assert self.controller.poll() is None
            time.sleep(0.1)

    def _line(self) -> str:
        assert self.child.stdout is not None
        return self.child.stdout.readline()

    def _read_steps(self) -> None:
        assert self.controller.stdout is not None
        for line in self.controller.stdout:
            now, step = map(float, line.split())
            self.steps.append((now, step))

    def take(self) -> tuple[float, ...]:
        """Return the delays since the last call.

        These are p50 and p99 by which turns were late, in seconds; late steps and packets until
        now; p50 and p99 by which answers to steps were.
        """
        assert self.child.stdin is not None
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return tuple(map(float, self._line().split()))

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait(10)
        self.controller.wait(10)
        self._reader.join()


def _started(words: list[str], env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=env)


class Measured:
    """A phase: share of a core, memory at its end, lateness of turns and of steps."""

    def __init__(self, running: Running, seconds: float) -> None:
        pid = running.child.pid
        _, _, late_steps, packets, *_ = running.take()
        begin_s, begin, first = time.monotonic(), cpu_s(pid), len(running.steps)
        time.sleep(seconds)
        elapsed_s = time.monotonic() - begin_s
        self.share = (cpu_s(pid) - begin) / elapsed_s
        p50, p99, late_now, packets_now, *answers = running.take()
        self.turn_p50, self.turn_p99 = p50 * 1e3, p99 * 1e3
        self.answer_p50, self.answer_p99 = (1e3 * each for each in answers)
        self.late_steps, self.packets = late_now - late_steps, (packets_now - packets) / elapsed_s
        lag = [now - step for now, step in running.steps[first:]]
        if len(lag) < 2:  # the watchdog disconnects it from a gateway that hung
            raise SystemExit("the controller has ended: the machine is too busy for this benchmark")
        self.step_p50, self.step_p99 = (1e3 * each for each in beyond_least(lag))
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        self.memory = int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def reading_nothing(path: Path) -> Iterator[list[int]]:
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(subscribed(path, ALL))
        yield []


@contextmanager
def scraping(url: str) -> Iterator[list[int]]:
    """Read the metrics ten times a second."""
    end, counts = threading.Event(), [0]

    def scrape() -> None:
        while not end.wait(0.1):
            with urllib.request.urlopen(url) as answer:
                counts[0] += len(answer.read()) > 0

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield counts
    finally:
        end.set()
        thread.join()


def loads(name: str, running: Running) -> dict[str, Any]:
    """Return what makes each load, by its name."""
    used: list[str] = []
    look = partial(watching, running.path, used=used)
    kinds = {"packets": ["packet"], "hilgw watch": TABLE, "all kinds": ALL}
    if name != "air":
        kinds = {
            "hilgw watch": TABLE,
            "--frames": ["frame"],
            "--bytes": ["bytes"],
            "all kinds": ALL,
        }
    made: dict[str, Any] = {
        f"one subscriber, {word}": partial(look, each) for word, each in kinds.items()
    }
    if name == "uart":  # as the one before
        first = next(iter(made))
        alone = {NOT_CONNECTED: lambda: watching("--alone", used)}
        made = {first: made.pop(first), **alone, **made}
    if name == "air":
        made["ten subscribers that read nothing"] = partial(reading_nothing, running.path)
        made["metrics, 10 times a second"] = partial(scraping, running.metrics)
    return made


Pairs = dict[str, list[tuple[Measured, Measured, float]]]


def measure(name: str, seconds: float, rounds: int, word: str = "") -> Pairs:
    """Measure each load with this word, per round: with and without it, events or answers per s."""
    from hilgw.client.control_socket import ask

    results: Pairs = {}
    with tempfile.TemporaryDirectory() as folder:
        running = Running(name, Path(folder))
        for _ in range(rounds):
            for load, make in loads(name, running).items():
                if word not in load and load != NOT_CONNECTED:
                    continue
                if load != NOT_CONNECTED:
                    before = Measured(running, seconds)
                begin, made = time.monotonic(), make()
                with made as counts:
                    during = Measured(running, seconds)
                per_s = sum(counts) / (time.monotonic() - begin)
                results.setdefault(load, []).append((before, during, per_s))
        report: dict[str, Any] = ask(running.path, {"do": "report"})
        assert report["report"]["ledger"]["adds_up"]
        running.close()
    return results


def rows(name: str, results: Pairs) -> Iterator[Row]:
    for load, pairs in results.items():
        word = f"{name}, {load}"

        def middle(column: str, place: int, pairs: list[Any] = pairs) -> float:
            return statistics.median(getattr(each[place], column) for each in pairs)

        added = statistics.median(b.share - a.share for a, b, _ in pairs)
        goal = SHARE if load.startswith("one") and "all" not in load else None
        alone = f"{middle('share', 0):.3f}"
        yield Row(f"{word}: share of a core", f"{middle('share', 1):.3f}", alone, added, goal)
        for column in ("turn_p50", "turn_p99", "answer_p50", "answer_p99", "step_p50", "step_p99"):
            ours, theirs = middle(column, 1), middle(column, 0)
            text = f"{word}: {column.replace('_', ' ')} late, ms"
            yield Row(text, f"{ours:.2f}", f"{theirs:.2f}", ours - theirs, None)
        late = [sum(each[at].late_steps for each in pairs) for at in (1, 0)]
        yield Row(
            f"{word}: late steps", f"{late[0]:.0f}", f"{late[1]:.0f}", late[0] - late[1], None
        )
        per_s = statistics.median(each[2] for each in pairs)
        yield Row(f"{word}: events/s", f"{per_s:.0f}", f"{middle('packets', 1):.0f}", per_s, None)
        if load.startswith("ten"):
            grown = max(each[1].memory for each in pairs) - pairs[0][0].memory
            yield Row(f"{word}: MiB", f"{grown / 2**20:.1f}", "-", grown, MEMORY_BYTES)


def bench(seconds: float, rounds: int, only: str = "", word: str = "") -> list[Row]:
    """Return rows of the table."""
    names = [only] if only else list(CONFIGS)
    return [row for name in names for row in rows(name, measure(name, seconds, rounds, word))]


def main() -> int:
    """Measure and print the table; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", choices=["", *CONFIGS])
    parser.add_argument("--load", default="", help="only those with this word, such as watch")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        with asyncio.Runner(loop_factory=DirectLoop) as runner:
            runner.run(serve(*args.serve))
        return 0
    return 0 if show_all(bench(args.seconds, args.rounds, args.only, args.load)) else 1


if __name__ == "__main__":
    sys.exit(main())
