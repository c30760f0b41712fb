"""One line of the table of figures: what was measured, beside what, and the goal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """value: nearly always a ratio, ours to the other's. at_least: the bound is from below. A row
    without a bound is there for comparison."""

    name: str
    ours: str
    other: str
    value: float
    bound: float | None
    at_least: bool = False

    @property
    def good(self) -> bool:
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def header() -> str:
    return "| figure | ours | beside | ratio | goal | |\n|---|---|---|---|---|---|"


def show(row: Row) -> str:
    goal = verdict = ""
    if row.bound is not None:
        goal = f"at {'least' if row.at_least else 'most'} {row.bound:g}"
        verdict = "met" if row.good else "MISSED"
    return f"| {row.name} | {row.ours} | {row.other} | {row.value:.3g} | {goal} | {verdict} |"


def show_all(rows: list[Row]) -> bool:
    """Prints the table; whether all goals are met."""
    print(header())
    for row in rows:
        print(show(row))
    return all(row.good for row in rows)
