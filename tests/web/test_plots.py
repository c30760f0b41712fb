"""What the page Plots shows: the series of events and status, their points, chart and CSV."""

import csv
import io
import json
import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import SERIES_NS, GatewayView
from hilgw.view.series import POINTS, Points, of_event, of_status
from hilgw.web.model import Bench
from hilgw.web.pages.plots import DRAWN, MOST_CURVES, MOST_LISTED, MOST_NEEDED, Plots, to_csv
from tests.record.samples import COMMAND, PACKET, VALUE

EVIL = "=<img src=x onerror=alert(1)>\"',\n"


def value(time_ns: int, number: Any, robot: str = "rover", device: str = "gps", **more: Any) -> Any:
    known = {"robot": robot, "device": device, "value": number, "fields": [], "units": []}
    return VALUE | {"mono_ns": time_ns, "wall_s": time_ns / 1e9 + 1000, **known, **more}


def command(time_ns: int, commanded: Any, body: str = "", **applied: Any) -> Any:
    more = {"body": body, "given": {"velocity": commanded}, "applied": applied}
    return COMMAND | more | {"mono_ns": time_ns, "wall_s": time_ns / 1e9 + 1000}


def packet(time_ns: int, source: str, rssi: float | None) -> Any:
    more = {"source": source, "rssi_dbm": rssi, "received_by": [], "data": "00"}
    return PACKET | more | {"mono_ns": time_ns, "wall_s": time_ns / 1e9}


PORT = {f"{way}_{what}_per_s": 2.0 for way in ("received", "sent") for what in ("bytes", "packets")}


def status(time_ns: int, simulated_s: float = 0.0, slow: int = 0, fast: int = 0) -> Any:
    measured = {"count": fast + slow, "buckets": [fast, fast]}
    return {
        "mono_ns": time_ns,
        "clocks_s": {"gateway": 5.0 + time_ns / 1e9, "rover.body": simulated_s},
        "ports": {"xbee0": PORT},
        "queues": {"xbee0": 3, "rover.tx": 1},
        "latency_bounds_s": [0.001, 0.002],
        "latency": {"line": {"xbee0": measured}},
    }


def seen(*events: Any, bench: Bench | None = None, config: str = "/lab/arm.yaml") -> GatewayView:
    view = (bench or Bench(lambda: 0)).opened(f"/run/{config}.sock", config, 11)
    for event in events:
        view.take(event, event["mono_ns"])
    return view


def shown(plots: Plots, window_s: int = 0) -> dict[str, list[Any]]:
    """Name -> points of the chart, without the times."""
    return {
        each["name"]: [number for _, number in each["data"]]
        for each in plots.chart(window_s)["series"]
    }


@pytest.mark.parametrize(
    ("event", "readings"),
    [
        (value(0, 5), [("rover: gps", 5.0, "")]),
        (value(0, 5, fields=["value"], units=["m"]), [("rover: gps", 5.0, "m")]),
        (
            value(0, [1, "-inf", 3], fields=["x", "y"], units=["m", "m"]),
            [
                ("rover: gps.x", 1.0, "m"),
                ("rover: gps.y", -math.inf, "m"),
                ("rover: gps[2]", 3.0, ""),
            ],
        ),
        (
            value(0, [4, 5], "rover.remote", fields=["x", "y"], units=["m", "m"]),
            [
                ("rover.remote: gps.x", 4.0, "m"),
                ("rover.remote: gps.y", 5.0, "m"),
                ("rover: gps.x (shadow difference)", 3.0, "m"),
                ("rover: gps.y (shadow difference)", 3.0, "m"),
            ],
        ),
        (
            command(0, 3, "remote", velocity="inf", position=1),
            [
                ("rover.remote: left velocity (commanded)", 3.0, "rad/s"),
                ("rover.remote: left velocity (applied)", math.inf, "rad/s"),
                ("rover.remote: left position (applied)", 1.0, ""),
            ],
        ),
        (packet(0, "xbee0", -40.0), [("xbee0: RSSI", -40.0, "dBm")]),
        ({"event": "notice", "source": "x", "text": "y"}, []),
    ],
)
def test_the_series_of_events(event: Any, readings: list[Any]) -> None:
    first = {"rover.body.gps": value(0, [1, 2], "rover.body", fields=["x", "y"], units=["m", "m"])}
    series = [tuple(each) for each in of_event(event, first)]
    assert series == readings


