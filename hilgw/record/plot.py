"""A picture of a recording: values, commands, packets and losses over time (package matplotlib)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.errors import HilgwError, UsageError
from hilgw.events.kinds import DRAWN, demand_known, is_chosen, is_lost, name_of, numbers
from hilgw.events.numbers import APPLIED, REFUSED, Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hilgw.record.recording import Recording

MOST_ROWS = 24
MOST_CURVES = 24  # of one row, and as many marks; further ones are left out
FARTHEST = 1e100  # larger numbers cannot be drawn
LONGEST = 80  # characters of a name
MOST_POINTS = 200_000  # of one curve: then every second one remains
WIDTH_IN, ROW_IN = 10.0, 2.2
Event = dict[str, Any]


@dataclass(slots=True)
class Curve:
    """A line of a row."""

    label: str
    unit: str = ""
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    _every: int = 1
    _seen: int = 0

    def add(self, time_s: float, value: float) -> None:
        """Add a point; a curve with very many keeps some of them."""
        self._seen += 1
        if self._seen % self._every:
            return
        self.times.append(time_s)
        self.values.append(value)
        if len(self.times) > MOST_POINTS:
            del self.times[::2], self.values[::2]
            self._every *= 2


@dataclass(slots=True)
class Row:
    """The picture of one name. marks: times of events without a value, by label."""

    name: str
    curves: dict[str, Curve] = field(default_factory=dict)
    marks: dict[str, Curve] = field(default_factory=dict)

    def add(self, label: str, time_s: float, value: float | None, unit: str = "") -> None:
        """Add a point of a curve; without a value, a mark."""
        those = self.marks if value is None else self.curves
        if label in those or len(those) < MOST_CURVES:
            those.setdefault(label, Curve(label, unit)).add(time_s, value or 0.0)


def rows_of(events: Iterable[Event], names: Sequence[str], begin_ns: int = 0) -> dict[str, Row]:
    """Return the rows of these robots, devices, stations and other sources, in their order.

    Without names there are those of all. begin_ns: of the recording.
    """
    rows: dict[str, Row] = {}
    order: dict[str, int] = {}
    for event in events:
        if event.get("since_ns") is not None:  # not a new event
            continue
        time_s = (event["time_ns"] - begin_ns) / 1e9
        for name, label, value, unit in _points(event):
            device = f"{event['robot']}.{event['device']}" if "device" in event else name
            chosen = [one for one in names if is_chosen(name, [one]) or one == device]
            if chosen or not names:
                order.setdefault(name, names.index(chosen[0]) if chosen else 0)
                rows.setdefault(name, Row(name)).add(label, time_s, value, unit)
    return {name: rows[name] for name in sorted(rows, key=order.__getitem__)}


def _points(event: Event) -> Iterator[tuple[str, str, float | None, str]]:
    name, kind = name_of(event), event["event"]
    for one in numbers(event) if kind in DRAWN else ():
        yield name, one.name, drawable(one.value), one.unit
    if is_lost(event):
        word = "refused" if kind == "command" else "lost"
        yield name, f"{word}: {event.get('not_received') or event['reason']}", None, ""
    elif kind == "packet":
        yield name, "packet", None, ""
    for listener in event.get("received_by", ()):
        yield listener, f"from {name}", None, ""


def drawable(value: float) -> float:
    """Return a number of a recording that can be drawn; else NaN."""
    return value if abs(value) < FARTHEST else math.nan


def parts_of(recording: Recording) -> list[str]:
    """Return the robots, their radios and the stations that the head of a recording names."""
    layout = recording.head.get("topology", {})
    robots, stations = (layout.get(key, {}) for key in ("robots", "stations"))
    devices = (f"{name}.{device}" for name, each in robots.items() for device in each)
    return [*robots, *stations, *devices]


def shown(text: str) -> str:
    """Return a text of a recording with printable characters only."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST])


def plot(recording: Recording, names: Sequence[str], path: Path) -> list[str]:
    """Write a picture of these names (none: of all); return the names in it.

    The suffix of `path` is the form.

    Raises:
        HilgwError: a name is unknown.
        UsageError: matplotlib does not write this form, or is missing.
    """
    demand_known(names, parts_of(recording), recording.events())
    rows = rows_of(recording.events(), names, recording.head["time_ns"])
    if not rows:
        nothing = HilgwError("no values, commands or packets", where=str(recording.path))
        raise recording.error or nothing
    if len(rows) > MOST_ROWS:
        fix = f"choose some: {', '.join(list(rows)[:8])} ..."
        raise UsageError(f"a picture of {len(rows)} names is too large", fix=fix)
    figure, grid = figure_of(len(rows), 1, sharex=True)
    all_axes = grid[:, 0]
    for axes, row in zip(all_axes, rows.values(), strict=True):
        _draw(axes, row)
    all_axes[-1].set_xlabel("time (s)")
    save(figure, path)
    return list(rows)


def figure_of(rows: int, columns: int, *, sharex: bool = False) -> tuple[Figure, Any]:
    """Return a figure and the array of its axes.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("a plot needs matplotlib", fix="pip install 'hilgw[plot]'") from error
    figure = Figure(figsize=(WIDTH_IN, ROW_IN * rows + 0.6), layout="constrained")
    return figure, figure.subplots(rows, columns, sharex=sharex, squeeze=False)


def save(figure: Figure, path: Path) -> None:
    """Save in the form of the suffix.

    Raises:
        UsageError: Matplotlib does not write it.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph ")  # one that the font lacks is a box
            figure.savefig(path)
    except ValueError as error:
        raise UsageError(f"{path.suffix or 'no suffix'}: {error}") from error


def _draw(axes: Axes, row: Row) -> None:
    # A name may have characters that matplotlib would read as a formula.
    axes.set_title(shown(row.name), loc="left", fontsize="medium", parse_math=False)
    for curve in row.curves.values():
        setting = curve.label.removesuffix(f" {REFUSED}")
        style = "--" if f"{setting} {APPLIED}" in row.curves else "-"
        label = shown(Number(curve.label, 0.0, curve.unit).title)
        axes.step(curve.times, curve.values, style, where="post", label=label, lw=1.2)
    for level, curve in enumerate(row.marks.values()):
        is_lost = curve.label.startswith(("lost", "refused"))
        if row.curves:
            for time_s in curve.times[:1000]:
                axes.axvline(time_s, color="tab:red", lw=0.6, alpha=0.6)
            axes.plot([], [], color="tab:red", label=shown(curve.label))
        else:
            color, marker = ("tab:red", "x") if is_lost else (f"C{level % 10}", "|")
            heights = [-level] * len(curve.times)
            axes.plot(curve.times, heights, marker, color=color, label=shown(curve.label))
    if row.curves:
        units = dict.fromkeys(curve.unit for curve in row.curves.values())
        axes.set_ylabel(shown(", ".join(filter(None, units))), parse_math=False)
    else:
        axes.set_yticks([])
        axes.margins(y=0.5)
    axes.grid(alpha=0.3)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    for text in legend.get_texts():
        text.set_parse_math(False)
