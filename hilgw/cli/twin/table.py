"""The tables of twins, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hilgw.cli.output.summary import divergence_table
from hilgw.cli.output.text import one_line, reason_counts, table
from hilgw.cli.twin.links import Link

ROWS = (
    ("delay p50", "delay_ms", "p50", "ms"),
    ("delay p99", "delay_ms", "p99", "ms"),
    ("RSSI p50", "rssi_dbm", "p50", "dBm"),
)


def link_lines(links: Sequence[tuple[Link, Mapping[str, Any]]]) -> Iterator[str]:
    """A table of each link, and the nodes with the fields that would fit."""
    for link, twin in links:
        measured, predicted = twin["measured"], twin["predicted"]
        size, apart = measured["bytes"], measured["distance_m"]
        yield one_line(f"{link.name}, {measured['packets']} packets of {_span(size)} B")
        yield f"  {'':<12}{'measured':>16}  {'by the Emitter':>16}"
        for label, key, mark, unit in ROWS:
            pair = [f"{each[key][mark]:.4g} {unit}" if each[key] else "-"
                    for each in (measured, predicted)]  # fmt: skip
            yield f"  {label:<12}{pair[0]:>16}  {pair[1]:>16}"
        lost = [f"{each['loss']:.1%}" if each["loss"] is not None else "-"
                for each in (measured, predicted)]  # fmt: skip
        yield f"  {'loss':<12}{lost[0]:>16}  {lost[1]:>16}"
        counts = {key: measured[key] for key in ("lost", "under_way", "confirmed", "left_out")}
        notes = [("packets", reason_counts({key: n for key, n in counts.items() if n}))]
        notes.append(("refused", one_line(reason_counts(measured["refused"]))))
        unknown = twin["unknown"]
        notes += [(key, unknown[key]) for key in ("predicted", "loss") if key in unknown]
        notes.append(("distance", f"{_span(apart)} m" if apart else ""))
        if link.out == link.into:
            notes.append(("round trip", "to a device outside and back; the Emitter's is one way"))
        yield from table([note for note in notes if note[1]], indent="  ", columns=80)
        yield ""
        yield twin["wbt"]


def shadow_lines(shadows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The figures of each robot, of the whole run, as in its summary; then those over time."""
    for robot, sensors in shadows.items():
        yield one_line(f"{robot}: the remote body beside the simulated one")
        yield from divergence_table(
            {one_line(name): each["total"] for name, each in sensors.items()}
        )
        yield ""
        windows = {f"{one_line(name)} {each['from_s']:.1f} s": each
                   for name, sensor in sensors.items() for each in sensor["windows"]}  # fmt: skip
        yield from divergence_table(windows)


def _span(spread: Mapping[str, float]) -> str:
    low, high = f"{spread['min']:.4g}", f"{spread['max']:.4g}"
    return low if low == high else f"{low} to {high}"
