"""A view of a gateway: bounds, rates, cells, and the numbers and words of events."""

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
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import GONE, REFUSED, SILENT, UP, Cells, GatewayView, PerSecond, Ring
from hilgw.view.series import POINTS, Points, of_event, of_status
from tests.view.samples import sample


def view() -> GatewayView:
    return GatewayView("/run/1.sock", "/lab/arm.yaml", 1, 0)


@pytest.mark.parametrize(
    ("event", "size"),
    [
        ({"event": "x" * 36}, 100),
        ({"event": "x" * 36, "channel": 5}, 100),
        ({"event": "x", "received_by": ["a", "b"]}, 64 + 1 + 2 * 32),
        ({"event": "x", "missed": {"a": "range"}, "data": "00"}, 64 + 1 + 32 + 2),
    ],
)
def test_a_ring_is_bounded_by_the_size_of_its_events(event: dict[str, Any], size: int) -> None:
    for most_bytes, kept in ((3 * size, 3), (3 * size - 1, 2), (size - 1, 0)):
        ring = Ring(99, most_bytes)
        for _ in range(5):
            ring.add(event)
        assert (ring.since(0), ring.end) == ([event] * kept, 5)


def test_a_ring_has_the_newest_events_by_their_numbers() -> None:
    ring = Ring(3, 1000)
    for count in range(5):
        ring.add({"event": "x", "number": count})
    for since, newer in ((0, [2, 3, 4]), (2, [2, 3, 4]), (3, [3, 4]), (4, [4]), (5, []), (9, [])):
        assert [each["number"] for each in ring.since(since)] == newer


