"""The page Plots: sensors, motors, rates and other numbers over time."""

import csv
import io
import math
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hilgw.events.numbers import mode_of
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import UP, GatewayView
from hilgw.view.series import POINTS, Points, Reading, collect, of_event, of_status
from hilgw.web.markup import Markup, age, scrolling, state, table
from hilgw.web.model import Bench
from hilgw.web.page import Page, button
from hilgw.web.pages.robot import robots_of, titles_of

WINDOWS = {10: "last 10 s", 60: "last 1 min", 300: "last 5 min", 0: "all"}
MOST_LISTED, MOST_CURVES, MOST_NEEDED = 4096, 12, 64  # of a page; of one gateway, by all pages
MOST_PRESET = 8
MOST_AXES, AXIS_PX, LONGEST = 3, 48, 80
DRAWN, DRAWN_PAUSED = 500, 4000  # points of a curve: those of a pause are for zooming in
HELD = ("(commanded)", "(applied)")  # how names end of what stays so until the next point
MEASURE = (Path(__file__).parent / "plots.html").read_text(encoding="utf-8")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet would execute
LOOK: dict[str, Any] = {  # on light and on dark ground
    "animation": False,
    "color": [
        *("#3b8eea", "#e67e22", "#2ca25f", "#d64f9a"),
        *("#8f6fe0", "#b8860b", "#17a2b8", "#e0524d"),
    ],
    "legend": {"type": "scroll", "top": 0},
    "tooltip": {
        "trigger": "axis",
        "confine": True,
        "backgroundColor": "var(--card)",
        "textStyle": {"color": "var(--ink)"},
        ":valueFormatter": "(value) => value === null ? '' : String(+value.toPrecision(6))",
    },
    "dataZoom": [
        {"type": each, "filterMode": "none", "showDataShadow": False}
        for each in ("inside", "slider")
    ],
}
LINE = {"lineStyle": {"color": "#8884"}}


