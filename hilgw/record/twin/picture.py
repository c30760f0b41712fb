"""Twins over time and their picture: values of both bodies, links, shadows.

The total is that of the run's report: the same comparison of the same values. Each window is
compared by itself, so that a change shows.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hilgw.control.divergence import Comparison, as_dict
from hilgw.devices.kinds import Quantity
from hilgw.events.kinds import numbers
from hilgw.record.plot import drawable, figure_of, save, shown
from hilgw.record.twin.links import TwinLink

BODIES = ("body", "remote")


class Shadow:
    """The shadow of one robot. begin_ns: of the recording."""

    def __init__(self, window_s: float, begin_ns: int) -> None:
        self._window_ns, self._begin_ns = int(window_s * 1e9), begin_ns
        self.forget()

    def forget(self) -> None:
        """Start anew: the robot gets another shadow."""
        self._total, self._window = Comparison(), Comparison()
        self._from_ns: int | None = None
        self._found: dict[str, list[Any]] = defaultdict(list)

    def add(self, event: Mapping[str, Any], body: str) -> None:
        """Take a value of one of the bodies."""
        now, values = event["time_ns"], [drawable(one.value) for one in numbers(event)]
        if self._from_ns is None or now >= self._from_ns + self._window_ns:
            self._end_window()
            self._from_ns, self._window = now, Comparison()
        value = tuple(values) if isinstance(event["value"], list) else values[0]
        for comparison in (self._total, self._window):
            compare = comparison.first if body == "body" else comparison.second
            compare(event["device"], value, [Quantity(name) for name in event["fields"]], now)

    def _end_window(self) -> None:
        """End the window; only its figures are kept: a recording may be long."""
        for name, figures in _figures(self._window):
            from_s = ((self._from_ns or 0) - self._begin_ns) / 1e9
            self._found[name].append({"from_s": from_s, **figures})

    def sensors(self) -> dict[str, Any]:
        """Return `total`, and `windows` over time, of each compared sensor, as JSON."""
        self._end_window()
        self._window = Comparison()
        return {
            name: {"total": total, "windows": self._found[name]}
            for name, total in _figures(self._total)
        }


def _figures(comparison: Comparison) -> list[tuple[str, dict[str, Any]]]:
    comparison.estimate_delays()
    divergences = comparison.divergences()
    return [(name, as_dict(each)) for name, each in divergences.items() if each.pairs]


MOST_ROWS = 24  # further ones are left out
GROUPS = 20
COLUMNS = {"offset": "offset", "delay_ms": "delay (ms)", "gain": "gain"}
Panel = tuple[str, str, Sequence[Any], Sequence[Any], Sequence[Any]]
"""Labels of both axes, abscissas, measured and compared values; None: not known."""


def draw(
    path: Path, links: Sequence[tuple[TwinLink, Any]], shadows: Mapping[str, Any], begin_ns: int
) -> None:
    """Draw the picture.

    Raises:
      UsageError: matplotlib is missing.
      HilgwError: the file cannot be written.
    """
    rows = [(link.name, "by the Emitter", _of_link(link, twin, begin_ns)) for link, twin in links]
    rows += [(f"{robot}.{name}", "whole run", _of_sensor(each)) for robot, sensors in
             shadows.items() for name, each in sensors.items()]  # fmt: skip
    figure, grid = figure_of(len(rows[:MOST_ROWS]), 3)
    for all_axes, (name, beside, panels) in zip(grid, rows, strict=False):
        all_axes[0].set_title(shown(name), loc="left", fontsize="medium", parse_math=False)
        for axes, panel in zip(all_axes, panels, strict=True):
            _draw(axes, panel, beside)
        all_axes[0].legend(fontsize="small", framealpha=0.5)
    save(figure, path)


def _of_link(link: TwinLink, twin: Mapping[str, Any], begin_ns: int) -> Iterator[Panel]:
    rows, loss = link.rows, twin["predicted"]["loss"]
    time = ("time (s)", [(row.time_ns - begin_ns) / 1e9 for row in rows])
    sizes, apart = [row.size for row in rows], [row.distance_m for row in rows]
    size = ("bytes", sizes) if len(set(sizes)) > 2 else time
    place = ("distance (m)", apart) if len({*apart}) > 2 and None not in apart else time
    yield size[0], "delay (ms)", size[1], [row.delay_ms for row in rows], twin["each_ms"]
    known = sorted((at, row.lost) for at, row in zip(place[1], rows, strict=True)
                   if row.lost is not None)  # fmt: skip
    per_group = -(-len(known) // GROUPS)
    groups = [known[at : at + per_group] for at in range(0, len(known), per_group)]
    means = [[sum(column) / len(group) for column in zip(*group, strict=True)] for group in groups]
    shares = [100 * lost for _, lost in means]
    beside = [None if loss is None else 100 * loss] * len(means)
    yield place[0], "loss (%)", [at for at, _ in means], shares, beside
    yield place[0], "RSSI (dBm)", place[1], [row.rssi_dbm for row in rows], twin["each_dbm"]


def _of_sensor(sensor: Mapping[str, Any]) -> Iterator[Panel]:
    windows = sensor["windows"]
    times = [each["from_s"] for each in windows]
    for key, label in COLUMNS.items():
        beside = [sensor["total"][key]] * len(windows)
        yield "time (s)", label, times, [each[key] for each in windows], beside


def _draw(axes: Any, panel: Panel, beside: str) -> None:
    along, up, where, *both = panel
    measured, other = [[math.nan if y is None else y for y in values] for values in both]
    axes.plot(where, measured, "o", ms=3, label="measured")
    pairs = sorted(zip(where, other, strict=True))
    axes.plot(*zip(*pairs, strict=True), label=beside, ls="--", lw=1.5)
    axes.set(xlabel=along, ylabel=up, xlim=(0, 1.05 * max(where, default=0) or 1))
    axes.grid(alpha=0.3)
    axes.margins(y=0.3)
    axes.ticklabel_format(axis="y", useOffset=False)
    if "%" in up:
        axes.set_ylim(-4, 104)
    if not any(map(math.isfinite, [*measured, *other])):
        axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center")
