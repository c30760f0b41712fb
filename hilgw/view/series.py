"""Time series of the numbers of events and of status, for the pages that plot them.

Memory is bounded. Times are `mono_ns` of the machine.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from hilgw.events.kinds import name_of, numbers
from hilgw.events.numbers import APPLIED, COMMANDED, MEASURED, Number, number as number
from hilgw.units import NS_PER_S

Event = Mapping[str, Any]
POINTS = 10_000  # kept of a series: 5 min at a value each 32 ms
REMOTE = ".remote"  # the second body of a robot, in names of events
RATES = {
    f"{what}/s {word}": (f"{way}_{what}_per_s", unit)
    for what, unit in (("packets", "1/s"), ("bytes", "B/s"))
    for way, word in (("received", "in"), ("sent", "out"))
}


class Reading(NamedTuple):
    """A number of a series. value: None if it has none now."""

    name: str
    value: float | None
    unit: str


class Points:
    """The points of one series.

    added: number of points since it was cleared. needed_ns: when a page showed it last. wall_ns:
    offset of a time to the time since 1970.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.added = self.needed_ns = self.wall_ns = 0
        # Allocate all memory at the start: that of a page that is open for hours does not grow.
        self._times, self._values = array("q", bytes(8 * POINTS)), array("d", bytes(8 * POINTS))

    def add(self, time: int, value: float) -> None:
        index = self.added % POINTS
        self._times[index], self._values[index] = time, value
        self.added += 1

    def clear(self) -> None:
        self.added = 0

    @property
    def kept(self) -> list[tuple[int, float]]:
        """Time and value of the newest points, by time."""
        all_of = list(zip(self._times, self._values, strict=True))
        index = self.added % POINTS
        return all_of[index:] + all_of[:index] if self.added > POINTS else all_of[: self.added]

    def since(self, begin: int, most: int = POINTS) -> list[tuple[int, float]]:
        """Return the points from this time on, and the one before it.

        More than `most` are thinned: the least and the greatest of each group remain, so peaks do.
        """
        kept = self.kept
        kept = kept[max(bisect_left(kept, (begin,)) - 1, 0) :]
        if len(kept) <= most:
            return kept
        size = 1 << (2 * len(kept) // most).bit_length()
        first = -((self.added - len(kept)) % size)  # groups stay the same, so nothing flickers
        groups = (kept[max(at, 0) : at + size] for at in range(first, len(kept), size))
        ends = ((min(each, key=itemgetter(1)), max(each, key=itemgetter(1))) for each in groups)
        return [point for both in ends for point in sorted(both)]


def collect(series: Mapping[str, Points], time: int, readings: Iterable[Reading]) -> None:
    """Add the readings of these series.

    Without any series, no reading is made.
    """
    for name, value, _ in readings if series else ():
        if value is not None and (points := series.get(name)) is not None:
            points.add(time, number(value))


# --- events ---------------------------------------------------------------------------------------


def of_event(event: Event, values: Mapping[str, Event]) -> Iterator[Reading]:
    """Yield the numbers of an event; `values` has the newest `value` of each sensor."""
    readings, device = numbers(event), event.get("device", "")
    whose = name_of(event).removesuffix(f".{device}")
    names = [
        f"{device}{_suffix(one, len(readings) > 1)}" if device else one.field for one in readings
    ]
    for name, one in zip(names, readings, strict=True):
        yield Reading(f"{whose}: {name}", one.value, one.unit)
    body = whose.removesuffix(REMOTE)
    if event["event"] == "value" and body != whose:
        first = values.get(f"{body}.body.{device}")
        others = numbers(first) if first is not None else []
        for name, one, other in zip(names, readings, others, strict=False):
            title = f"{body}: {name} (shadow difference)"
            yield Reading(title, one.value - other.value, one.unit)


def _suffix(one: Number, is_one_of_many: bool) -> str:
    if one.role not in ("", MEASURED):
        return f" {one.field} ({APPLIED if one.role == APPLIED else COMMANDED})"
    dot = "" if one.field.startswith("[") else "."
    return f"{dot}{one.field}" if is_one_of_many else ""


# --- status ---------------------------------------------------------------------------------------


def of_status(status: Event, before: Event) -> Iterator[Reading]:
    """Yield the numbers of an answer to `status`.

    Latencies and real-time factors span the time since `before`, the answer before it.
    """
    for name, port in status.get("ports", {}).items():
        for quantity, (key, unit) in RATES.items():
            yield Reading(f"{name}: {quantity}", port.get(key), unit)
    for name, waiting in status.get("queues", {}).items():
        yield Reading(f"{name}: queue", waiting, "packets")
    for name, seconds in status.get("clocks_s", {}).items():
        passed_s = (status["mono_ns"] - before.get("mono_ns", math.inf)) / NS_PER_S
        simulated_s = seconds - before.get("clocks_s", {}).get(name, math.inf)
        factor = simulated_s / passed_s if passed_s > 0 <= simulated_s else None  # it started anew
        yield Reading(f"{name}: real-time factor", factor, "x")
    for hop, parts in status.get("latency", {}).items():
        for part, histogram in parts.items():
            old = before.get("latency", {}).get(hop, {}).get(part, histogram)
            pairs = zip(histogram["buckets"], old["buckets"], strict=False)
            count, buckets = histogram["count"] - old["count"], [new - past for new, past in pairs]
            for word, share in (("p50", 0.5), ("p99", 0.99)):
                bound_s = at_most(status["latency_bounds_s"], buckets, share * count)
                ms = bound_s * 1e3 if count > 0 else None
                yield Reading(f"latency {hop} {part} {word}", ms, "ms")


def at_most(bounds_s: Sequence[float], buckets: Sequence[int], durations: float) -> float:
    """Return the bound that this many durations do not exceed; infinity: more than all bounds."""
    pairs = zip(bounds_s, buckets, strict=False)
    return next((bound for bound, count in pairs if count >= durations), math.inf)
