"""Counters that wrap around: their totals across the end of the range, and after a gap."""

from hypothesis import given, strategies as st

from hilgw.control.odometer import Odometer


def test_after_a_gap_the_total_goes_on_from_where_it_was() -> None:
    odometer = Odometer(0x10000)
    odometer.rebase()  # before the first reading it changes nothing
    assert odometer.read(32_000) == 32_000
    odometer.rebase()
    assert odometer.read(0) == 32_000
    assert odometer.read(-1) == 31_999


@given(st.integers(2, 2**32), st.integers(0, 2**32), st.lists(st.floats(-0.5, 0.499), max_size=30))
def test_the_steps_add_up(span: int, raw: int, parts: list[float]) -> None:
    odometer, total = Odometer(span, start=7), 7
    odometer.read(raw % span)
    for step in (int(part * span) for part in parts):
        raw, total = raw + step, total + step
        assert odometer.read(raw % span) == total
