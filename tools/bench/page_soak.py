#!/usr/bin/env python3
"""Looks whether the page of `hilgw web` keeps ever more memory.

Meanwhile a gateway next to it passes 2,000 packets a second, and one Chromium has each page open.

Every 10 s, after a garbage collection: memory of `hilgw web`, of its stop server, and of the
processes of Chromium that have the pages; of each page the JavaScript heap and the number of DOM
nodes. Playwright opens the pages, each in a window, so that all are drawn, and leaves: while it is
there, Chromium keeps for it what the pages receive. Compared are the medians of the three minutes
after the first five, and of the last three (of a shorter run: of its second and its last quarter).
Exit 1 where the memory of a process or of all pages together grew by 2 % or more, or packets did
not pass. The heaps are a part of the memory of the pages; they go up and down, as the browser
compiles code and drops it.

    tools/soak page [--minutes 30] [--report FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from watch import PER_SECOND, Running
from web_load import LONG_MS, gateway, open_pages, processes_of, web_of
from websockets.sync.client import connect

from hilgw.testing.sim import wait_until
from tests.web.pages.browser import FLAGS

EACH_S = 10.0
BEGIN_S, SPAN_S = 300.0, 180.0
MOST_PERCENT = 2.0
LEAST_PASSED = 0.9  # of the packets, on a busy machine
MIB = 1 << 20

Samples = dict[str, list[tuple[float, float]]]


def resident(pid: int, kind: str = "VmRSS") -> int:
    """Return the bytes of memory of a process; RssAnon: without what is of files."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    kib = next(line.split()[1] for line in lines if line.startswith(f"{kind}:"))
    return 1024 * int(kib)


def renderers_of(browser: int) -> list[int]:
    """Return the processes of Chromium that have pages."""

    def is_renderer(pid: int) -> bool:
        return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()

    return [pid for pid in processes_of(browser) if is_renderer(pid)]


@contextmanager
def chromium(folder: Path) -> Iterator[tuple[int, str]]:
    """Start Chromium; yield its process, and where programs find its pages."""
    profile = folder / "profile"
    options = "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"
    with subprocess.Popen(
        ["/usr/bin/chromium", *FLAGS, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            where = profile / "DevToolsActivePort"
            wait_until(lambda: where.exists() and "\n" in where.read_text(), what="Chromium")
            yield process.pid, f"http://127.0.0.1:{where.read_text().split()[0]}"
        finally:
            process.terminate()


def open_windows(address: str, url: str) -> dict[str, str]:
    """Open each page of `hilgw web` in a window; return where a program asks it, by its name."""
    from playwright.sync_api import sync_playwright  # slow to import

    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(address)
        (context,) = browser.contexts
        context.set_default_timeout(LONG_MS)
        session = browser.new_browser_cdp_session()

        def new_page() -> Any:
            with context.expect_page() as made:
                session.send("Target.createTarget", {"url": "about:blank", "newWindow": True})
            return made.value

        pages = open_pages(new_page, url)
        for name, page in pages.items():
            assert page.evaluate("document.visibilityState") == "visible", name
        names = {page.url: name for name, page in pages.items()}
        browser.close()
    with urllib.request.urlopen(f"{address}/json") as answer:
        targets = {each["url"]: each["webSocketDebuggerUrl"] for each in json.load(answer)}
    return {name: targets[url] for url, name in names.items()}


def measured(target: str) -> dict[str, float]:
    """Return what Chromium measures of a page, after a garbage collection."""
    with connect(target, max_size=None) as line:
        methods = "HeapProfiler.collectGarbage", "Performance.enable", "Performance.getMetrics"
        for number, method in enumerate(methods):
            line.send(json.dumps({"id": number, "method": method}))
            while (answer := json.loads(line.recv())).get("id") != number:
                pass
    return {each["name"]: each["value"] for each in answer["result"]["metrics"]}


def sample(web: int, browser: int, windows: dict[str, str]) -> dict[str, float]:
    """Return what is measured now, by its name."""
    _, *children = processes_of(web)
    sizes: dict[str, float] = {"hilgw web": resident(web)}
    sizes |= {"stop server": sum(resident(each) for each in children)}
    for name, target in windows.items():
        values = measured(target)
        sizes[f"{name}: heap"] = values["JSHeapUsedSize"]
        sizes[f"{name}: nodes"] = values["Nodes"]
    heaps = [value for name, value in sizes.items() if name.endswith("heap")]
    sizes["all pages: heaps"] = sum(heaps)
    sizes["all pages"] = sum(resident(pid, "RssAnon") for pid in renderers_of(browser))
    return sizes


def run(minutes: float) -> tuple[Samples, float]:
    """Return all samples with their times, and the packets that passed in a second."""
    samples: Samples = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        running = stack.enter_context(gateway(folder))
        stack.enter_context(patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")))
        web = stack.enter_context(web_of(folder))
        browser, address = stack.enter_context(chromium(folder))
        windows = open_windows(address, web.url)
        begin_s, first = time.monotonic(), passed(running)
        while (now := time.monotonic() - begin_s) < 60 * minutes:
            for kind, value in sample(web.process.pid, browser, windows).items():
                samples.setdefault(kind, []).append((now, value))
            time.sleep(EACH_S)
        per_s = (passed(running) - first) / now
    return samples, per_s


def passed(running: Running) -> float:
    return running.take()[3]


def spans(minutes: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Begin and end of both times that are compared."""
    end = 60 * minutes
    if end < BEGIN_S + 2 * SPAN_S:
        return (end / 4, end / 2), (end * 3 / 4, end)
    return (BEGIN_S, BEGIN_S + SPAN_S), (end - SPAN_S, end)


def rows(samples: Samples, minutes: float) -> list[dict[str, Any]]:
    """Return for each figure: before, after, how much it grew, and whether that is too much."""
    table = []
    for name, all_of in samples.items():
        before, after = (
            statistics.median(value for at, value in all_of if begin <= at < end)
            for begin, end in spans(minutes)
        )
        grown = 100 * (after / before - 1) if before else 0.0
        table.append(
            {
                "name": name,
                "before": before,
                "after": after,
                "grown_percent": round(grown, 2),
                "good": ":" in name or grown < MOST_PERCENT,
            }
        )
    return table


def print_rows(table: list[dict[str, Any]], per_s: float) -> None:
    print(f"{per_s:.0f} packets/s passed")
    for row in table:
        size, unit = (1, "") if "nodes" in row["name"] else (MIB, " MiB")
        values = f"{row['before'] / size:9.1f} -> {row['after'] / size:9.1f}{unit:4}"
        verdict = "" if row["good"] else "  GREW"
        print(f"  {row['name']:20} {values} {row['grown_percent']:+7.2f} %{verdict}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/soak page", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="default 30, at least 2")
    parser.add_argument("--report", metavar="FILE", help="also write all samples as JSON")
    args = parser.parse_args()
    if not 2 <= args.minutes <= 60 * 24:
        parser.error(f"--minutes {args.minutes:.10g}: from 2 to 1440")
    samples, per_s = run(args.minutes)
    table = rows(samples, args.minutes)
    print_rows(table, per_s)
    good = per_s >= LEAST_PASSED * PER_SECOND and all(row["good"] for row in table)
    print("memory stays" if good else "NOT GOOD")
    if args.report:
        report = {"packets_per_s": per_s, "figures": table, "samples": samples, "good": good}
        Path(args.report).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