@pytest.mark.parametrize(
    ("name", "most", "most_bytes"),
    [("packets", 2000, 4 << 20), ("traces", 2000, 4 << 20), ("log", 1000, 1 << 20)],
)
def test_the_rings_of_a_gateway_keep_so_many(name: str, most: int, most_bytes: int) -> None:
    for length, times, kept in (
        (0, most + 1, most),
        (most_bytes // 4 - 64, 4, 4),
        (most_bytes // 4 - 63, 4, 3),
    ):
        ring: Ring = getattr(view(), name)
        for _ in range(times):
            ring.add({"event": "x" * length})
        assert len(ring.since(0)) == kept


def test_a_gateway_is_silent_after_600_ms_and_is_here_again_with_a_message() -> None:
    seen = view()
    seen.received(5)
    assert seen.state(5 + 600 * NS_PER_MS) == UP
    assert seen.state(6 + 600 * NS_PER_MS) == SILENT
    for ended in (GONE, REFUSED):
        seen.end(ended, "why")
        assert (seen.state(NS_PER_S), seen.why) == (ended, "why")
        seen.received(NS_PER_S)
        assert (seen.state(NS_PER_S), seen.why) == (UP, "")


def test_a_rate_is_that_of_the_last_whole_second() -> None:
    counted = PerSecond()
    for at_s, count, shown in (
        (1, 2, {1: 0, 2: 2, 3: 0}),
        (1.5, 1, {1: 0, 2: 3, 3: 0}),
        (2, 5, {2: 3, 2.9: 3, 3: 5, 4: 0}),
        (9, 1, {9: 0, 10: 1, 11: 0}),
    ):
        counted.add(int(at_s * NS_PER_S), count)
        assert {at: counted.value(int(at * NS_PER_S)) for at in shown} == shown
    assert counted.total == 9


def test_events_without_a_time_are_of_the_start_and_others_have_the_time_of_day() -> None:
    seen = view()
    seen.series["r: ds"] = Points("")
    event = sample("value", robot="r", device="ds", value=1.0, fields=[], units=[])
    seen.take({key: each for key, each in event.items() if key not in ("mono_ns", "wall_s")}, 0)
    assert (seen.wall_ns, seen.series["r: ds"].kept) == (0, [(0, 1.0)])
    seen.take(event, 0)
    assert seen.wall_ns == 1000 * NS_PER_S


def test_a_repeated_state_is_not_a_new_event_and_is_logged_once() -> None:
    seen, armed = view(), sample("armed", mono_ns=5)
    seen.take(armed | {"since_ns": 5}, 0)
    assert (seen.shown["armed"].total, len(seen.log.since(0))) == (0, 1)
    seen.take(armed | {"since_ns": 5}, 0)
    assert len(seen.log.since(0)) == 1
    seen.take(armed, 0)
    assert (seen.shown["armed"].total, len(seen.log.since(0))) == (1, 2)
    seen.take(armed | {"since_ns": 6, "mono_ns": 6}, 0)
    assert (seen.shown["armed"].total, len(seen.log.since(0))) == (1, 3)


def test_a_new_view_has_no_times_and_a_series_that_no_page_shows_is_kept_for_3_s() -> None:
    seen = view()
    assert seen.restarts == seen.status_ns == seen.wall_ns == seen.slow.total == 0
    seen.series["a"] = Points("m")
    for now, kept in ((3 * NS_PER_S, ["a"]), (3 * NS_PER_S + 1, [])):
        seen.set_status({}, now)
        assert [*seen.series] == kept


def test_what_was_left_out_is_counted_by_kind() -> None:
    seen = view()
    seen.take(sample("left_out", sampled={"packet": 4, "unknown": 5}, slow=6), NS_PER_S)
    assert seen.rate("packet", 2 * NS_PER_S) == (0, 4)
    assert seen.slow.value(2 * NS_PER_S) == 6


def test_a_status_keeps_what_the_one_before_had_and_its_own_time() -> None:
    seen = view()
    seen.series["uart0: queue"] = Points("packets")
    seen.set_status({"ports": {}, "pid": 3, "queues": {"uart0": 4}}, 7)
    assert (seen.status_ns, seen.message_ns) == (7, 7)
    assert seen.series["uart0: queue"].kept == [(7, 4.0)]
    seen.take(sample("status", mono_ns=2), 9)
    assert (seen.status["pid"], seen.status_ns, seen.message_ns) == (3, 2, 9)
    assert "robot" in seen.status["robots"]


def test_a_view_that_begins_anew_has_no_events_but_its_name_and_its_series() -> None:
    seen = view()
    seen.restarts, seen.series["a"] = 2, Points("m")
    seen.series["a"].add(1, 2.0)
    for kind in ("packet", "armed", "port", "status", "refused"):
        seen.take(sample(kind), 3)
    seen.begin_anew()
    assert seen == GatewayView(
        *("/run/1.sock", "/lab/arm.yaml", 1, 3, 2),
        **{key: getattr(seen, key) for key in ("series", "wall_ns", "shown", "left_out", "slow")},
        **{key: getattr(seen, key) for key in ("packets", "traces", "log")},
    )
    assert seen.series["a"].kept == seen.packets.since(0) == seen.log.since(0) == []
    assert (seen.wall_ns, seen.title) == (1000 * NS_PER_S, "arm")
    assert GatewayView("/run/1.sock", "", 1, 0).title == "1.sock"


@pytest.mark.parametrize(
    ("robot", "body", "mode", "port"),
    [
        ("r", "", None, "r.body"),
        ("r", "", "simulation", "r.body"),
        ("r", "", "remote", "r.remote"),
        ("r", "body", "remote", "r.body"),
        ("r", "remote", "shadow", "r.remote"),
        ("r.remote", "", "shadow", "r.remote"),
    ],
)
def test_a_command_has_its_bodys_port(robot: str, body: str, mode: str | None, port: str) -> None:
    cells = Cells()
    if mode is not None:
        cells.fold(sample("mode", robot="r", mode=mode))
    assert cells.port_of(sample("command", robot=robot, body=body)) == port


def test_an_end_is_lost_after_an_event_until_there_is_a_newer_one() -> None:
    cells = Cells()
    command = sample("command", robot="r", body="")
    for state, time_ns, lost in (("up", 1, set()), ("waiting", 5, {4, 5}), ("up", 9, {4, 5})):
        cells.fold(sample("port", name="r.body", state=state, mono_ns=time_ns))
        assert {time for time in (4, 5, 6) if cells.is_lost(command | {"mono_ns": time})} == lost
    assert cells.is_lost(sample("port", name="r.body", mono_ns=5))
    assert not cells.is_lost(sample("port", name="r.remote", mono_ns=0))


def test_a_motor_stands_since_the_stop_after_its_last_accepted_command() -> None:
    cells = Cells()
    command = sample("command", robot="r", body="", device="m", outcome="sent", reason="")

    def stop_ns(event: dict[str, Any]) -> int | None:
        cells.fold(event)
        stop = cells.stop_of(cells.newest["command"]["r.m"])
        return None if stop is None else stop["mono_ns"]

    refused = command | {"outcome": "refused", "reason": "late"}
    assert stop_ns(refused | {"mono_ns": 1}) is None
    assert cells.newest["command"]["r.m"]["accepted_ns"] == 0
    assert stop_ns(command | {"mono_ns": 5}) is None
    assert stop_ns(sample("stopped", robot="other", mono_ns=9)) is None
    assert stop_ns(sample("stopped", robot="r", mono_ns=5)) == 5
    assert stop_ns(refused | {"mono_ns": 7}) == 5
    assert stop_ns(refused | {"mono_ns": 8}) == 5
    assert stop_ns(command | {"mono_ns": 9}) is None


def test_a_range_is_that_of_single_finite_numbers_that_were_not_only_applied() -> None:
    cells = Cells()
    for value in (3.0, 1.0, "nan", 2.0, [9.0, 9.0]):
        cells.fold(sample("value", robot="r", device="ds", value=value, fields=[], units=[]))
    cells.fold(sample("command", given={"velocity": 4.0}, applied={"velocity": 9.0}))
    name = "robot.remote.device"
    assert cells.ranges == {("value", "r.ds"): (1.0, 3.0), ("command", name): (4.0, 4.0)}


def test_points_are_those_since_a_time_with_the_one_before_it() -> None:
    points = Points("m")
    assert points.since(5) == []
    for time in (10, 20, 30):
        points.add(time, time / 10)
    for begin, times in ((0, [10, 20, 30]), (20, [10, 20, 30]), (21, [20, 30]), (99, [30])):
        assert [time for time, _ in points.since(begin)] == times
    points.clear()
    assert points.kept == []


def test_ten_thousand_points_are_kept_by_their_times() -> None:
    points = Points("")
    for time in range(10_000):
        points.add(time, time)
    assert POINTS == 10_000 and points.kept == [(time, time) for time in range(10_000)]
    points.add(10_000, 5.0)
    assert [points.kept[0], points.kept[-1]] == [(1, 1), (10_000, 5.0)]


def test_thinned_points_are_the_least_and_the_greatest_of_each_group() -> None:
    points = Points("")
    for time, value in enumerate((5, 1, 9, 5, 9, 5, 5, 1, 5, 5, 9, 1, 1, 2, 3, 4)):
        points.add(time, value)
    assert points.since(0, 16) == points.kept
    assert [time for time, _ in points.since(0, 10)] == [1, 2, 4, 7, 10, 11, 12, 15]
    assert [time for time, _ in points.since(7, 6)] == [6, 7, 10, 11, 12, 15]  # the same groups


@pytest.mark.parametrize(
    ("passed", "simulated_s", "factor"),
    [(2, 0.5, 0.25), (2, 0.0, 0.0), (0.5, 1.0, 2.0), (2, -1.0, None), (0, 1.0, None)],
)
def test_the_real_time_factor_is_that_of_the_time_between_two_states(
    passed: float, simulated_s: float, factor: float | None
) -> None:
    now = {"mono_ns": int(passed * NS_PER_S) + 3, "clocks_s": {"r": 5 + simulated_s}}
    (reading,) = of_status(now, {"mono_ns": 3, "clocks_s": {"r": 5.0}})
    assert reading.value == factor


@pytest.mark.parametrize(
    ("buckets", "count", "p50_ms", "p99_ms"),
    [
        ([1, 1], 1, 1.0, 1.0),
        ([0, 1], 1, 2.0, 2.0),
        ([1, 1], 2, 1.0, float("inf")),
        ([0, 0], 0, None, None),
        ([1, 1, 1, 2], 2, 1.0, float("inf")),  # of a recording: more than it has bounds
    ],
)
def test_latencies_are_at_most_the_bound_that_the_share_does_not_exceed(
    buckets: list[int], count: int, p50_ms: float | None, p99_ms: float | None
) -> None:
    before = {"latency": {"line": {"uart0": {"count": 5, "buckets": [5] * len(buckets)}}}}
    measured = {"count": count + 5, "buckets": [5 + each for each in buckets]}
    now = {"latency_bounds_s": [0.001, 0.002], "latency": {"line": {"uart0": measured}}}
    values = [each.value for each in of_status(now, before)]
    assert values == [p50_ms, p99_ms]


def test_a_number_that_is_alone_has_the_name_of_its_device_and_settings_have_roles() -> None:
    event = sample("command", body="", given={"velocity": 1.0}, applied={"velocity": 2.0})
    assert [(each.name, each.value) for each in of_event(event, {})] == [
        ("robot: device velocity (commanded)", 1.0),
        ("robot: device velocity (applied)", 2.0),
    ]
    (placed, *_) = of_event(sample("placed", name="box"), {})
    assert (placed.name, placed.unit) == ("box: x", "m")


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
