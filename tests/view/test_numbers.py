"""The numbers of events: their names, units, roles and limits."""

import math
from typing import Any

import pytest

from hilgw.errors import HilgwError
from hilgw.events import kinds
from hilgw.events.kinds import demand_known, is_about, loss_of, numbers, row_of, words
from hilgw.events.numbers import APPLIED, COMMANDED, REFUSED, Number, number
from tests.view.samples import sample


def names(event: dict[str, Any]) -> list[str]:
    return [one.title for one in numbers(event)]


def test_a_vector_has_the_names_and_the_units_of_its_numbers() -> None:
    mixed = sample("value", value=[1, 2, 3], fields=["x", "y", "z"], units=["m", "m", "m/s"])
    assert numbers(mixed) == [Number("x", 1.0, "m"), Number("y", 2.0, "m"), Number("z", 3.0, "m/s")]
    assert words(mixed) == "x 1 y 2 m z 3 m/s"
    assert names(sample("value", value=[1, 2], fields=["x"], units=[])) == ["x", "[1]"]
    assert names(sample("value", value=5, fields=[], units=["m"])) == ["[0] (m)"]
    assert words(sample("value", value="nan", fields=["range"], units=["m"])) == "nan m"


@pytest.mark.parametrize("text", ["", "two", None, [], 10**400])
def test_what_is_not_a_number_is_nan(text: object) -> None:
    assert math.isnan(number(text))


def test_a_command_has_its_settings_by_role() -> None:
    limits = {"velocity": [-6.0, 6.0]}
    event = sample("command", outcome="sent", given={"velocity": 3}, limits=limits)
    assert numbers(event) == [
        Number("velocity", 3.0, "rad/s", COMMANDED, [-6.0, 6.0]),
        Number("velocity", 1.0, "rad/s", APPLIED, [-6.0, 6.0]),
    ]
    assert names(event) == ["velocity (rad/s)", "velocity applied (rad/s)"]
    assert [one.role for one in numbers({**event, "outcome": "refused"})] == [REFUSED, APPLIED]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"position": "inf", "velocity": 2.0}, "velocity"),
        ({"velocity": 2.0, "position": 1.0}, "position"),
        ({"position": "-inf", "velocity": 2.0}, "position"),
        ({"position": "inf"}, "position"),
        ({"force": 2.0, "available": 3.0}, "force"),
        ({"acceleration": 2.0}, "acceleration"),
        ({}, None),
    ],
)
def test_the_row_of_a_motor_is_what_it_moves_by(given: Any, field: str | None) -> None:
    event = sample("command", given=given, applied={"velocity": 1.0, "position": 2.0})
    row = row_of(event)
    assert {one.field for one in row} == ({field} if field else set())
    applied = [one.value for one in row if one.role == APPLIED]
    assert applied == [
        {"velocity": 1.0, "position": 2.0}[key] for key in [field] if key in event["applied"]
    ]


def test_the_way_from_another_gateway_is_half_of_a_round_trip_without_packets() -> None:
    (row,) = row_of(sample("link", p50_ms=None, round_trip_ms=4.0))
    assert (row.field, row.value, row.unit) == ("one way", 2.0, "ms")
    assert row_of(sample("link", state="waiting")) == []


def test_losses_by_kind_and_reason() -> None:
    assert loss_of(sample("packet")) == ("not_received", "out_of_range")
    assert loss_of(sample("refused", reason="no_ack")) == ("refused", "no_ack")
    assert loss_of(sample("packet", not_received="")) is None
    assert loss_of(sample("command")) is None  # the robot reports it as refused, too


def test_names_choose_events() -> None:
    value = sample("value", robot="rover", device="gps")
    command = sample("command", robot="rover", device="left", body="remote")
    packet = sample("packet", source="rover.tx", received_by=["arm.rx"])
    for names, about in (
        ([], (value, command, packet)),
        (["rover"], (value, command, packet)),
        (["rover.gps"], (value,)),
        (["rover.left"], (command,)),
        (["rover.remote.left"], (command,)),
        (["arm"], (packet,)),
        (["rov"], ()),
    ):
        assert [each for each in (value, command, packet) if is_about(each, names)] == [*about]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    events = [sample("value", robot="rover", device="gps"), sample("port", name="xbee0")]
    demand_known(["rover", "rover.gps", "xbee0", "idle"], ["idle"], events)
    with pytest.raises(HilgwError, match=r"nothing here has the name 'rover\.gpx'") as error:
        demand_known(["xbee0", "rover.gpx"], [], events)
    assert "did you mean 'rover.gps'" in str(error.value)
    with pytest.raises(HilgwError, match=r"known here: rover, rover\.gps, xbee0"):
        demand_known(["zzzzzz"], [], events)


def test_the_names_of_a_stranger_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_NAMES", 3)
    events = (sample("port", name=f"port{number}") for number in range(1000))
    with pytest.raises(HilgwError) as error:
        demand_known(["elsewhere"], [], events)
    assert error.value.fix == "known here: port0, port1, port2"


def test_a_name_is_sought_no_further_than_needed() -> None:
    events = iter([sample("port", name="a"), sample("port", name="b")])
    demand_known(["a"], [], events)
    assert [each["name"] for each in events] == ["b"]