def test_all_series_of_all_gateways_are_found_with_short_names_and_within_a_bound() -> None:
    bench, plots = Bench(lambda: 0), Plots()
    both = command(1, 2, "body", velocity=1), command(2, 3, "remote")
    view = seen(value(1, 5), *both, packet(2, "xbee0", -40), bench=bench)
    view.set_status(status(3), 3)
    assert plots.find([view], 4)
    assert not plots.find([view], 5)
    assert plots.names["arm · rover: gps"] == "rover: gps"
    for name in ("rover.body: left velocity (applied)", "rover.remote: left velocity (commanded)"):
        assert f"arm · {name}" in plots.names
    assert {"arm · xbee0: RSSI", "arm · xbee0: queue"} <= plots.names.keys()
    other = seen(value(1, 5, EVIL * 99), value(1, 5, "\ud800"), config="/lab/leg.yaml")
    same = seen(value(1, 5), config="/other/arm.yaml")
    assert plots.find([view, other, same], 6)
    assert "arm 11 · rover: gps" in plots.names
    assert max(map(len, plots.names.values())) < 100
    assert "".join(plots.names).encode()  # as the browser gets it
    for number in range(MOST_LISTED):
        other.take(value(1, [0] * 9, device=f"d{number}"), 1)
    assert plots.find([view, other, same], 7)
    assert len(plots.names) == MOST_LISTED
    assert "arm · rover: gps" in plots.names


def preset(view: GatewayView, robot: str) -> list[str]:
    plots = Plots()
    plots.find([view], 9)
    return [each.removeprefix("arm · ") for each in plots.preset(view, robot)]


def test_a_preset_has_the_motors_and_sensors_of_its_robot_both_where_there_are_many() -> None:
    motors = (command(1, 2, velocity=2, acceleration=-1) | {"device": f"m{n}"} for n in range(9))
    sensors = (value(1, n, device=f"d{n}") for n in range(9))
    other = value(1, 5, "rover2"), packet(2, "rover.tx", -40)
    view = seen(*motors, *sensors, *other)
    view.set_status(status(3), 3)
    begin = [f"rover: m{n} velocity (applied)" for n in range(4)]
    assert preset(view, "rover") == begin + [f"rover: d{n}" for n in range(4)]
    assert preset(view, "rover2") == ["rover2: gps"]
    arm = command(1, 2, "remote", position=1, velocity=3), value(1, 4, "rover.remote")
    names = ["rover.remote: left position (applied)", "rover.remote: gps"]
    assert preset(seen(*arm), "rover") == names


def test_a_preset_is_never_empty() -> None:
    view = seen()
    view.set_status(status(3, 1.0), 3)
    assert preset(view, "rover") == ["rover.tx: queue", "rover.body: real-time factor"]
    rates = ["xbee0: packets/s in", "xbee0: packets/s out"]
    assert preset(view, "")[:2] == preset(view, "silent")[:2] == rates
    assert preset(seen(packet(2, "xbee0", -40)), "") == ["xbee0: RSSI"]


def test_only_what_a_page_shows_is_kept_and_from_its_newest_value_on() -> None:
    view, one, two = seen(value(1, 5), value(2, 6, device="ds")), Plots(), Plots()
    assert not view.series
    for plots, name in ((one, "arm · rover: gps"), (two, "arm · rover: ds")):
        plots.find([view], 3)
        plots.update([name, "arm · gone"], 3, paused=False)
    for number in range(3):
        view.take(value(4 + number, number), 4)
    one.update(["arm · rover: gps"], 9, paused=False)
    two.update(["arm · rover: ds"], 9, paused=False)
    assert shown(one) == {"rover: gps": [5, 0, 1, 2]}
    assert shown(two) == {"rover: ds": [6]}
    view.set_status({}, 9 + SERIES_NS)
    assert len(view.series) == 2
    one.update(["arm · rover: gps"], 10 + SERIES_NS, paused=False)
    view.set_status({}, 10 + SERIES_NS)
    assert list(view.series) == ["rover: gps"]


def test_memory_is_bounded_and_the_table_names_what_is_left_out() -> None:
    values = (value(1, 0, device=f"d{each}") for each in range(MOST_NEEDED + 9))
    view, plots = seen(*values), Plots()
    plots.find([view], 1)
    for begin in range(0, MOST_NEEDED + 9, MOST_CURVES):
        plots.update(list(plots.names)[begin:], 1, paused=False)
        assert len(plots.curves) <= MOST_CURVES
    assert len(view.series) == MOST_NEEDED
    plots.update(list(plots.names), 1, paused=False)
    for number in range(POINTS + 7):
        view.take(value(number, number, device="d0"), number)
    assert len(view.series["rover: d0"].kept) == POINTS
    html = plots.newest(POINTS)
    assert "the 8 oldest points are left out" in html
    assert max(map(len, shown(plots).values())) <= DRAWN


def test_a_pause_keeps_the_view_with_more_points_to_zoom_in_and_the_series_go_on() -> None:
    values, name = [value(at, at) for at in range(2 * DRAWN)], "arm · rover: gps"
    view, plots = seen(values[0]), Plots()
    plots.find([view], 1)
    plots.update([name], 1, paused=False)
    for reading in values[1:]:
        view.take(reading, 0)
    assert len(shown(plots)["rover: gps"]) <= DRAWN
    plots.update([name], 2 * DRAWN, paused=True)
    for number in range(2):
        view.take(value(3 * DRAWN + number, 7), 0)
        plots.update([name], 4 * DRAWN, paused=True)
        assert shown(plots)["rover: gps"] == [*range(2 * DRAWN)]
    plots.update([name], 4 * DRAWN, paused=False)
    assert shown(plots)["rover: gps"][-1] == 7


