#!/usr/bin/env python3
"""What the page of `hilgw web` costs a gateway that passes 2,000 packets a second, and STOP ALL.

A controller asks for steps of 8 ms, as in tools/bench/watch.py. In turns: without `hilgw web`;
with it and three of its pages open in one Chromium; and with programs that are not connected, but
wake as often, and use as much CPU time, as each process of `hilgw web` and of Chromium did: what
those cost is the machine's, and not the gateway's. Pages cost a step nothing where its p99 is that
of the third, within what the p99 of the first and of the third vary from round to round, or within
1 ms.

STOP ALL is pressed while the three pages are open, as a browser does: the time until its answer is
complete, at most 200 ms in its p99. Exit 1 when a goal is missed.

    python3 tools/bench/web.py [--seconds 5] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from table import Row, show_all
from watch import NOT_CONNECTED, Measured, percentiles
from watching import watching
from web_load import chromium, gateway, pages, processes_of, web_of

NAMES = ["Scene", "Traffic", "Plots"]
SETTLED_S = 3.0  # after the pages have opened
PRESSES, EACH_S = 40, 0.05
STOP_MS = 200.0
NOISE_MS = 1.0
LEAST_SHARE = 0.005  # of a core: a process that uses less has no program that stands for it
MOST_SHARE = 0.9  # that one program can use; a process with several threads gets more than one
TICKS = os.sysconf("SC_CLK_TCK")
Used = dict[int, tuple[float, float]]


def used(pids: list[int]) -> Used:
    """CPU time, and how often it woke, of each process that is there."""
    found = {}
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
            fields = text.rpartition(")")[2].split()
            threads = list(Path(f"/proc/{pid}/task").iterdir())
            texts = [(each / "status").read_text(encoding="utf-8") for each in threads]
        except OSError:
            continue  # it has ended, or a thread of it
        lines = [line for text in texts for line in text.splitlines()]
        woken = sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_"))
        found[pid] = (int(fields[11]) + int(fields[12])) / TICKS, woken
    return found


def loads(before: Used, after: Used, for_s: float) -> list[tuple[float, float]]:
    """How often each of the programs wakes in a second, and its share of a core."""
    found = []
    for pid, (cpu_s, woken) in after.items():
        cpu_before, woken_before = before.get(pid, (cpu_s, woken))
        share, per_s = (cpu_s - cpu_before) / for_s, (woken - woken_before) / for_s
        count = int(share / MOST_SHARE) + 1
        if share >= LEAST_SHARE:
            found += [(max(per_s / count, 1), share / count)] * count
    return found


def press(url: str, action: str) -> float:
    """Presses STOP ALL, as the page at this URL does, whose form has this action; seconds."""
    request = urllib.request.Request(action, b"")
    request.add_header("Origin", "/".join(url.split("/")[:3]))
    begin_s = time.monotonic()
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    assert "is disarmed" in text, text
    return time.monotonic() - begin_s


class Round:
    """One turn of each."""

    def __init__(self, folder: Path, seconds: float) -> None:
        with gateway(folder) as running, ExitStack() as stack:
            self.without = Measured(running, seconds)
            os.environ["XDG_RUNTIME_DIR"] = str(folder / "run")
            web = stack.enter_context(web_of(folder))
            found, browser = stack.enter_context(chromium())
            opened = stack.enter_context(pages(found, web.url, NAMES))
            action = opened[NAMES[0]].locator("#stop form").get_attribute("action")
            time.sleep(SETTLED_S)
            pids = [*processes_of(web.process.pid), *processes_of(browser)]
            begin_s, before = time.monotonic(), used(pids)
            self.pages = Measured(running, seconds)
            self.loads = loads(before, used(pids), time.monotonic() - begin_s)
            self.stops = [self._pressed(web.url, action) for _ in range(PRESSES)]
            stack.close()
            for load in self.loads:
                stack.enter_context(watching("--alone", list(map(str, load))))
            self.alone = Measured(running, seconds)

    def _pressed(self, url: str, action: str) -> float:
        time.sleep(EACH_S)
        return press(url, action)


def rows_of(rounds: list[Round]) -> Iterator[Row]:
    share = statistics.median(sum(load[1] for load in each.loads) for each in rounds)
    programs = statistics.median(len(each.loads) for each in rounds)
    yield Row("hilgw web and Chromium: cores", f"{share:.2f}", f"{programs:.0f}", share, None)
    for what, unit in (("step_p50", "ms"), ("step_p99", "ms"), ("share", "cores")):
        found = {
            name: [getattr(getattr(each, name), what) for each in rounds]
            for name in ("without", "pages", "alone")
        }
        middle = {name: statistics.median(values) for name, values in found.items()}
        goal = None
        if what == "step_p99":
            spreads = (max(found[name]) - min(found[name]) for name in ("without", "alone"))
            goal = round(max(NOISE_MS, *spreads), 2)
        others = (("without", "without pages", None), ("alone", NOT_CONNECTED, goal))
        for name, other, bound in others:
            ours, theirs = middle["pages"], middle[name]
            text = f"gateway, three pages / {other}: {what.replace('_', ' ')}, {unit}"
            yield Row(text, f"{ours:.2f}", f"{theirs:.2f}", ours - theirs, bound)
    stops = [1e3 * each for one in rounds for each in one.stops]
    p50, p99 = percentiles(stops)
    yield Row(f"STOP ALL, {len(stops)} times: p50, ms", f"{p50:.0f}", "-", p50, None)
    yield Row("STOP ALL: p99, ms", f"{p99:.0f}", "-", p99, STOP_MS)


def bench(seconds: float, rounds: int) -> list[Row]:
    """Rows of the table; their ratio is a difference."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append(Round(Path(folder), seconds))
    return list(rows_of(found))


def main() -> int:
    """Measures, prints the table; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    return 0 if show_all(bench(args.seconds, args.rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
