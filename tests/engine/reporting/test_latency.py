"""Percentiles in bounded memory."""

from hypothesis import given, strategies as st

from hilgw.engine.reporting.latency import BOUNDS_S, Latency
from hilgw.testing.conformance.trouble_rules import size_of


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300), st.sampled_from([50, 90, 99]))
def test_percentiles_are_within_two_percent(samples: list[int], percent: int) -> None:
    latency = Latency()
    for sample in samples:
        latency.add(sample)
    exact = sorted(samples)[max(1, -(-len(samples) * percent // 100)) - 1]
    found = latency.percentile_ns(percent)
    assert found is not None
    assert exact <= found <= exact * 1.02 + 1
    assert latency.as_dict()["max_ms"] == round(max(samples) / 1e6, 4)


def test_without_samples_nothing_is_claimed() -> None:
    assert Latency().as_dict() == {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}


def test_memory_is_bounded() -> None:
    latency = Latency()
    for exponent in range(60):
        for step in range(1000):
            latency.add((1 << exponent) + step * max(1, (1 << exponent) // 1000))
    assert latency.count == 60_000
    assert size_of(latency) < 400_000


def test_a_histogram_counts_up_to_each_bound_and_has_the_exact_sum() -> None:
    latency = Latency()
    for ms in (0, 0.011, 0.9, 1.1, 4, 30_000):
        latency.add(round(ms * 1e6))
    found = latency.histogram()
    by_bound = dict(zip(BOUNDS_S, found["buckets"], strict=True))
    assert (by_bound[0.00001], by_bound[0.001], by_bound[0.002], by_bound[0.005]) == (1, 3, 4, 5)
    assert (by_bound[10.0], found["count"]) == (5, 6)
    assert found["sum_s"] == 30.006011
