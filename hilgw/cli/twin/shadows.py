"""A shadow over time, of a recording: the values of both bodies, compared as the run did.

The total is that of the run's report: the same comparison of the same values. Each window is
compared by itself, so that a change shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hilgw.control.divergence import Comparison, as_dict
from hilgw.devices.kinds import Quantity

METHODS = {"body": "first", "remote": "second"}


class Shadow:
    """One robot. windows: when each began, in ns, and its comparison."""

    def __init__(self, window_s: float) -> None:
        self.window_ns = int(window_s * 1e9)
        self.forget()

    def forget(self) -> None:
        """The robot gets its shadow anew."""
        self.windows: list[tuple[int, Comparison]] = []
        self.total, self._end_ns = Comparison(), 0

    def add(self, event: Mapping[str, Any], body: str) -> None:
        """A value of one of the bodies."""
        given, now = event["value"], event["time_ns"]
        if now >= self._end_ns:
            self._end_ns = now + self.window_ns
            self.windows.append((now, Comparison()))
        is_list = isinstance(given, list)
        value = tuple(map(_number, given)) if is_list else _number(given)
        for each in (self.total, self.windows[-1][1]):
            compare = getattr(each, METHODS[body])
            compare(event["device"], value, [Quantity(name) for name in event["fields"]], now)

    def sensors(self, begin_ns: int) -> dict[str, Any]:
        """As JSON, of each sensor that was compared: `total`, and `windows` over time."""
        found: dict[str, Any] = {
            name: {"total": total, "windows": []} for name, total in _figures(self.total)
        }
        for time_ns, window in self.windows:
            for name, figures in _figures(window):
                found[name]["windows"].append({"from_s": (time_ns - begin_ns) / 1e9, **figures})
        return found


def _figures(comparison: Comparison) -> list[tuple[str, dict[str, Any]]]:
    comparison.estimate_delays()
    found = comparison.divergences()
    return [(name, as_dict(each)) for name, each in found.items() if each.pairs]


def _number(value: Any) -> float:
    """JSON lacks numbers that are not finite; and a recording may be of strangers."""
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
