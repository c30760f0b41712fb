"""The picture of a recording: what is on it, and that matplotlib writes it."""

from pathlib import Path
from typing import Any

import pytest

from hilgw.errors import HilgwError, UsageError
from hilgw.record import plot as plots
from hilgw.record.plot import MOST_CURVES, MOST_POINTS, Curve, plot, rows_of
from hilgw.record.recording import Recording
from tests.record import samples
from tests.record.samples import VALUE
from tests.view.samples import recorded

S = 10**9
COMMAND = samples.COMMAND | {"outcome": "refused", "reason": "disarmed"}
PACKET = samples.PACKET | {"source": "$tx", "received_by": [], "not_received": "range"}


def events(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "time_ns": (at + 5) * S} for at, each in enumerate(given)]


def test_rows_have_curves_and_marks() -> None:
    sent = {**PACKET, "received_by": ["uart0"], "not_received": ""}
    rows = rows_of(events(VALUE, COMMAND, PACKET, sent, {**VALUE, "value": "nan"}), [], 5 * S)
    assert list(rows) == ["rover.ds", "rover.left", "$tx", "uart0"]
    assert rows["rover.ds"].curves["value"].unit == "m"
    assert rows["rover.ds"].curves["value"].times == [0.0, 4.0]
    motor = rows["rover.left"]
    assert motor.curves["velocity refused"].values == [2.0]
    assert {curve.unit for curve in motor.curves.values()} == {"rad/s"}
    assert motor.curves["velocity applied"].values == [1.0]
    assert motor.marks["refused: disarmed"].times == [1.0]
    assert rows["$tx"].marks["lost: range"].times == [2.0]
    assert rows["$tx"].marks["packet"].times == [3.0]
    assert rows["uart0"].marks["from $tx"].times == [3.0]


def test_names_choose_rows_in_their_order() -> None:
    given = events(VALUE, COMMAND, PACKET)
    assert list(rows_of(given, ["rover.left", "rover.ds"])) == ["rover.left", "rover.ds"]
    assert list(rows_of(given, ["rover"])) == ["rover.ds", "rover.left"]
    both = events({**COMMAND, "body": "body"}, {**COMMAND, "body": "remote"})
    assert list(rows_of(both, ["rover.left"])) == ["rover.body.left", "rover.remote.left"]


def test_a_sensor_of_very_many_values_has_some_curves() -> None:
    rows = rows_of(events({**VALUE, "value": [1.0] * 100_000}), [])
    expected = ["value", *(f"[{place}]" for place in range(1, MOST_CURVES))]
    assert list(rows["rover.ds"].curves) == expected


def test_a_curve_has_a_bounded_number_of_points() -> None:
    curve = Curve("value")
    for at in range(3 * MOST_POINTS):
        curve.add(at, at)
    assert MOST_POINTS / 3 < len(curve.times) <= MOST_POINTS
    assert curve.times[-1] > 2.9 * MOST_POINTS


@pytest.mark.process
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written(tmp_path: Path, suffix: str) -> None:
    path = recorded(tmp_path / "run.pcapng", *events(VALUE, COMMAND, PACKET | {"data": "78"}))
    out = tmp_path / f"run{suffix}"
    assert plot(Recording(path), [], out) == ["rover.ds", "rover.left", "$tx"]
    assert out.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


@pytest.mark.process
def test_what_cannot_be_drawn_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path / "run.pcapng")
    with pytest.raises(HilgwError, match="no values, commands or packets"):
        plot(Recording(path), [], tmp_path / "run.png")
    recorded(path, VALUE)
    with pytest.raises(UsageError, match=r"\.txt"):
        plot(Recording(path), [], tmp_path / "run.txt")
    monkeypatch.setattr(plots, "MOST_ROWS", 0)
    with pytest.raises(UsageError, match=r"too large; choose some: rover\.ds"):
        plot(Recording(path), [], tmp_path / "run.png")


@pytest.mark.process
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_name_without_glyphs_is_drawn_without_a_word(tmp_path: Path, suffix: str) -> None:
    named = {**VALUE, "robot": "\u8f2a\U0001f916\u0939", "fields": ["\u89d2"], "units": ["\u5ea6"]}
    path = recorded(tmp_path / "run.pcapng", *events(named))
    assert plot(Recording(path), [], tmp_path / f"run{suffix}") == [f"{named['robot']}.ds"]
