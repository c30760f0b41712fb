"""The divergence of two bodies: known offsets and delays are found."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from hilgw.cli.output.summary import divergence_table, divergence_words
from hilgw.control.divergence import SAMPLES, Comparison, Divergence, Series, as_dict
from hilgw.devices.kinds import Device
from hilgw.units import NS_PER_MS, NS_PER_S, ms_to_ns, ns_to_s


def wave(time_s: float) -> float:
    """Not periodic within a minute."""
    return math.sin(2.1 * time_s) + 0.6 * math.sin(5.3 * time_s + 1) + 0.3 * math.sin(0.37 * time_s)


Signal = Callable[[float], float]


def compared(
    first: Signal,
    second: Signal,
    delay_ms: float = 0,
    *,
    seconds: float = 12.8,
    period_ms: float = 32,
) -> Divergence:
    """Both bodies report every period_ms; the second one is late."""
    series = Series()
    for step in range(round(seconds * 1000 / period_ms)):
        now = ms_to_ns(step * period_ms)
        series.first(first(ns_to_s(now)), now)
        series.second(second(ns_to_s(now - ms_to_ns(delay_ms))), now)
    series.estimate_delay()
    return series.divergence()


@given(
    delay_ms=st.floats(-300, 300),
    offset=st.floats(-1000, 1000),
    period_ms=st.sampled_from([10.0, 32.0, 50.0]),
)
def test_a_known_delay_and_offset_are_found(
    delay_ms: float, offset: float, period_ms: float
) -> None:
    difference = compared(
        wave, lambda t: wave(t) + offset, delay_ms, seconds=12, period_ms=period_ms
    )
    assert difference.delay_ms == pytest.approx(delay_ms, abs=max(2.0, period_ms / 8))
    assert difference.offset == pytest.approx(offset, abs=0.3)  # the wave's mean is not quite 0
    assert difference.rms is not None and difference.offset is not None
    assert difference.rms >= abs(difference.offset) - 0.1
    assert difference.gain == pytest.approx(1, abs=0.04)


def reported(signal: Signal, delay_ms: float) -> Divergence:
    """The second body is late, and reads 0.25 more."""
    return compared(signal, lambda t: signal(t) + 0.25, delay_ms, seconds=20)


@pytest.mark.parametrize("delay_ms", [-100, 0, 32, 50, 100, 200])
@pytest.mark.parametrize("hertz", [0.2, 0.5, 1.0, 2.0])
def test_a_motion_that_repeats_has_its_least_delay(hertz: float, delay_ms: float) -> None:
    """Its correlation is as great a period later."""
    difference = reported(lambda t: math.sin(math.tau * hertz * t), delay_ms)
    assert difference.delay_ms == pytest.approx(delay_ms, abs=0.5)
    assert difference.offset == pytest.approx(0.25, abs=0.002)
    late = math.sqrt(2) * math.sin(math.pi * hertz * delay_ms / 1000)
    assert difference.rms == pytest.approx(math.hypot(0.25, late), abs=0.002)


@pytest.mark.parametrize("delay_ms", [0, 48, -64])
@pytest.mark.parametrize(("gain", "offset"), [(1.1, 0.0), (0.9, 0.0), (1.1, -30.0)])
@pytest.mark.parametrize(
    "signal",
    [
        pytest.param(lambda t: 1500 + 400 * math.sin(1.3 * t), id="a distance"),
        pytest.param(lambda t: 90 * t + 30 * math.sin(2 * t), id="an encoder"),
    ],
)
def test_a_scale_error_is_a_gain_and_not_an_offset(
    signal: Signal, gain: float, offset: float, delay_ms: float
) -> None:
    difference = compared(signal, lambda t: gain * signal(t) + offset, delay_ms)
    assert difference.gain == pytest.approx(gain, abs=0.005)
    assert difference.offset == pytest.approx(offset, abs=12)


def test_a_constant_value_and_noise_have_no_gain() -> None:
    assert reported(lambda t: 7.0, 0).gain is None
    assert reported(lambda t: 7.0, 0).offset == 0.25
    draw = random.Random(3)
    assert reported(lambda t: draw.random(), 0).gain is None


def test_no_number_is_minus_zero() -> None:
    difference = reported(lambda t: -0.0, 0)
    series = Series()
    series.first(0.0, 0)
    series.second(-0.0, 0)
    assert str(series.divergence().offset) == "0.0" and difference.offset == 0.25
    shown = Divergence(-0.0, 1.1, -0.3, 0.0, 5, 0)
    assert divergence_words({"eye": shown}) == ["eye offset 0 gain 1.10 RMS 0 0 ms"]
    (_, line) = divergence_table({"eye": as_dict(shown)})
    assert " ".join(line.split()) == "eye 0 1.10 0 0 5"


def test_equal_bodies_do_not_diverge() -> None:
    difference = compared(wave, wave)
    assert (difference.offset, difference.rms, difference.delay_ms, difference.gain) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda t: 1.0, lambda t: 1.0),
        (wave, lambda t: 2.0),
        (lambda t: t, lambda t: t - 0.3),
        (wave, lambda t: random.Random(int(t * 1000)).random()),
    ],
    ids=["constant", "one constant", "growing", "unlike"],
)
def test_no_delay_without_likeness(first: Signal, second: Signal) -> None:
    difference = compared(first, second)
    assert (difference.delay_ms, difference.pairs) == (None, 400)


def test_a_delay_beyond_the_window_is_unknown() -> None:
    random_ = random.Random(5)
    knots = [random_.uniform(-1, 1) for _ in range(200)]

    def rough(step: int) -> float:
        knot, part = divmod(step, 8)
        return knots[knot] + (knots[knot + 1] - knots[knot]) * part / 8

    for late, expected in ((20, 20 * 32), (100, None)):
        series = Series()
        for step in range(100, 600):
            series.first(rough(step), step * 32 * NS_PER_MS)
            series.second(rough(step - late), step * 32 * NS_PER_MS)
        series.estimate_delay()
        assert series.divergence().delay_ms == (expected and pytest.approx(expected, abs=4))


@given(st.lists(st.tuples(st.booleans(), st.floats(), st.integers(0, 10**12)), max_size=60))
def test_any_values_leave_plain_numbers(values: list[tuple[bool, float, int]]) -> None:
    """NaN, infinity, times that go backwards, values near the largest float."""
    series = Series()
    for is_first, value, now in values:
        (series.first if is_first else series.second)(value, now)
    series.estimate_delay()
    difference = series.divergence()
    for number in (difference.offset, difference.delay_ms, difference.rms):
        assert number is None or math.isfinite(number)
    finite = sum(math.isfinite(value) for _, value, _ in values)
    assert difference.pairs + difference.skipped <= len(values)
    assert difference.skipped >= len(values) - finite


def test_values_that_are_not_finite_are_counted_and_skipped() -> None:
    series = Series()
    for value in (1.0, math.nan, math.inf):
        series.first(value, 0)
    series.second(3.0, 1)
    series.second(math.nan, 2)
    difference = series.divergence()
    assert (difference.offset, difference.rms, difference.pairs, difference.skipped) == (2, 2, 1, 3)


def test_memory_and_work_are_bounded() -> None:
    """A day of values at 1 kHz costs no more than some seconds of them."""
    import tracemalloc

    series = Series()
    for step in range(2 * SAMPLES * 8):
        series.first(float(step % 7), step * NS_PER_MS)
        series.second(float(step % 5), step * NS_PER_MS)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for step in range(2 * SAMPLES * 8, 4 * SAMPLES * 8):
        series.first(float(step % 7), step * NS_PER_MS)
        series.second(float(step % 5), step * NS_PER_MS)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 300_000  # the deques replace their points


def test_a_vector_is_compared_number_by_number() -> None:
    gps = Device(name="gps", kind="GPS", index=0)
    comparison = Comparison()
    comparison.first("gps", (1.0, 2.0, 3.0, 0.0), gps.reports, 0)
    comparison.second("gps", (1.5, 2.0, 1.0, 0.0), gps.reports, NS_PER_S)
    differences = comparison.divergences()
    assert list(differences) == ["gps.speed", "gps.x", "gps.y", "gps.z"]
    assert [differences[f"gps.{axis}"].offset for axis in "xyz"] == [0.5, 0.0, -2.0]
