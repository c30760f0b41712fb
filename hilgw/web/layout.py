"""What all pages have: the way from one to the other, STOP ALL, who the visitor is.

A page is a module of this room with `build(page)`; `PAGES` has its path and its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hilgw.web.access import GRANT
from hilgw.web.content import content
from hilgw.web.markup import element, joined
from hilgw.web.page import Page, Site
from hilgw.web.pages import overview, playhead, plots, recordings, robot, scene, traffic
from hilgw.web.recorded import Recorded

STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
NO_TOKEN = "Open the URL that hilgw web printed, to command."
PULSE_S = 1.0  # the page is shown as old when it misses three
OF_RECORDING = "STOP ALL stops the robots of the gateways that run now."
STOP = (Path(__file__).parent / "stop.html").read_text(encoding="utf-8")
STALE = (Path(__file__).parent / "stale.html").read_text(encoding="utf-8")

PAGES: tuple[tuple[str, str, Callable[[Page], None]], ...] = (
    ("/", "Overview", overview.build),
    ("/robot", "Robot", robot.build),
    ("/scene", "Scene", scene.build),
    ("/traffic", "Traffic", traffic.build),
    ("/plots", "Plots", plots.build),
    ("/recordings", "Recordings", recordings.build),
)


def add_pages(site: Site) -> None:
    """Makes NiceGUI serve all pages."""
    for path, name, build in PAGES:
        _add(site, path, name, build)


def _add(site: Site, path: str, name: str, build: Callable[[Page], None]) -> None:
    from nicegui import ui  # it starts a program when it is imported

    stop = STOP.replace("$PORT", str(site.stop_port)).replace("$RUN", site.run_id)

    @ui.page(path, title=f"{name} - hilgw")
    def show() -> None:
        page = Page(site, ui.context.client.request.scope[GRANT])
        ui.add_head_html(f"<style>{STYLE}</style>")
        ui.add_body_html(stop + STALE)
        with ui.element("header").classes("top"):
            ui.html(_navigation(path, page), tag="nav").props('aria-label="Pages"')
            pulse = content().classes("pulse unseen").props("aria-hidden=true")
            page.refresh(lambda: pulse.set_content(f"{time.monotonic()}"), PULSE_S)
        with ui.element("div").classes("page"):
            ui.html(element("h1", name, class_="unseen"))
            if isinstance(site.live, Recorded):
                playhead.build(page, site.live)
            build(page)


def _navigation(path: str, page: Page) -> str:
    links = [
        element("a", name, href=to, aria_current="page" if to == path else None)
        for to, name, _ in PAGES
    ]
    may = page.may("drive")
    text = "may command" if may else "may only look" if page.site.live.acts else "a recording"
    hint = None if may else NO_TOKEN if page.site.live.acts else OF_RECORDING
    who = element("span", text, class_="who", title=hint)
    return joined([element("b", "hilgw"), *links, who])
