"""Latency statistics in bounded memory: a histogram of logarithmic buckets."""

from __future__ import annotations

from hilgw.units import ns_to_ms

_SUB_BITS = 6  # 64 buckets an octave: a percentile is off by under 1.6 %


class Latency:
    """Counts durations in nanoseconds; percentiles to 1.6 %, the maximum exact."""

    __slots__ = ("_buckets", "count", "max_ns")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0
        self.max_ns = 0

    def clear(self) -> None:
        """Another connection begins."""
        self._buckets.clear()
        self.count = self.max_ns = 0

    def add(self, duration_ns: int) -> None:
        duration_ns = max(duration_ns, 0)
        shift = max(duration_ns.bit_length() - _SUB_BITS - 1, 0)
        key = (shift << (_SUB_BITS + 1)) + (duration_ns >> shift)
        self._buckets[key] = self._buckets.get(key, 0) + 1
        self.count += 1
        self.max_ns = max(self.max_ns, duration_ns)

    def percentile_ns(self, percent: float) -> int | None:
        """The duration that `percent` of all stay at or below; None without any."""
        if not self.count:
            return None
        wanted = max(1, -(-self.count * percent // 100))
        seen = 0
        for key in sorted(self._buckets):
            seen += self._buckets[key]
            if seen >= wanted:
                shift, mantissa = key >> (_SUB_BITS + 1), key & ((1 << (_SUB_BITS + 1)) - 1)
                return min(((mantissa + 1) << shift) - 1, self.max_ns)
        return self.max_ns

    def as_dict(self) -> dict[str, float | int | None]:
        """p50, p99 and max in milliseconds, None without a sample."""

        def ms(value: int | None) -> float | None:
            return None if value is None else round(ns_to_ms(value), 4)

        return {
            "count": self.count,
            "p50_ms": ms(self.percentile_ns(50)),
            "p99_ms": ms(self.percentile_ns(99)),
            "max_ms": ms(self.max_ns if self.count else None),
        }