def test_csv_has_the_points_of_the_window_and_the_one_before_it() -> None:
    """That one is what the chart shows at its left edge."""
    view, plots, name = seen(value(0, 1)), Plots(), "arm · rover: gps"
    plots.find([view], 1)
    plots.update([name], 1, paused=False)
    for second in (1, 20):
        view.take(value(second * NS_PER_S, second + 1), 1)
    plots.update([name], 20 * NS_PER_S, paused=False)
    rows = [f"{1000 + second}.000000,{name},{second + 1}.0," for second in (0, 1, 20)]
    for window_s, expected in ((10, rows[1:]), (0, rows)):
        assert to_csv(plots.shown(window_s)).decode().split("\r\n")[1:] == [*expected, ""]


def test_a_source_that_is_gone_is_named_and_texts_of_others_are_text() -> None:
    view, plots = seen(value(0, "nan", EVIL, units=[EVIL])), Plots()
    plots.find([view], 1)
    plots.update(plots.names, 1, paused=False)
    view.end("gone", "the gateway has ended")
    html = plots.newest(5 * NS_PER_S)
    assert "<img" not in html
    assert all(text in html for text in ("gone", "5.0 s", "nan"))
    plots.find([], 2)
    assert "gone" in plots.newest(2)


def test_the_chart_has_an_axis_for_each_unit_steps_for_commands_and_gaps() -> None:
    units = "m", "V", "A", "K"
    events = (value(0, "inf", device=f"d{each}", units=[each]) for each in units)
    view, plots = seen(*events, command(0, 3)), Plots()
    plots.find([view], 1)
    names = [f"arm · rover: d{each}" for each in units]
    plots.update([*names, "arm · rover: left velocity (commanded)"], NS_PER_S, paused=False)
    chart = plots.chart(10)
    assert [each["name"] for each in chart["yAxis"]] == ["m", "V", "A, K, rad/s"]
    assert [each["yAxisIndex"] for each in chart["series"]] == [0, 1, 2, 2, 2]
    assert chart["series"][0]["data"] == [[1e6, None]]
    assert chart["series"][4]["data"] == [[1e6, 3.0], [1e6 + 1000, 3.0]]  # it is so until now
    assert chart["xAxis"]["max"] - chart["xAxis"]["min"] == 10 * NS_PER_S / NS_PER_MS
    assert json.dumps(chart, allow_nan=False)
    plots.update([], 1, paused=False)
    assert plots.chart(0)["series"] == []


NUMBERS = st.lists(st.tuples(st.integers(0, 10**12), st.floats()))


@given(st.lists(st.tuples(st.text(), st.text(), NUMBERS), max_size=3))
def test_csv_is_read_back_and_nothing_in_it_is_a_formula(curves: list[Any]) -> None:
    given_ = [(name, Points(unit), data) for name, unit, data in curves]
    head, *rows = csv.reader(io.StringIO(to_csv(given_).decode(), newline=""))
    assert head == ["wall_s", "series", "value", "unit"]
    expected = [(name, unit, *each) for name, unit, data in curves for each in data]
    assert len(rows) == len(expected)
    for (wall_s, *row), (name, unit, time, number) in zip(rows, expected, strict=True):
        assert float(wall_s) == pytest.approx(time / 1e9, abs=1e-6)
        assert str(float(row[1])) == str(number)
        for text, before in ((row[0], name), (row[2], unit)):
            assert not text.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert text.removeprefix("'") == before.removeprefix("'")


def test_the_series_of_a_status_and_those_of_the_time_between_two() -> None:
    before, now = status(0, 1.0, fast=7), status(2 * NS_PER_S, 2.0, fast=106, slow=1)
    first = {each.name: each.value for each in of_status(before, {})}
    series = {each.name: (each.value, each.unit) for each in of_status(now, before)}
    assert series == {
        "xbee0: packets/s in": (2.0, "1/s"),
        "xbee0: packets/s out": (2.0, "1/s"),
        "xbee0: bytes/s in": (2.0, "B/s"),
        "xbee0: bytes/s out": (2.0, "B/s"),
        "xbee0: queue": (3, "packets"),
        "rover.tx: queue": (1, "packets"),
        "gateway: real-time factor": (1.0, "x"),
        "rover.body: real-time factor": (0.5, "x"),
        "latency line xbee0 p50": (1.0, "ms"),
        "latency line xbee0 p99": (1.0, "ms"),
    }
    assert first.keys() == series.keys()
    assert first["gateway: real-time factor"] is first["latency line xbee0 p50"] is None
    assert not list(of_status({}, {}))  # of an older gateway
