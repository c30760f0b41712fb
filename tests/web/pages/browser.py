"""Debian's Chromium, with nothing of it that asks other hosts, and `hilgw web` for it."""

import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from hilgw import client
from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import COMMAND, Gateway, run_program, start

LONG_MS = DEADLINE_S * 1000
LOOK_MS = 60
PRESS_S = 3.0

# The HTML that `hilgw web` last sent for the table of what is pressed, if it is new.
SENT = """([before]) => { const pressed = [...document.querySelectorAll(":active")].at(-1);
    const sent = getElement(Number(pressed.closest(".scrolls").id.slice(1))).innerHTML;
    return sent !== before && sent; }"""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--process-per-site",  # with what its pages have compiled: see `opened`
    "--enable-unsafe-swiftshader",  # WebGL without a GPU
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # slow to import

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        try:
            yield chromium
        finally:
            chromium.close()


CONTEXTS: dict[tuple[object, ...], Any] = {}


@contextmanager
def opened(
    chromium: Any, url: str, prepare: Callable[[Any], object] = lambda page: None, **more: Any
) -> Iterator[Any]:
    """A page. Visitors of one `hilgw web` share a context, with the files that are loaded once, but
    no token: that is kept for each page, from its URL. An icon stays open in each context, and with
    it the process that has compiled these files. prepare: what is done before the page is loaded.
    more: of the context."""
    who = chromium, urlsplit(url).netloc, *more.items()
    if who not in CONTEXTS:
        size = {"width": 1280, "height": 800}
        CONTEXTS[who] = chromium.new_context(viewport=size, **more)
        CONTEXTS[who].set_default_timeout(LONG_MS)
        CONTEXTS[who].new_page().goto(urljoin(url, "/favicon.ico"))
    page = CONTEXTS[who].new_page()
    try:
        prepare(page)
        page.goto(url)
        yield page
    finally:
        page.close()


class Web:
    """`hilgw web` in the background. more: its options. url: with its token."""

    def __init__(self, cwd: Path, *more: str) -> None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = start(cwd, *COMMAND, "web", *more, text=True, **pipes)
        self.url = self.process.stdout.readline().strip()

    def at(self, path: str, *, acts: bool = True) -> str:
        """The URL of one of its pages; acts: with its token."""
        where, _, token = self.url.partition("?")
        return f"{where.rstrip('/')}/{path.lstrip('/')}" + f"?{token}" * (acts and bool(token))

    def end(self) -> tuple[int, str]:
        """Ctrl-C; the exit code and the rest of the output."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, rest


def wait_for(locator: Any, state: str = "visible") -> None:
    """Until this locator is "visible", "hidden" or "detached". Its own `wait_for` soon looks only
    twice a second."""
    states = {
        "visible": locator.is_visible,
        "hidden": locator.is_hidden,
        "detached": lambda: locator.count() == 0,
    }
    end = time.monotonic() + DEADLINE_S
    while not states[state]():
        assert time.monotonic() < end, f"not {state}: {locator}"
        locator.page.wait_for_timeout(LOOK_MS)


def card(page: Any, file: str) -> Any:
    """The gateway of this file, and no other of this machine."""
    heading = page.get_by_role("heading", name=file.removesuffix(".yaml"), exact=True)
    return page.locator(".gateway", has=heading)


def wait_until_it_fits(page: Any) -> None:
    """On a narrow and on a wide screen, nothing is wider than it."""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        fits = "width => document.documentElement.scrollWidth <= width"
        page.wait_for_function(fits, arg=width)


def press_enter(button: Any, effect: Any) -> None:
    """Presses Enter on this button until its effect is visible: what a filter has changed may be
    drawn anew between the focus and the key."""
    end = time.monotonic() + DEADLINE_S
    while not effect.is_visible():
        assert time.monotonic() < end, f"not visible: {effect}"
        button.press("Enter")
        again = time.monotonic() + PRESS_S
        while not effect.is_visible() and time.monotonic() < again:
            effect.page.wait_for_timeout(LOOK_MS)


def press(page: Any, locator: Any) -> None:
    wait_for(locator)
    locator.hover()
    page.mouse.down()


def release(page: Any) -> None:
    """After `hilgw web` has sent a new table, in place of that with what is pressed."""
    page.wait_for_function(SENT, arg=[page.evaluate(f"({SENT})([])")])
    page.mouse.up()


def client_of(gateway: Gateway) -> client.Gateway:
    (control,) = (gateway.cwd / "run").rglob("*.sock")
    return client.Gateway(control)


def beside(folder: Path, name: str) -> Path:
    """A folder for one more gateway of the user who has this one."""
    other = folder / name
    other.mkdir()
    (other / "run").symlink_to(folder / "run")
    return other


def shell(folder: Path, line: str) -> None:
    """A command line as a user pastes it."""
    program = f'hilgw() {{ {shlex.join(COMMAND)} "$@"; }}; {line}'
    run_program("sh", "-c", program, cwd=folder).check_returncode()
