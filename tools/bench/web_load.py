"""A gateway that passes 2,000 packets a second, `hilgw web` and Chromium with its pages.

All are as users have them: the gateway is that of tools/bench/watch.py with its robots placed, and
the pages show what they can: Plots has some series chosen.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from watch import Running

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.web.pages.browser import LONG_MS, Web, browser  # noqa: E402

SERIES = 6  # that the page Plots shows
WHERE = {"sender": (0.0, 0.0, 0.0), "rover": (1.0, 0.5, 0.0), "stepper": (0.5, 1.5, 0.0)}


@contextmanager
def gateway(folder: Path) -> Iterator[Running]:
    """Run the gateway, where `hilgw web` of the same folder finds it."""
    from hilgw.client.gateway import Gateway

    control = folder / "run" / "hilgw"
    control.mkdir(mode=0o700, parents=True)
    running = Running("air", control)
    for name, place in WHERE.items():
        Gateway(running.path).place(name, list(place))
    try:
        yield running
    finally:
        running.close()


@contextmanager
def web_of(folder: Path) -> Iterator[Web]:
    """`hilgw web`."""
    web = Web(folder)
    try:
        yield web
    finally:
        web.end()


def processes_of(pid: int) -> list[int]:
    """Return the process and all that it started, and they."""
    processes = [pid]
    for process in processes:
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
        except OSError:
            continue  # it has ended
        processes += map(int, children.split())
    return processes


@contextmanager
def chromium() -> Iterator[tuple[Any, int]]:
    """Start a browser; yield it and the number of the process that has all its processes below."""
    before = set(processes_of(os.getpid()))
    with browser() as chrome:
        new = [each for each in processes_of(os.getpid()) if each not in before]
        yield chrome, new[0]


@contextmanager
def pages(chrome: Any, url: str, names: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield each page of `hilgw web` (or those with these names) in a tab, by its name."""
    with ExitStack() as stack:
        context = chrome.new_context(viewport={"width": 1280, "height": 800})
        stack.callback(context.close)
        context.set_default_timeout(LONG_MS)
        yield open_pages(context.new_page, url, names)


def open_pages(
    new_page: Callable[[], Any], url: str, names: list[str] | None = None
) -> dict[str, Any]:
    """Return these pages, by their names; `new_page` makes one with the others' cookies."""
    from hilgw.web.layout import PAGES

    first = new_page()
    first.goto(url)  # the cookie is that of all
    opened = {}
    for path, name, _ in PAGES:
        if names is None or name in names:
            opened[name] = page = new_page()
            page.goto(url.partition("?")[0].rstrip("/") + path)
            page.get_by_role("navigation", name="Pages").wait_for()
    first.close()
    if "Plots" in opened:
        choose_series(opened["Plots"])
    return opened


def choose_series(page: Any) -> None:
    """Choose the first series that there are."""
    series = page.get_by_role("combobox", name="Series")
    series.click()
    options = page.get_by_role("option")
    options.nth(SERIES).wait_for()
    for index in range(SERIES):
        options.nth(index).click()
    page.keyboard.press("Escape")


@contextmanager
def everything(folder: Path, names: list[str] | None = None) -> Iterator[tuple[Any, ...]]:
    """Start the gateway, `hilgw web`, the browser's process, and its pages."""
    with ExitStack() as stack:
        running = stack.enter_context(gateway(folder))
        stack.enter_context(patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")))
        web = stack.enter_context(web_of(folder))
        chrome, process = stack.enter_context(chromium())
        yield running, web, process, stack.enter_context(pages(chrome, web.url, names))
