"""The line's reckoning is exact, and late timers do not push the schedule back."""

from fractions import Fraction

from hypothesis import given, strategies as st

from hilgw.engine.station.line_pacer import LinePacer

SIZES = st.lists(st.integers(1, 5000), min_size=1, max_size=60)


@given(SIZES, st.integers(50, 4_000_000), st.integers(10, 12))
def test_a_backlog_ends_when_its_bits_have_passed(sizes: list[int], baud: int, bits: int) -> None:
    line = LinePacer(baud, bits)
    ends = [line.occupy(size, 1000, backlog=index > 0) for index, size in enumerate(sizes)]
    exact = Fraction(1000)
    for size, end in zip(sizes, ends, strict=True):
        exact += Fraction(size * bits * 1_000_000_000, baud)
        assert 0 <= end - exact < 1


def test_a_late_wake_up_keeps_the_schedule_but_an_idle_line_starts_anew() -> None:
    line = LinePacer(1_000_000_000, 10)  # 10 ns a byte
    assert line.occupy(10, 0) == 100
    assert line.occupy(10, 130, backlog=True) == 200
    assert line.occupy(10, 500) == 600
    line.reset()
    assert line.is_free(0)
