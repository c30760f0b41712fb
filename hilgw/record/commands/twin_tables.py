"""The tables of twins, for a terminal of 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hilgw.cli.output.summary import divergence_table
from hilgw.cli.output.text import cut, one_line, table
from hilgw.events.words import reason_counts
from hilgw.record.twin.links import TwinLink

COLUMNS, LONGEST = 80, 30
ROWS = (
    ("delay p50", "delay_ms", "p50", "ms"),
    ("delay p99", "delay_ms", "p99", "ms"),
    ("RSSI p50", "rssi_dbm", "p50", "dBm"),
)


def link_lines(links: Sequence[tuple[TwinLink, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a table of each link, and the nodes with the fields that would fit."""
    for link, twin in links:
        measured, both = twin["measured"], (twin["measured"], twin["predicted"])
        apart, unknown = measured["distance_m"], twin["unknown"]
        rows = [("", ["measured", "by the Emitter"])]
        rows += [(label, [f"{each[key][mark]:.4g} {unit}" if each[key] else "-" for each in both])
                 for label, key, mark, unit in ROWS]  # fmt: skip
        lost = ["-" if each["loss"] is None else f"{each['loss']:.1%}" for each in both]
        yield cut(one_line(link.name), COLUMNS)
        for label, (one, other) in [*rows, ("loss", lost)]:
            yield f"  {label:<12}{one:>16}  {other:>16}"
        counts = {key: measured[key] for key in ("lost", "under_way", "left_out")}
        counted = reason_counts({key: n for key, n in counts.items() if n})
        size = f"{measured['packets']} of {_span(measured['bytes'])} B"
        notes = {
            "packets": f"{size}, {counted}" if counted else size,
            "refused": one_line(reason_counts(measured["refused"])),
            "predicted": unknown.get("predicted"),
            "loss": unknown.get("loss"),
            "distance": apart and f"{_span(apart)} m",
            "round trip": link.out == link.into
            and "to a device outside and back; the Emitter's is one way",
        }
        pairs = [(key, note) for key, note in notes.items() if note]
        yield from table(pairs, indent="  ", columns=COLUMNS)
        yield ""
        yield twin["wbt"]


def shadow_lines(shadows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the figures of each sensor: of the whole run, as in its summary, then over time."""
    for robot, sensors in shadows.items():
        yield f"{cut(one_line(robot), LONGEST)}: the remote body next to the simulated one"
        for name, sensor in sensors.items():
            times = {f"{each['from_s']:.1f} s": each for each in sensor["windows"]}
            yield ""
            head = cut(one_line(name), LONGEST)
            yield from divergence_table({"whole run": sensor["total"], **times}, head)


def _span(spread: Mapping[str, float]) -> str:
    low, high = f"{spread['min']:.4g}", f"{spread['max']:.4g}"
    return low if low == high else f"{low} to {high}"
