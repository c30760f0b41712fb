"""Webots' lookup tables."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hilgw.control.line_load import LineLoad
from hilgw.devices.lookup import check_table, look_up

TABLE = ((0.0, 1000.0, 0.0), (0.1, 1000.0, 0.1), (0.2, 400.0, 0.1), (0.3, 50.0, 0.1))


@pytest.mark.parametrize(
    ("measured", "value"),
    [(-1.0, 1000), (0.0, 1000), (0.1, 1000), (0.15, 700), (0.2, 400), (0.3, 50), (9.0, 50)],
)
def test_the_example_of_the_reference_manual(measured: float, value: float) -> None:
    """Webots reference manual, DistanceSensor, Lookup Table."""
    assert look_up(TABLE, measured) == pytest.approx(value)


def test_without_rows_the_number_itself() -> None:
    assert look_up((), 7.5) == 7.5


@given(st.floats(-10, 10))
def test_never_beyond_the_table(measured: float) -> None:
    assert 50 <= look_up(TABLE, measured) <= 1000


def test_rows_that_do_not_increase() -> None:
    assert check_table(TABLE) == "" and check_table(()) == ""
    assert "0.1 after 0.1" in check_table(((0.1, 0, 0), (0.1, 1, 0)))


def test_what_a_line_carries() -> None:
    """115200 8N1: 172.8 bytes in 15 ms."""
    assert LineLoad(0, 115_200, 10, 15_000_000).possible == 172
    assert LineLoad(0, 57_600, 10, 20_000_000, 20_000_001).possible == 0
    assert LineLoad(172, 115_200, 10, 15_000_000).overload == ""
    assert "needs 173 bytes" in LineLoad(173, 115_200, 10, 15_000_000).overload
    assert "carries 115 at" in LineLoad(173, 115_200, 10, 15_000_000, 5_000_000).overload
