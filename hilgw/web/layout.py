"""Frame of all pages: the way from one to the other, STOP ALL, who the visitor is.

A page is a module of this room with `build(page)`; `PAGES` has its path and its name.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from hilgw.security.access import Grant
from hilgw.units import NS_PER_S, ns_to_s
from hilgw.web.access import FORM
from hilgw.web.markup import content, element, joined
from hilgw.web.page import Page, Site, button
from hilgw.web.pages import overview, plots, recordings, robot, scene, traffic
from hilgw.web.sources import Recorded

SPEEDS = {0.25: "1/4 x", 1.0: "1 x", 4.0: "4 x", 16.0: "16 x"}
STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
NO_TOKEN = "Open the URL that hilgw web printed, to command."
PULSE_S = 1.0  # the page is shown as old when it misses three
OF_RECORDING = "STOP ALL stops the robots of the gateways that run now."
STOP = (Path(__file__).parent / "stop.html").read_text(encoding="utf-8")
ENTER = (Path(__file__).parent / "enter.html").read_text(encoding="utf-8")
ASK_TOKEN, FORGET_TOKEN = (
    f"return sessionStorage.{word}Item('hilgw-token')" for word in ("get", "remove")
)
CONNECT_S = 30.0  # a busy browser takes long
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
    """Make NiceGUI serve all pages."""
    for path, name, build in PAGES:
        _add(site, path, name, build)


def _add(site: Site, path: str, name: str, build: Callable[[Page], None]) -> None:
    from nicegui import ui  # it starts a program when it is imported

    stop = STOP.replace("$PORT", str(site.stop_port)).replace("$RUN", site.run_id)

    @ui.page(path, title=f"{name} - hilgw")
    async def show() -> None:
        ui.add_head_html(f"<style>{STYLE}</style>")
        ui.add_body_html(ENTER + stop + STALE + (plots.MEASURE if build is plots.build else ""))
        if (grant := await _grant(site)) is None:
            return
        page = Page(site, grant)
        with ui.element("header").classes("top"):
            ui.html(_navigation(path, page), tag="nav").props('aria-label="Pages"')
            pulse = content().classes("pulse unseen").props("aria-hidden=true")
            page.refresh(lambda: pulse.set_content(f"{time.monotonic()}"), PULSE_S)
        with ui.element("div").classes("page"):
            ui.html(element("h1", name, class_="unseen"))
            if isinstance(site.live, Recorded):
                _build_playhead(page, site.live)
            build(page)


async def _grant(site: Site) -> Grant | None:
    """Return what the visitor of this page may do, by the first message of its WebSocket.

    None: nothing, and the page asks for a token.
    """
    from nicegui import ui

    client, token = ui.context.client, None
    with suppress(TimeoutError):
        await client.connected(CONNECT_S)
        token = await ui.run_javascript(ASK_TOKEN, timeout=CONNECT_S)
    if client.is_deleted or not client.has_socket_connection:  # the visitor left
        return None
    address = client.request.client
    grant = site.visitors.grant(token, f"{address.host}:{address.port}" if address else "")
    if isinstance(grant, Grant):
        return grant
    ui.run_javascript(FORGET_TOKEN)
    ui.html(joined([element("p", grant), FORM]))
    return None


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


def _build_playhead(page: Page, recorded: Recorded) -> None:
    """Build the slider and the buttons of a recording: one time for all pages and visitors."""
    from nicegui import ui

    may, is_held = page.grant.allows("drive"), False

    def hold(is_down: bool) -> None:
        nonlocal is_held
        is_held = is_down

    def seek(event: Any) -> None:
        recorded.seek(recorded.begin_ns + int(float(event.args) * NS_PER_S))
        hold(False)

    with ui.element("section").classes("gateway playhead"):
        with ui.element("div").classes("tools"):
            play = button("Play", lambda: recorded.play(not recorded.is_playing))
            speed = ui.select(SPEEDS, value=recorded.speed, label="Speed").props("dense outlined")
            speed.on_value_change(lambda event: recorded.play(recorded.is_playing, event.value))
            shown = content()
        slider = ui.element("input").props('type=range step=0.1 aria-label="Time in seconds"')
        slider.on("pointerdown", lambda: hold(True))
        slider.on("change", seek, js_handler="(e) => emit(e.target.value)")
    if not may:
        for control in (play, speed, slider):
            control.props("disable disabled")

    def update() -> None:
        now, begin = recorded.now(), recorded.begin_ns
        if not is_held:
            slider.props(f"max={ns_to_s(recorded.end_ns - begin):.2f}")
            slider.props(f"value={ns_to_s(now - begin):.2f}")
        play.set_text("Pause" if recorded.is_playing and now < recorded.end_ns else "Play")
        wall_ns = next(iter(recorded.bench.gateways.values())).wall_ns
        clock = f"{datetime.fromtimestamp(ns_to_s(now + wall_ns)).astimezone():%H:%M:%S.%f}"[:-4]
        length = ns_to_s(recorded.end_ns - begin)
        text = f"{clock} · {ns_to_s(now - begin):.2f} of {length:.2f} s · {recorded.path.name}"
        shown.set_content(element("span", text))

    page.refresh(update)