class Plots:
    """Content of one page.

    names: of all series, with their shorter forms; none is ever removed. curves: those that are
    chosen, and `now`, their time; while it is paused, as they were then.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.curves: dict[str, Points] = {}
        self.now, self.found_ns = 0, -NS_PER_S
        self.is_paused = False
        self._newest: dict[str, tuple[GatewayView, int, Reading]] = {}

    def find(self, views: Iterable[GatewayView], now: int) -> bool:
        """List what there is now."""
        self.found_ns, titles = now, dict[str, GatewayView]()
        for view in views:
            title = view.title
            titles[f"{title} {view.pid}" if title in titles else title] = view
        series = {
            f"{title} · {each.name}".encode(errors="replace").decode(): (view, time, each)
            for title, view in titles.items()
            for time, each in islice(_newest_of(view), MOST_LISTED)
        }
        new = [name for name in series if name not in self.names][: MOST_LISTED - len(self.names)]
        begin = len("".join(titles)) + 3 if len(titles) == 1 else 0  # one gateway needs no name
        for name in new:
            whole = name[begin:]
            is_long, half = len(whole) > LONGEST, LONGEST // 2
            self.names[name] = f"{whole[:half]}…{whole[-half:]}" if is_long else whole
        self._newest = {name: each for name, each in series.items() if name in self.names}
        return bool(new)

    def preset(self, view: GatewayView, robot: str) -> list[str]:
        """Return the names of the series to start with.

        They are what the motors of a robot were given and what its sensors report; where there is
        none of these, its rates, or else those of the gateway.
        """
        known = {each.name: name for name, (of, _, each) in self._newest.items() if of is view}
        own = {name for name in known if name.startswith((f"{robot}:", f"{robot}."))}
        devices = [
            [
                each.name
                for event in view.newest[kind].values()
                for each in of_event(event, {})
                if each.name in own
                if kind == "value" or each.name.endswith(f" {mode_of(event)} (applied)")
            ]
            for kind in ("command", "value")
        ]
        some = [name for names in devices for name in names[: MOST_PRESET // 2]]
        rates = [name for name in known if name in own] or known
        preset = dict.fromkeys([*some, *chain(*devices)] or rates)
        return [known[name] for name in preset][:MOST_PRESET]

    def update(self, chosen: Iterable[str], now: int, *, paused: bool) -> None:
        """Show these.

        Call it again and again, also while it is paused: they continue.
        """
        curves = {}
        for name in islice((each for each in chosen if each in self._newest), MOST_CURVES):
            view, time, reading = self._newest[name]
            points = view.series.get(reading.name) or Points(reading.unit)
            if not points.added:
                collect({reading.name: points}, time, [reading])
            if len(view.series) < MOST_NEEDED:
                view.series[reading.name] = points
            points.needed_ns, points.wall_ns = now, view.wall_ns
            curves[name] = points
        if not (paused and self.is_paused):
            self.curves, self.now = deepcopy(curves) if paused else curves, now
        self.is_paused = paused

    def shown(self, window_s: int, most: int = POINTS) -> Iterator[tuple[str, Points, list[Any]]]:
        """Yield each curve with its points, about `most` of them, in the last seconds; 0: all."""
        begin = self.now - window_s * NS_PER_S if window_s else 0
        for name, points in self.curves.items():
            yield name, points, points.since(begin, most)

    def chart(self, window_s: int) -> dict[str, Any]:
        """Return the options of the chart.

        Each unit has an axis; further ones share the last.
        """
        units = list(dict.fromkeys(each.unit for each in self.curves.values())) or [""]
        axes = [*units[: MOST_AXES - 1], ", ".join(units[MOST_AXES - 1 :])][: len(units)]
        wall_ns = max((each.wall_ns for each in self.curves.values()), default=0)
        begin = (self.now + wall_ns - window_s * NS_PER_S) / NS_PER_MS if window_s else "dataMin"
        return {
            **LOOK,
            "grid": {"left": AXIS_PX, "right": AXIS_PX * (len(axes) - 1) + 20, "bottom": 80},
            "xAxis": {
                "type": "time",
                "min": begin,
                "max": (self.now + wall_ns) / NS_PER_MS,
                "axisLabel": {"hideOverlap": True},
                "axisLine": {"onZero": False},
            },
            "yAxis": [
                {"type": "value", "scale": True, "name": unit, "offset": AXIS_PX * max(at - 1, 0)}
                | {"position": "right" if at else "left", "splitLine": {"show": not at, **LINE}}
                for at, unit in enumerate(axes)
            ],
            "series": [
                {
                    "type": "line",
                    "name": self.names[name] + (f" ({points.unit})" if points.unit else ""),
                    "yAxisIndex": min(units.index(points.unit), MOST_AXES - 1),
                    "step": "end" if held else False,
                    "showSymbol": len(data) < DRAWN // 5,
                    "data": [
                        [(time + points.wall_ns) / NS_PER_MS, each if math.isfinite(each) else None]
                        for time, each in (data + [(self.now, data[-1][1])] * held if data else ())
                    ],
                }
                for name, points, data in self.shown(
                    window_s, DRAWN_PAUSED if self.is_paused else DRAWN
                )
                for held in [name.endswith(HELD)]
            ],
        }

    def newest(self, now: int) -> Markup:
        """Return a table of the newest values: how old they are, whether their gateway is there."""
        rows = []
        for name, points in self.curves.items():
            current = self._newest[name][0].state(now) if name in self._newest else "gone"
            kept = points.kept
            time, value = kept[-1] if kept else (now, math.nan)
            old = points.added - len(kept)
            rows.append(
                (
                    self.names[name],
                    f"{value:.6g} {points.unit}" if kept else "none yet",
                    age(now - time) if kept else "",
                    state(current, "good" if current == UP else "bad"),
                    f"the {old} oldest points are left out" if old else "",
                )
            )
        return table("Newest values", ("series", "value", "age", "gateway", "remark"), rows)


def _newest_of(view: GatewayView) -> Iterator[tuple[int, Reading]]:
    received = {each["source"]: each for each in view.packets.since(0)}
    values, commands = (view.newest[kind].values() for kind in ("value", "command"))
    yield from ((view.status_ns, each) for each in of_status(view.status, {}))
    for event in chain(received.values(), commands, values):
        for reading in of_event(event, view.newest["value"]):
            yield event["mono_ns"], reading


def to_csv(shown: Iterable[tuple[str, Points, list[Any]]]) -> bytes:
    """Return the points as CSV, as of RFC 4180; wall_s: seconds since 1970.

    A text that a spreadsheet would execute begins with an apostrophe.
    """
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(("wall_s", "series", "value", "unit"))
    for name, points, data in shown:
        series, unit = ("'" * each.startswith(FORMULA) + each for each in (name, points.unit))
        for time, value in data:
            rows.writerow((f"{(time + points.wall_ns) / NS_PER_S:.6f}", series, value, unit))
    return file.getvalue().encode(errors="replace")


class Choice:
    """The lists of a page: the preset; the series, those of the preset until others are chosen."""

    def __init__(self, plots: Plots, bench: Bench) -> None:
        from nicegui import ui

        self._plots, self._bench, self._preselected = plots, bench, list[str]()
        self._preset = ui.select({}, label="Preset").props("dense outlined")
        self._preset.on("update:model-value", self._follow)
        self.series = ui.select({}, label="Series", multiple=True, with_input=True)
        self.series.props("dense outlined use-chips clearable").classes("series")

    def find(self, now: int) -> None:
        """List what there is now."""
        gateways, preset = self._bench.gateways, self._preset
        if self._plots.find(gateways.values(), now):
            self.series.set_options(self._plots.names)
        robots = robots_of(gateways)
        having = {key for key, _ in robots}
        titles = titles_of(gateways)
        choices = robots | {(key, ""): titles[key] for key in gateways if key not in having}
        if choices != preset.options:
            is_known = preset.value in choices
            preset.set_options(
                choices, value=preset.value if is_known else next(iter(choices), None)
            )
        if self.series.value == self._preselected:
            self._follow()

    def _follow(self) -> None:
        key, robot = self._preset.value or ("", "")
        view = self._bench.gateways.get(key)
        self._preselected = [] if view is None else self._plots.preset(view, robot)
        self.series.set_value([*self._preselected])


def build(page: Page) -> None:
    """Build the elements of the page."""
    from nicegui import run, ui  # the options of the chart need no server

    from hilgw.web.page import SLOWER_S

    plots, bench = Plots(), page.bench
    drawn = [None, None]

    async def save() -> None:
        with bench.lock:
            update()  # the file has what is drawn
            shown = list(plots.shown(window.value))
        ui.download(await run.io_bound(to_csv, shown) or b"", "plots.csv", "text/csv")

    with ui.element("section").classes("gateway"):
        with ui.element("div").classes("tools"):
            choice = Choice(plots, bench)
            window = ui.select(WINDOWS, label="Time", value=10).props("dense outlined")
            pause = ui.checkbox("Pause")
            button("CSV", save)
        ui.html(f"Choose up to {MOST_CURVES} series. Zoom: wheel, or the bar below.").classes("dim")
        chart = ui.echart({}, renderer="svg").classes("plots")
        chart.props('role=img aria-label="The chosen series over time; the table has their values"')
        newest = scrolling("Newest values")

    def update() -> None:
        now = bench.now()
        if not 0 <= now - plots.found_ns < NS_PER_S:
            choice.find(now)
        plots.update(choice.series.value, now, paused=pause.value)
        state_now = [pause.value, window.value]
        if not pause.value or state_now != drawn:
            drawn[:] = state_now
            chart.options.update(plots.chart(window.value))
            chart.update()
            chart.set_visibility(bool(plots.curves))
        if not pause.value:
            newest.set_content(plots.newest(now))

    page.refresh(update, SLOWER_S)
