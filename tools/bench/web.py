#!/usr/bin/env python3
"""Cost of the page of `hilgw web` to a gateway that passes 2,000 packets a second, and STOP ALL.

A controller asks for steps of 8 ms, as in tools/bench/watch.py. In turns: without `hilgw web`;
with it and three of its pages open in one Chromium; and with the same pages open on a program that
says again what the gateway said (tools/bench/saying_again.py): what those cost is the machine's,
and not the gateway's. Pages cost a step nothing where its p99 is that of the third, within what the
p99 of the first and of the third vary from round to round, or within 1 ms.

A page that is opened on a gateway of 100 robots of 1,000 devices, which are states without bodies,
shows its robots within 1 s: the model of the page is attached, without a browser.

STOP ALL is pressed while the three pages are open, as a browser does: the time until its answer is
complete, at most 200 ms in its p99. Exit 1 when a goal is missed.

    python3 tools/bench/web.py [--seconds 5] [--rounds 3]
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from table import Row, show_all
from watch import Measured, Running, cpu_s, percentiles
from web_load import chromium, gateway, pages, processes_of, web_of

AGAIN = Path(__file__).parent / "saying_again.py"
NOT_CONNECTED = "pages that are not connected"
NAMES = ["Scene", "Traffic", "Plots"]
SETTLED_S = 3.0  # after the pages have opened
PRESSES, EACH_S = 40, 0.05
STOP_MS = 200.0
NOISE_MS = 1.0
ROBOTS, DEVICES, SHOWN_S = 100, 1000, 1.0


def cpu_of(pids: list[int]) -> float:
    """CPU time of all of these that are there."""
    used_s = 0.0
    for pid in pids:
        with suppress(OSError):  # it has ended
            used_s += cpu_s(pid)
    return used_s


def press(url: str, action: str) -> float:
    """Press STOP ALL, as the page at this URL does, whose form has this action; return seconds."""
    request = urllib.request.Request(urljoin(url, action), b"")
    request.add_header("Origin", "/".join(url.split("/")[:3]))
    begin_s = time.monotonic()
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    assert "is disarmed" in text, text
    return time.monotonic() - begin_s


class Round:
    """A turn of each.

    `shares` are the cores that `hilgw web` and Chromium use, with the gateway and with the other
    program.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self.shares: list[float] = []
        self.stops: list[float] = []
        with gateway(folder) as running:
            self.without = Measured(running, seconds)
            self.pages = self._with_pages(running, folder, seconds, PRESSES)
            again = folder / "again"
            (again / "run" / "hilgw").mkdir(mode=0o700, parents=True)
            words = [sys.executable, str(AGAIN), str(running.path), str(again / "run/hilgw/1.sock")]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                assert other.stdout is not None
                assert other.stdout.readline() == b"ready\n"
                self.alone = self._with_pages(running, again, seconds, presses=0)

    def _with_pages(self, running: Running, of: Path, seconds: float, presses: int) -> Measured:
        with ExitStack() as stack:
            os.environ["XDG_RUNTIME_DIR"] = str(of / "run")
            web = stack.enter_context(web_of(of))
            chrome, browser = stack.enter_context(chromium())
            opened = stack.enter_context(pages(chrome, web.url, NAMES))
            action = opened[NAMES[0]].locator("#stop form").get_attribute("action")
            time.sleep(SETTLED_S)
            pids = [*processes_of(web.process.pid), *processes_of(browser)]
            begin_s, before = time.monotonic(), cpu_of(pids)
            measured = Measured(running, seconds)
            self.shares.append((cpu_of(pids) - before) / (time.monotonic() - begin_s))
            self.stops += [self._pressed(web.url, action) for _ in range(presses)]
            return measured

    def _pressed(self, url: str, action: str) -> float:
        time.sleep(EACH_S)
        return press(url, action)


