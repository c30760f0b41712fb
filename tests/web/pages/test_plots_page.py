"""The page Plots in a real browser: choose, look, zoom, pause, save."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway
from tests.web.pages.browser import Web, opened, wait_for

CONFIG = """
version: 1
robots:
  plotted:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}
    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:20002", backend: mock}
    safety: {armed: true}
"""
NAME = "plots <i>"
FILE = f"{NAME}.yaml"
# A browser keeps each text that is measured: a page that measures new ones fills its memory.
MEASURES = """{ const measure = CanvasRenderingContext2D.prototype.measureText;
    CanvasRenderingContext2D.prototype.measureText = function (text) {
        (window.measured ??= new Set()).add(text);
        return measure.call(this, text); }; }"""
# How much of the time is drawn.
DRAWN = """(() => {
    const chart = getElement(Number(document.querySelector(".plots").id.slice(1))).chart;
    const { start, end } = chart.getOption().dataZoom[0];
    return (end - start) / 100; })()"""
NEWEST = """() => {
    const id = Number(document.querySelector(".plots").id.slice(1));
    const data = getElement(id).chart.getOption().series[0]?.data ?? [];
    return data.length ? [data.length, data.at(-1)[0]] : [0, 0];
}"""


def values_in(gateway: Gateway) -> int:
    return gateway.report()["control_loops"]["plotted"]["values_in"]


def share_after_wheel(page: Any, down: int) -> float:
    """How much of the time is drawn; what the wheel does may be seen the next time."""
    page.mouse.wheel(0, down)
    return page.evaluate(DRAWN)


def test_a_sensor_is_chosen_drawn_zoomed_paused_and_saved(
    folder: Path, web: Web, chromium: Any, gateway: Any
) -> None:
    requests: list[str] = []
    errors: list[str] = []

    def prepare(page: Any) -> None:
        page.add_init_script(MEASURES)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)

    with opened(chromium, web.at("plots"), prepare) as page:
        wait_for(page.get_by_role("img", name="The chosen series"))  # those of a preset
        page.get_by_role("combobox", name="Preset").click()
        page.get_by_role("option").filter(has_text=re.compile("^plotted")).click()
        page.wait_for_function(f"() => ({NEWEST})()[0] > 0")
        wait_for(page.locator(".q-chip").filter(has_text="plotted: ds_front"))
        page.locator(".series .q-icon", has_text="cancel").last.click()  # all of them
        wait_for(page.locator(".q-chip"), "detached")
        wait_for(page.get_by_role("img", name="The chosen series"), "hidden")
        series = page.get_by_role("combobox", name="Series")
        series.click()
        series.fill("ds_front")
        option = page.get_by_role("option").filter(has_text="plotted: ds_front")
        wait_for(option)
        option.click()
        page.keyboard.press("Escape")
        wait_for(page.get_by_role("img", name="The chosen series"))
        for _ in range(2):  # the first may still be drawn with the points of the preset
            before = page.evaluate(NEWEST)[1] or 0
            page.wait_for_function(f"() => ({NEWEST})()[1] > {before} && ({NEWEST})()[0] > 4")
        newest = page.evaluate(NEWEST)[1]
        assert page.evaluate(DRAWN) == 1
        page.get_by_role("img", name="The chosen series").hover()
        wait_until(lambda: share_after_wheel(page, -200) < 1, what="a part of the time")
        page.wait_for_function(f"({NEWEST})()[1] > {newest}")  # and it stays so
        assert page.evaluate(DRAWN) < 1
        wait_until(lambda: share_after_wheel(page, 200) > 0.999, what="all of the time")
        table = page.get_by_role("region", name="Newest values")
        wait_for(table.get_by_role("row").filter(has_text="ds_front").get_by_text("up"))
        page.get_by_role("checkbox", name="Pause").focus()
        page.keyboard.press("Space")
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        saved = list(csv.reader(Path(download.value.path()).read_text().splitlines()))
        assert saved[0] == ["wall_s", "series", "value", "unit"]
        assert {row[1] for row in saved[1:]} == {f"{NAME} · plotted: ds_front"}
        assert len(saved) > 4
        assert all(float(row[2]) >= 0 for row in saved[1:])
        assert page.evaluate("Math.max(...[...window.measured].map((e) => [...e].length))") == 1
        held = page.evaluate(NEWEST)
        assert float(saved[-1][0]) * 1000 == pytest.approx(held[1], abs=1)
        more = values_in(gateway) + 30
        wait_until(lambda: values_in(gateway) > more, what="values during the pause")
        assert page.evaluate(NEWEST) == held
        page.get_by_role("checkbox", name="Pause").click()
        page.wait_for_function(f"() => ({NEWEST})()[1] > {held[1]}")
        hosts = {url.split("/")[2] for url in requests if "://" in url}
        others = hosts - {web.url.split("/")[2]}  # STOP ALL has a port of its own
        assert all(host.startswith("127.0.0.1:") for host in others) and len(others) <= 1
        assert errors == []
