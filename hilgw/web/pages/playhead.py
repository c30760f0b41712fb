"""The slider and the buttons of a recording, above each page."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from hilgw.units import NS_PER_S, ns_to_s
from hilgw.web.actions import button
from hilgw.web.content import content
from hilgw.web.markup import element
from hilgw.web.recorded import Recorded

if TYPE_CHECKING:
    from hilgw.web.page import Page

SPEEDS = {0.25: "1/4 x", 1.0: "1 x", 4.0: "4 x", 16.0: "16 x"}


def build(page: Page, recorded: Recorded) -> None:
    """One time for all pages and visitors together."""
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
        for each in (play, speed, slider):
            each.props("disable disabled")

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
