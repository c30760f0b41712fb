"""The divergence of a shadow, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.control.divergence import Divergence

UNKNOWN = "-"
_HEADS = ("sensor", "offset", "delay ms", "RMS", "n")


def divergence_words(divergences: Mapping[str, Divergence]) -> list[str]:
    """One for each sensor that has been compared, such as "gps.x offset 0.01 RMS 0.02 48 ms"."""
    words = []
    for name, each in divergences.items():
        if each.offset is None or each.rms is None:
            continue
        delay = "" if each.delay_ms is None else f" {each.delay_ms:.0f} ms"
        words.append(f"{name} offset {each.offset:.4g} RMS {each.rms:.4g}{delay}")
    return words


def divergence_table(report: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The lines of a table of the sensors that both bodies reported. report: of `--report`."""
    rows = [_HEADS]
    for name, each in report.items():
        if not each["n"]:
            continue
        delay = UNKNOWN if each["delay_ms"] is None else f"{each['delay_ms']:.0f}"
        rows.append((name, _number(each["offset"]), delay, _number(each["rms"]), str(each["n"])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.4g}"
