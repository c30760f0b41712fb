"""The picture of twins: delay, loss and RSSI of each link, or offset, delay and gain of each sensor
of a shadow (package matplotlib)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hilgw.cli.output.text import one_line
from hilgw.cli.twin.links import Link
from hilgw.errors import HilgwError, UsageError

MOST_ROWS = 12
COLUMNS = {"offset": "offset", "delay_ms": "delay (ms)", "gain": "gain"}
PREDICTED = {"color": "C1", "ls": "--", "lw": 1.5}


def draw(
    path: Path, links: Sequence[tuple[Link, Any]], shadows: Mapping[str, Any], begin_ns: int
) -> None:
    """UsageError without matplotlib and for too many rows; HilgwError where it is not written."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("a picture needs matplotlib", fix="pip install 'hilgw[plot]'") from error
    sensors = [(f"{robot}.{name}", each) for robot, found in shadows.items()
               for name, each in found.items()]  # fmt: skip
    count = len(links) + len(sensors)
    if count > MOST_ROWS:
        raise UsageError(f"a picture of {count} rows is too large", fix="name some of them")
    figure = Figure(figsize=(11, 2.9 * count + 0.4), layout="constrained")
    grid = figure.subplots(count, 3, squeeze=False)
    for axes, (link, twin) in zip(grid, links, strict=False):
        _draw_link(axes, link, twin, begin_ns)
    for axes, (name, sensor) in zip(grid[len(links) :], sensors, strict=True):
        for place, (key, label) in zip(axes, COLUMNS.items(), strict=True):
            times = [each["from_s"] for each in sensor["windows"]]
            place.plot(times, [_or_nan(each[key]) for each in sensor["windows"]], "o-", ms=4)
            place.axhline(_or_nan(sensor["total"][key]), label="whole run", **PREDICTED)
            place.set(ylabel=label, xlabel="time (s)", xlim=(0, 1.05 * max(times, default=0.0) + 1))
        _title(axes, name)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise HilgwError(f"cannot be written: {error}", where=str(path)) from error


def _draw_link(axes: Any, link: Link, twin: Mapping[str, Any], begin_ns: int) -> None:
    """Delay over the size, loss and RSSI over the distance; over time where these do not vary."""
    rows, fit = link.rows, twin["fit"]
    times = ("time (s)", [(row.time_ns - begin_ns) / 1e9 for row in rows])
    apart = ("distance (m)", [_or_nan(row.distance_m) for row in rows])
    size_axis = ("bytes", [row.size for row in rows]) if len({r.size for r in rows}) > 2 else times
    place_axis = apart if len(set(apart[1])) > 2 and math.isfinite(sum(apart[1])) else times
    lost = [math.nan if row.lost is None else 100.0 * row.lost for row in rows]
    at_1m, loss = twin["rssi_at_1m_dbm"], _or_nan(twin["predicted"]["loss"])
    signals = [at_1m - 20 * math.log10(d) if d > 0 else math.nan for d in apart[1]]
    panels = (
        ("delay (ms)", size_axis, [_or_nan(row.delay_ms) for row in rows], twin["delays_ms"]),
        ("loss (%)", place_axis, _smooth(place_axis[1], lost), [100 * loss] * len(rows)),
        ("RSSI (dBm)", place_axis, [_or_nan(row.rssi_dbm) for row in rows], signals),
    )
    for place, (label, (along, where), measured, predicted) in zip(axes, panels, strict=True):
        place.plot(where, measured, "o", ms=3, label="measured")
        pairs = sorted(zip(where, map(_or_nan, predicted), strict=True))
        place.plot(*zip(*pairs, strict=True), label="Emitter's fields", **PREDICTED)
        place.set(ylabel=label, xlabel=along)
    if "range" in fit:
        axes[1].axvline(fit["range"], color="C2", ls=":", label=f"range {fit['range']:.4g} m")
        axes[1].legend(fontsize="small")
    _title(axes, link.name)
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(-4, 104)
    low, high = axes[2].get_ylim()
    axes[2].set_ylim(min(low, high - 6), high)


def _smooth(where: Sequence[float], values: Sequence[float]) -> list[float]:
    """The mean of each value and its neighbours along the axis, about a tenth of all."""
    order = sorted(range(len(where)), key=where.__getitem__)
    side, means = max(2, len(order) // 20), [math.nan] * len(order)
    for at, place in enumerate(order):
        near = [values[each] for each in order[max(0, at - side) : at + side + 1]]
        known = [each for each in near if not math.isnan(each)]
        means[place] = sum(known) / len(known) if known else math.nan
    return means


def _title(axes: Any, name: str) -> None:
    axes[0].set_title(one_line(name)[:80], loc="left", fontsize="medium", parse_math=False)
    for place in axes:
        place.grid(alpha=0.3)
        drawn = [y for line in place.lines for y in line.get_ydata() if math.isfinite(y)]
        if not drawn:
            place.text(0.5, 0.5, "not known", transform=place.transAxes, ha="center")
        place.margins(y=0.3)
        place.ticklabel_format(axis="y", useOffset=False)
    axes[0].legend(fontsize="small")


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
