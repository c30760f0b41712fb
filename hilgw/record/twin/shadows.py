"""A shadow over time, of a recording: the values of both bodies, compared as in the run.

The total is that of the run's report: the same comparison of the same values. Each window is
compared by itself, so that a change shows.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from hilgw.control.divergence import Comparison, as_dict
from hilgw.devices.kinds import Quantity
from hilgw.events.kinds import numbers
from hilgw.record.plot import drawable

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