async def serve_many(path: str) -> None:
    """Serve the control socket of a gateway of many robots, each with many devices."""
    from hilgw.assemble.gateway import build
    from hilgw.config.load import load_text
    from hilgw.engine.control_socket.control_server import ControlServer
    from hilgw.events.kinds import Value

    names = [f"r{number}" for number in range(ROBOTS)]
    robots = [f"  {n}: {{body: {{kind: wc2ec, connect: 'tcp://{n}:1'}}}}" for n in names]
    text = "\n".join(["version: 1", "robots:", *robots])
    gateway = build(load_text(text, "many.yaml").config, asyncio.get_running_loop())
    states, now = gateway.states, gateway.timer.now
    devices = (
        replace(Value(name, f"ds{number}", 0.5, ["value"], ["m"]), since_ns=now())
        for name in names
        for number in range(DEVICES)
    )
    gateway.states = lambda: chain(states(), devices)  # type: ignore[method-assign]
    await ControlServer(gateway, path, config="many.yaml").start()
    print("ready", flush=True)
    await asyncio.Event().wait()


def robots_shown(folder: Path) -> Iterator[Row]:
    """Attach the model of the page, and wait for the robots and their states."""
    from hilgw.web.model import Bench
    from hilgw.web.sources import Live

    path = folder / "hilgw" / "1.sock"
    path.parent.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    words = [sys.executable, __file__, "--serve", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        live, begin_s = Live(Bench(time.monotonic_ns)), time.monotonic()
        live.start()
        while len(robots_of(live.bench)) < ROBOTS:
            time.sleep(0.005)
        took_s = time.monotonic() - begin_s
        live.close()
        other.terminate()
    text = f"a page of {ROBOTS} robots of {DEVICES} devices shows them, s"
    yield Row(text, f"{took_s:.2f}", "-", took_s, SHOWN_S)


def robots_of(bench: Any) -> list[str]:
    """Return the robots whose status and newest state the page has."""
    with bench.lock:
        views = [*bench.gateways.values()]
        robots = [name for each in views for name in each.status.get("robots", ())]
        known = {name for each in views for name in each.newest["armed"]}
    return [name for name in robots if name in known]


def rows_of(rounds: list[Round]) -> Iterator[Row]:
    share, other = (statistics.median(each.shares[at] for each in rounds) for at in (0, 1))
    yield Row("hilgw web and Chromium: cores", f"{share:.2f}", f"{other:.2f}", share - other, None)
    for figure, unit in (("step_p50", "ms"), ("step_p99", "ms"), ("share", "cores")):
        figures = {
            name: [getattr(getattr(each, name), figure) for each in rounds]
            for name in ("without", "pages", "alone")
        }
        middle = {name: statistics.median(values) for name, values in figures.items()}
        goal = None
        if figure == "step_p99":
            spreads = (max(figures[name]) - min(figures[name]) for name in ("without", "alone"))
            goal = round(max(NOISE_MS, *spreads), 2)
        others = (("without", "without pages", None), ("alone", NOT_CONNECTED, goal))
        for name, other, bound in others:
            ours, theirs = middle["pages"], middle[name]
            text = f"gateway, three pages / {other}: {figure.replace('_', ' ')}, {unit}"
            yield Row(text, f"{ours:.2f}", f"{theirs:.2f}", ours - theirs, bound)
    stops = [1e3 * each for one in rounds for each in one.stops]
    p50, p99 = percentiles(stops)
    yield Row(f"STOP ALL, {len(stops)} times: p50, ms", f"{p50:.0f}", "-", p50, None)
    yield Row("STOP ALL: p99, ms", f"{p99:.0f}", "-", p99, STOP_MS)


def bench(seconds: float, rounds: int) -> list[Row]:
    """Return rows of the table; their ratio is a difference."""
    table = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            table.append(Round(Path(folder), seconds))
    with tempfile.TemporaryDirectory() as folder:
        return [*rows_of(table), *robots_shown(Path(folder))]


def main() -> int:
    """Measure and print the table; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve_many(args.serve))
    return 0 if show_all(bench(args.seconds, args.rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
