"""The numbers and words of events, and their lines as JSON."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from hilgw.errors import HilgwError
from hilgw.events import kinds, wire
from hilgw.events.kinds import cell_of, demand_known, is_about, numbers, row_of, words
from hilgw.events.numbers import Number, mode_of, number, of_pose
from hilgw.events.words import escape, frame_line, sent_on, span, way
from hilgw.view.series import of_event
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


def test_what_a_motor_measures_is_not_what_it_was_commanded() -> None:
    measured = sample("value", value=0.5, fields=["velocity"], units=["rad/s"])
    units = {"velocity": "rad/s"}
    given = sample("command", outcome="sent", given={"velocity": 2.0}, applied={}, units=units)
    assert names(measured) == ["velocity measured (rad/s)"]
    assert names(given) == ["velocity (rad/s)"]
    assert [one.name for one in of_event(measured, {})] == ["robot: device"]


@pytest.mark.parametrize("text", ["", "two", None, [], 10**400])
def test_what_is_not_a_number_is_nan(text: object) -> None:
    assert math.isnan(number(text))


def test_the_way_from_another_gateway_is_half_of_a_round_trip_without_packets() -> None:
    for p50_ms, one_way in ((None, 2.0), (1.5, 1.5)):
        (row,) = row_of(sample("link", p50_ms=p50_ms, round_trip_ms=4.0))
        assert (row.field, row.value, row.unit) == ("one way", one_way, "ms")
    assert row_of(sample("link", state="waiting")) == []


def test_a_motor_moves_by_what_it_was_last_given() -> None:
    for given, field in (({"position": "inf", "velocity": 2.0}, "velocity"), ({}, None)):
        assert {one.field for one in row_of(sample("command", given=given))} == {field} - {None}


def test_a_device_without_motions_follows_its_setting_and_an_unknown_pose_is_nan() -> None:
    assert mode_of(sample("command", outcome="sent", given={"LED": 1}, applied={})) == "LED"
    unknown = of_pose(sample("placed", position=None, rotation=None))
    assert [one.field for one in unknown if math.isnan(one.value)] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("word", "given", "text"),
    [
        (escape, (b"a" * 64,), f'"{"a" * 64}"'),
        (escape, (b"a" * 65,), f'"{"a" * 64}"...'),
        (escape, (b' ~\x7f\x1f"',), '" ~\\x7f\\x1f\\x22"'),
        (frame_line, ("sent", bytes(48), ""), f"-> {bytes(48).hex(' ')}"),
        (frame_line, ("received", bytes(49), "x"), f"<- {bytes(48).hex(' ')} ... 49 B  | x"),
        (span, (0.5,), "0.5 s"),
        (span, (9.95,), "10 s"),
        (span, (3600,), "1 h"),
        (span, (86400,), "1 d"),
        (sent_on, (-1, b"a", None), 'ch all "a" 1 B'),
        (sent_on, (12, b"a", -70.4, "~"), 'ch 12  "a" 1 B  ~-70 dBm'),
        (way, (None, None, None, 0.9999), "clock offset +999.900 ms"),
        (way, (None, None, None, -1.0), "clock offset -1.000 s"),
    ],
)
def test_the_words_of_parts_of_events(word: Callable[..., str], given: Any, text: str) -> None:
    assert word(*given) == text


def test_the_lines_of_events_and_the_keys_of_states() -> None:
    times = {"mono_ns": 1, "wall_s": 2.5, "time_ns": 3}
    armed = kinds.Armed("rover", True, "", since_ns=9)
    known = {"event": "armed", "robot": "rover", "armed": True, "text": ""}
    sent = json.loads(wire.encode_event(armed, *times.values()))
    assert sent == {**known, **times, "since_ns": 9}
    assert "since_ns" not in kinds.plain(kinds.Armed("rover", True, ""))
    assert cell_of(armed) == (kinds.Armed, "rover")
    values = "rover.tx", 1, "radio", b"\xff", ("a",), "", (("b", "range"),), None
    line = wire.encode_with_data(kinds.Packet, values, *times.values())
    event = kinds.Packet("rover.tx", 1, "radio", "ff", ["a"], "", {"b": "range"}, None)
    assert json.loads(line) == json.loads(wire.encode_event(event, *times.values()))
    assert line.endswith(b"}\n")
    assert wire.numbers((1.0, math.inf)) == [1.0, "inf"]
    assert wire.numbers(-math.inf) == "-inf"


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


def test_the_names_of_a_stranger_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_NAMES", 3)
    events = (sample("port", name=f"port{number}") for number in range(1000))
    with pytest.raises(HilgwError) as error:
        demand_known(["elsewhere"], [], events)
    assert error.value.fix == "known here: port0, port1, port2"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    events = [sample("value", robot="rover", device="gps"), sample("port", name="xbee0")]
    demand_known(["rover", "rover.gps", "xbee0", "idle"], ["idle"], events)
    with pytest.raises(HilgwError, match=r"nothing here has the name 'rover\.gpx'") as error:
        demand_known(["xbee0", "rover.gpx"], [], events)
    assert "did you mean 'rover.gps'" in str(error.value)
    with pytest.raises(HilgwError, match=r"known here: rover, rover\.gps, xbee0"):
        demand_known(["zzzzzz", "rover.gpx"], [], events)
