"""Divergence of the sensors of two bodies, while both get the same commands.

Each number of a sensor is compared by itself. RMS is that of the differences between a value of the
second body and the last one of the first, over the whole run. The delay is where the
cross-correlation of both is greatest, in a window of the latest samples: about how much later the
second body shows what the first one shows. A motion that repeats has several such delays: it is the
least of them. Of values that only grow, as an encoder's may, the changes are compared. The gain is
the slope of the straight line through the same samples, at that delay. The offset is what the
values differ by beside the gain: their mean difference where it is unknown, or about 1.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TYPE_CHECKING, Any

from hilgw.units import NS_PER_MS, ns_to_ms

if TYPE_CHECKING:
    from hilgw.devices.kinds import Quantity, Value

Samples = deque[tuple[int, float]]
"""The latest samples of one number: times that increase, and values."""

SAMPLES = 512
"""Kept of each number of each body."""
SPACING_NS = 8 * NS_PER_MS
"""Values that come sooner after the last sample are not samples."""
GRID = 128
"""Points at which the samples are compared; a delay of up to a quarter of them is found."""
CHANGE = 8
"""Points over which a change is taken."""
LEAST_SAMPLES = 16
LEAST_CORRELATION = 0.8
ALIKE = 0.05
"""Correlations that differ by less are the same motion, which repeats."""
LEAST_LIKENESS = 0.95
"""Correlation of values that lie about on a straight line, which has a slope."""
SCALE_ERROR = 0.02
"""A gain that is nearer to 1 may come from the interpolation: the offset leaves it out."""
LEAST_DROP = 0.2
"""By which the correlation falls away from its peak: a value that only grows looks the same at
every delay."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The comparison of one number.

    offset, rms: in its unit, None without a pair of values. gain: change of the second body for a
    change of 1 of the first. delay_ms: positive when the second body is later. gain and delay are
    None when the values do not show them: too few, constant, or not alike. pairs: how many were
    compared. skipped: values that are not finite.
    """

    offset: float | None
    gain: float | None
    delay_ms: float | None
    rms: float | None
    pairs: int
    skipped: int


class Series:
    """A number of both bodies, in bounded memory."""

    def __init__(self) -> None:
        self._first: Samples = deque(maxlen=SAMPLES)
        self._second: Samples = deque(maxlen=SAMPLES)
        self._delay_ns: int | None = None
        self._gain: float | None = None
        self._latest: float | None = None  # of the first body
        self._pairs = self._skipped = 0
        self._sum = self._squares = self._first_sum = 0.0  # of the differences; of the first body

    def first(self, value: float, now: int) -> None:
        """Take a value of the first body."""
        if not math.isfinite(value):
            self._skipped += 1
            return
        self._latest = value
        _sample(self._first, value, now)

    def second(self, value: float, now: int) -> None:
        """Take a value of the second body."""
        if not math.isfinite(value):
            self._skipped += 1
            return
        _sample(self._second, value, now)
        if self._latest is None:
            return
        difference = value - self._latest
        total, squares = self._sum + difference, self._squares + difference * difference
        if math.isfinite(squares) and math.isfinite(total):
            self._pairs += 1
            self._sum, self._squares = total, squares
            self._first_sum += self._latest
        else:
            self._skipped += 1

    def estimate_delay(self) -> None:
        """Estimate delay and gain, in a few milliseconds at most."""
        self._delay_ns, self._gain = likeness_of(list(self._first), list(self._second))

    def divergence(self) -> Divergence:
        """Return what is known now; delay and gain as they were last estimated."""
        pairs, delay_ns = self._pairs, self._delay_ns
        beside = 0.0 if self._gain is None else 1 - self._gain
        beside = beside if abs(beside) > SCALE_ERROR else 0.0
        return Divergence(
            (self._sum + beside * self._first_sum) / pairs + 0.0 if pairs else None,  # not -0
            self._gain,
            None if delay_ns is None else ns_to_ms(delay_ns),
            math.sqrt(self._squares / pairs) if pairs else None,
            pairs,
            self._skipped,
        )


class Comparison:
    """The sensors of two bodies by name."""

    def __init__(self) -> None:
        self._series: defaultdict[str, Series] = defaultdict(Series)
        self._turn = 0

    def first(self, name: str, value: Value, reports: Sequence[Quantity], now: int) -> None:
        """Take a value of this sensor of the first body. reports: the names of its numbers."""
        for key, number in _numbers(name, value, reports):
            self._series[key].first(number, now)

    def second(self, name: str, value: Value, reports: Sequence[Quantity], now: int) -> None:
        """Take a value of this sensor of the second body."""
        for key, number in _numbers(name, value, reports):
            self._series[key].second(number, now)

    def forget(self) -> None:
        """Forget all pairs: those that come next are of bodies that began anew."""
        self._series.clear()

    def estimate_one_delay(self) -> None:
        """Estimate the delay of one number after the other: for a caller that must be quick."""
        if self._series:
            self._turn = (self._turn + 1) % len(self._series)
            list(self._series.values())[self._turn].estimate_delay()

    def estimate_delays(self) -> None:
        for series in self._series.values():
            series.estimate_delay()

    def divergences(self) -> Mapping[str, Divergence]:
        """Return the divergences by sensor, of a vector by SENSOR.NUMBER."""
        return {name: self._series[name].divergence() for name in sorted(self._series)}


def as_dict(divergence: Divergence) -> dict[str, Any]:
    """Return the divergence as a dictionary for `--report`."""
    return {
        "offset": divergence.offset,
        "gain": divergence.gain,
        "delay_ms": divergence.delay_ms,
        "rms": divergence.rms,
        "n": divergence.pairs,
        "skipped": divergence.skipped,
    }


def _numbers(name: str, value: Value, reports: Sequence[Quantity]) -> list[tuple[str, float]]:
    if not isinstance(value, tuple):
        return [(name, value)]
    return [
        (f"{name}.{quantity.name}", number)
        for quantity, number in zip(reports, value, strict=False)
    ]


def _sample(points: Samples, value: float, now: int) -> None:
    if not points or now - points[-1][0] >= SPACING_NS:
        points.append((now, value))


def likeness_of(
    first: Sequence[tuple[int, float]], second: Sequence[tuple[int, float]]
) -> tuple[int | None, float | None]:
    """Return by how many ns `second` is later than `first`, and its gain.

    None when they do not show it. first, second: (time, value) with times that increase.
    """
    if min(len(first), len(second)) < LEAST_SAMPLES:
        return None, None
    begin, end = max(first[0][0], second[0][0]), min(first[-1][0], second[-1][0])
    step = max(SPACING_NS, _spacing(first), _spacing(second))
    count = min(GRID, (end - begin) // step + 1)
    if count < LEAST_SAMPLES:
        return None, None
    times = [end - (count - 1 - place) * step for place in range(count)]
    one, other = _at(first, times), _at(second, times)
    lag = _best_lag(one, other, count // 4)
    if lag is None and count >= CHANGE + LEAST_SAMPLES:
        lag = _best_lag(_changes(one), _changes(other), count // 4)
    delay_ns = 0 if lag is None else round(lag * step)
    both = [time for time in times if begin <= time + delay_ns <= end]
    later = [time + delay_ns for time in both]
    return (None if lag is None else delay_ns), _slope(_at(first, both), _at(second, later))


def _slope(first: list[float], second: list[float]) -> float | None:
    pairs = list(zip(first, second, strict=True))
    mean1, mean2 = math.fsum(first) / len(pairs), math.fsum(second) / len(pairs)
    moments = [((v - mean1) ** 2, (v - mean1) * (w - mean2), (w - mean2) ** 2) for v, w in pairs]
    energy1, product, energy2 = map(math.fsum, zip(*moments, strict=True))
    least = (1e-9 * max(abs(mean1), abs(mean2))) ** 2 * len(pairs)  # rounding is not a change
    if not math.isfinite(energy1 * energy2) or min(energy1, energy2) <= least:
        return None
    alike = abs(product) >= LEAST_LIKENESS * math.sqrt(energy1) * math.sqrt(energy2)
    return product / energy1 if alike else None


def _spacing(points: Sequence[tuple[int, float]]) -> int:
    gaps = sorted(later[0] - earlier[0] for earlier, later in itertools.pairwise(points))
    return gaps[len(gaps) // 2]


def _at(points: Sequence[tuple[int, float]], times: Sequence[int]) -> list[float]:
    sampled = [point[0] for point in points]
    values = []
    for time in times:
        place = min(max(bisect_right(sampled, time), 1), len(points) - 1)
        (t0, v0), (t1, v1) = points[place - 1], points[place]
        values.append(v0 + (v1 - v0) * ((time - t0) / (t1 - t0)))
    return values


def _best_lag(first: list[float], second: list[float], most: int) -> float | None:
    """Return the lag, in points, of the greatest correlation.

    Of those about as great, as a motion that repeats has them, the least.
    """
    scale = max(map(abs, (*first, *second)), default=0.0)
    if scale == 0.0 or not math.isfinite(scale):
        return None
    correlation = _Correlation([v / scale for v in first], [v / scale for v in second])
    correlations = {lag: correlation.at(lag) for lag in range(-most, most + 1)}
    peak = max(correlations.values())
    if peak < LEAST_CORRELATION or peak - min(correlations.values()) < LEAST_DROP:
        return None
    tops = [
        max(hill, key=lambda lag: (correlations[lag], -abs(lag)))
        for hill in _hills(correlations, peak)
    ]
    if any(abs(top) == most and correlations[top] == peak for top in tops):
        return None  # it may be greater outside
    peaks = [_between_points(correlations, top) for top in tops if abs(top) < most]
    highest = max(height for _, height in peaks)
    return min((lag for lag, height in peaks if height > highest - ALIKE), key=abs)


def _hills(correlations: Mapping[int, float], peak: float) -> list[list[int]]:
    hills: list[list[int]] = [[]]
    for lag, height in correlations.items():
        if height > peak - LEAST_DROP:
            hills[-1].append(lag)
        elif hills[-1]:
            hills.append([])
    return [hill for hill in hills if hill]


def _between_points(correlations: Mapping[int, float], top: int) -> tuple[float, float]:
    """Return where and how high the greatest correlation next to this lag is, by a parabola."""
    left, height, right = (correlations[top + side] for side in (-1, 0, 1))
    bend = left - 2 * height + right
    if bend >= 0:
        return top, height
    shift = (left - right) / (2 * bend)
    return top + shift, height - bend * shift * shift / 2


def _changes(row: list[float]) -> list[float]:
    """Return by how much the value changed over some points.

    Between two of them, the resolution of a sensor shows.
    """
    return [later - earlier for earlier, later in zip(row, row[CHANGE:], strict=False)]


class _Correlation:
    def __init__(self, first: list[float], second: list[float]) -> None:
        mean1, mean2 = math.fsum(first) / len(first), math.fsum(second) / len(second)
        self._first = [value - mean1 for value in first]
        self._second = [value - mean2 for value in second]
        rows = self._first, self._second
        self._sums = [list(itertools.accumulate(row, initial=0.0)) for row in rows]
        self._squares = [
            list(itertools.accumulate((value * value for value in row), initial=0.0))
            for row in rows
        ]

    def at(self, lag: int) -> float:
        count = len(self._first)
        begin, end = max(0, -lag), min(count, count - lag)
        n = end - begin
        product: float = sum(
            map(mul, self._first[begin:end], self._second[begin + lag : end + lag])
        )
        sum1, sum2 = (s[end + d] - s[begin + d] for s, d in zip(self._sums, (0, lag), strict=True))
        sq1, sq2 = (s[end + d] - s[begin + d] for s, d in zip(self._squares, (0, lag), strict=True))
        energy = (sq1 - sum1 * sum1 / n) * (sq2 - sum2 * sum2 / n)
        if energy <= 1e-18:
            return 0.0
        return (product - sum1 * sum2 / n) / math.sqrt(energy)
