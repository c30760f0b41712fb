"""A row of the table of figures: the figure, the reference, and the goal."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure with its bound.

    The `value` is nearly always the ratio of our figure to the other one; `at_least` marks a lower
    bound. A row without a bound is for comparison only.
    """

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
    return "| figure | hilgw | reference | ratio | goal | |\n|---|---|---|---|---|---|"


def show(row: Row) -> str:
    goal = verdict = ""
    if row.bound is not None:
        goal = f"at {'least' if row.at_least else 'most'} {row.bound:g}"
        verdict = "met" if row.good else "MISSED"
    return f"| {row.name} | {row.ours} | {row.other} | {row.value:.3g} | {goal} | {verdict} |"


def show_all(rows: list[Row]) -> bool:
    """Print the table; return true when all goals are met."""
    print(header())
    for row in rows:
        print(show(row))
    return all(row.good for row in rows)
