"""Latency statistics in bounded memory: a histogram of logarithmic buckets."""

from bisect import bisect_left
from functools import cache
from itertools import accumulate
from typing import Any

from hilgw.units import NS_PER_S, ns_to_ms, ns_to_s

_SUB_BITS = 6  # 64 buckets an octave: a percentile is off by under 1.6 %

BOUNDS_S = (  # of the histograms that others read
    *(0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005),
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
)
_BOUNDS_NS = tuple(round(bound * NS_PER_S) for bound in BOUNDS_S)


class Latency:
    """The counts of durations in nanoseconds: percentiles to 1.6 %, sum and maximum exact."""

    __slots__ = ("_buckets", "max_ns", "total_ns")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.max_ns = self.total_ns = 0

    @property
    def count(self) -> int:
        return sum(self._buckets.values())

    def clear(self) -> None:
        """Forget all durations: another connection begins."""
        self._buckets.clear()
        self.max_ns = self.total_ns = 0

    def add(self, duration_ns: int) -> None:
        if duration_ns < 0:  # no max(): several of these calls are on the way of a packet
            duration_ns = 0
        shift = duration_ns.bit_length() - _SUB_BITS - 1
        key = duration_ns if shift <= 0 else (shift << (_SUB_BITS + 1)) + (duration_ns >> shift)
        buckets = self._buckets
        buckets[key] = buckets.get(key, 0) + 1
        self.total_ns += duration_ns
        if duration_ns > self.max_ns:
            self.max_ns = duration_ns

    def percentile_ns(self, percent: float) -> int | None:
        """Return the duration that `percent` of all stay at or below; None without any."""
        if not self._buckets:
            return None
        wanted = max(1, -(-self.count * percent // 100))
        seen = 0
        for key in sorted(self._buckets):
            seen += self._buckets[key]
            if seen >= wanted:
                return min(_upper_ns(key), self.max_ns)
        return self.max_ns

    def histogram(self) -> dict[str, Any]:
        """Return for each bound of BOUNDS_S how many took at most this long.

        Then the count and the sum of all. A duration within 1.6 % of a bound may count above it.
        """
        counts = [0] * (len(_BOUNDS_NS) + 1)
        for key, count in self._buckets.items():
            counts[_bound_of(key)] += count
        *buckets, count = accumulate(counts)
        return {"count": count, "sum_s": ns_to_s(self.total_ns), "buckets": buckets}

    def as_dict(self) -> dict[str, float | int | None]:
        """Return p50, p99 and max in milliseconds, None without a sample."""

        def ms(value: int | None) -> float | None:
            return None if value is None else round(ns_to_ms(value), 4)

        return {
            "count": self.count,
            "p50_ms": ms(self.percentile_ns(50)),
            "p99_ms": ms(self.percentile_ns(99)),
            "max_ms": ms(self.max_ns if self.count else None),
        }


@cache
def _bound_of(key: int) -> int:
    return bisect_left(_BOUNDS_NS, _upper_ns(key))


def _upper_ns(key: int) -> int:
    shift = key >> (_SUB_BITS + 1)
    return ((key - (shift << (_SUB_BITS + 1)) + 1) << shift) - 1
