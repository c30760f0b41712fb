"""A picture of a recording: values, commands, packets and losses over time (package matplotlib)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.errors import HilgwError, UsageError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hilgw.record.recording import Recording

MOST_ROWS = 24
MOST_CURVES = 24  # of one row, and as many marks; further ones are left out
FARTHEST = 1e100  # a larger number is none that can be drawn
LONGEST = 80  # characters of a name
MOST_POINTS = 200_000  # of one curve: then every second one remains
WIDTH_IN, ROW_IN = 10.0, 2.2
Event = dict[str, Any]


@dataclass(slots=True)
class Curve:
    """One line of a row. step: in units of time."""

    label: str
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    _every: int = 1
    _seen: int = 0

    def add(self, time_s: float, value: float) -> None:
        """A point; of a curve with very many, some of them."""
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
    """The picture of one name. unit: of its curves. marks: times by label, of what has no value."""

    name: str
    unit: str = ""
    curves: dict[str, Curve] = field(default_factory=dict)
    marks: dict[str, Curve] = field(default_factory=dict)

    def add(self, label: str, time_s: float, value: float | None) -> None:
        """A point of a curve; without a value, a mark."""
        those = self.marks if value is None else self.curves
        if label in those or len(those) < MOST_CURVES:
            those.setdefault(label, Curve(label)).add(time_s, value or 0.0)


def rows_of(events: Iterable[Event], names: Sequence[str]) -> dict[str, Row]:
    """What the picture shows of these devices (ROBOT.DEVICE), stations and other sources of
    packets; none: of all. UsageError for a name that has no events."""
    rows: dict[str, Row] = {}
    begin_ns: int | None = None
    seen: dict[str, None] = {}
    for event in events:
        begin_ns = event["time_ns"] if begin_ns is None else begin_ns
        time_s = (event["time_ns"] - begin_ns) / 1e9
        for name, label, value, unit in _points(event):
            seen[name] = None
            if names and name not in names:
                continue
            rows.setdefault(name, Row(name, unit)).add(label, time_s, value)
    for name in names:
        if name not in seen:
            raise UsageError(f"no events of {name!r:.60}", fix=suggest(name, seen))
    return {name: rows[name] for name in names} if names else rows


def _points(event: Event) -> Iterator[tuple[str, str, float | None, str]]:
    """Name, label, value and unit of what an event adds; without a value, a mark."""
    match event:
        case {"event": "value", "robot": str(robot), "device": str(device), "value": value}:
            values = value if isinstance(value, list) else [value]
            units = event.get("units") or [""]
            for at, each in enumerate(values, 1):
                label = "value" if len(values) == 1 else f"value {at}"
                yield f"{robot}.{device}", label, number(each), str(units[0])
        case {"event": "command", "robot": str(robot), "device": str(device), "given": dict(given)}:
            for kind in ("given", "applied"):
                settings = given if kind == "given" else event.get("applied") or {}
                for key, each in settings.items():
                    yield f"{robot}.{device}", f"{key} {kind}", number(each), ""
            if event.get("outcome") == "refused":
                yield f"{robot}.{device}", f"refused: {event.get('reason')}", None, ""
        case {"event": "packet", "source": str(source)}:
            lost = event.get("not_received")
            yield source, f"lost: {lost}" if lost else "packet", None, ""
            for listener in event.get("received_by", ()):
                yield str(listener), f"from {source}", None, ""
        case {"event": "refused", "name": str(name)}:
            yield name, f"lost: {event.get('reason')}", None, ""


def number(value: Any) -> float:
    """One that can be drawn, of a recording; else NaN."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if abs(found) < FARTHEST else math.nan


def shown(text: str) -> str:
    """A text of a recording as a picture can have it."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST])


def plot(recording: Recording, names: Sequence[str], path: Path) -> list[str]:
    """Writes a picture of these names (none: of all) in the form that the suffix of `path` names.
    Returns the names in it. UsageError for an unknown name, a form that matplotlib does not write,
    or without matplotlib."""
    rows = rows_of(recording.events(), names)
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
    """A figure and the array of its axes. UsageError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("a plot needs matplotlib", fix="pip install 'hilgw[plot]'") from error
    figure = Figure(figsize=(WIDTH_IN, ROW_IN * rows + 0.6), layout="constrained")
    return figure, figure.subplots(rows, columns, sharex=sharex, squeeze=False)


def save(figure: Figure, path: Path) -> None:
    """In the form that the suffix names. UsageError for one that matplotlib does not write."""
    try:
        figure.savefig(path)
    except ValueError as error:
        raise UsageError(f"{path.suffix or 'no suffix'}: {error}") from error


def _draw(axes: Axes, row: Row) -> None:
    # A name may have characters that matplotlib would read as a formula.
    axes.set_title(shown(row.name), loc="left", fontsize="medium", parse_math=False)
    for curve in row.curves.values():
        style = "--" if curve.label.endswith("given") else "-"
        axes.step(curve.times, curve.values, style, where="post", label=shown(curve.label), lw=1.2)
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
        axes.set_ylabel(shown(row.unit), parse_math=False)
    else:
        axes.set_yticks([])
        axes.margins(y=0.5)
    axes.grid(alpha=0.3)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    for text in legend.get_texts():
        text.set_parse_math(False)
