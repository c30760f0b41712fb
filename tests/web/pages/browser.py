"""Debian's Chromium, with nothing of it that asks other hosts, and `hilgw web` for it."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import COMMAND, environment, run_program

LONG_MS = DEADLINE_S * 1000

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL without a GPU
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser with an empty profile."""
    from playwright.sync_api import sync_playwright  # slow to import

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        try:
            yield found
        finally:
            found.close()


@contextmanager
def opened(chromium: Any, url: str, **more: Any) -> Iterator[Any]:
    """A page in a context of its own: no cookie of another test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, **more)
    page = context.new_page()
    page.set_default_timeout(LONG_MS)
    try:
        page.goto(url)
        yield page
    finally:
        context.close()


class Web:
    """`hilgw web` in the background. more: its options. url: with its token."""

    def __init__(self, cwd: Path, *more: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "web", *more],
            cwd=cwd,
            env=environment(cwd),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def end(self) -> tuple[int, str]:
        """Ctrl-C; the exit code and the rest of the output."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, rest


def shell(folder: Path, line: str) -> None:
    """A command line as a user pastes it."""
    program = f'hilgw() {{ {shlex.join(COMMAND)} "$@"; }}; {line}'
    run_program("sh", "-c", program, cwd=folder).check_returncode()
