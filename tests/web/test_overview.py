"""The HTML of the pages Overview, Robot and Recordings."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.reasons import NotReceivedReason
from hilgw.units import NS_PER_S
from hilgw.view.gateway import GONE, GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages import recordings
from hilgw.web.pages.overview import general, parts
from hilgw.web.pages.recordings import (
    File,
    files_in,
    files_of,
    files_of_all,
    opened,
    pieces,
    running,
)
from hilgw.web.pages.robot import head, motors, output, robots_of, sensors, stop_log
from tests.record.samples import COMMAND, VALUE


def overview(views: list[GatewayView], problem: str, now: int) -> str:
    """All HTML of the page."""
    html_parts = [part for view in views for part in parts(view, now).values()]
    return "".join([general(views, problem), *html_parts])


EVIL = "<img src=x onerror=alert(1)>"
PORT = {
    **{f"{way}_{what}_per_s": 2.0 for way in ("received", "sent") for what in ("bytes", "packets")},
    "state": "up",
    "since_s": 5.0,
    "last_byte_s": 0.25,
    "last_loss": {"what": "port", "reason": "unplugged", "age_s": 61.0},
    "port": "/dev/ttyUSB0 (mock xbee)",
}


def status(**robot: Any) -> dict[str, Any]:
    known = {"armed": True, "latched": None, "mode": None, "late_steps": {"count": 3}, **robot}
    return {
        "memory_bytes": 43_000_000,
        "ports": {"xbee0": PORT, "arm.body": PORT, "arm.controller": PORT},
        "robots": {"arm": known},
        "topology": {
            "robots": {"arm": ["tx"]},
            "stations": {"arm.rx": None, "xbee0": "lab"},
            "mocks": ["remote"],
        },
        "losses": {"not_received": {"range": 70}},
        "latency_bounds_s": [0.001, 0.002],
        "latency": {"line": {"xbee0": {"count": 100, "buckets": [60, 99]}}, "air": {}},
    }


def seen(**robot: Any) -> GatewayView:
    view = Bench(lambda: 0).opened("/run/1.sock", "/lab/arm.yaml", 11)
    view.set_status(status(**robot), 1)
    return view


def test_it_shows_topology_rates_losses_with_reason_latency_and_ages() -> None:
    html = overview([seen()], "", NS_PER_S // 2)
    for text in (
        "robot arm",
        "air lab",
        "xbee0 up",
        "remote",
        "controller up",
        "armed",
        "/dev/ttyUSB0 (mock xbee)",
        "unplugged, 1 min ago",
        "<td>70</td>",
        f"<td>{NotReceivedReason.known('range').doc}</td>",
        "line xbee0",
        "<td>1 ms</td><td>2 ms</td>",
        "values 0.5 s old",
    ):
        assert text in html, text
    assert "arm.rx" not in html  # a Receiver has no port


def test_a_latch_shows_its_reason_and_a_newer_event_replaces_the_status() -> None:
    view = seen(latched="estop")
    view.take({"event": "port", "name": "xbee0", "state": "failed", "mono_ns": 5}, 5)
    html = overview([view], "", 10)
    assert "latched" in html
    assert "<td>estop</td>" in html
    assert "xbee0 failed" in html


def test_states_are_those_of_their_events_and_the_rest_is_that_of_the_status() -> None:
    view = seen()
    for mode in ({"event": "mode", "robot": "arm", "mode": "remote"}, {"event": "armed"}):
        view.take({"robot": "arm", "armed": False, "text": "", "mono_ns": 5, **mode}, 5)
    late = status(mode="simulation", late_steps={"count": 77})  # it may have been made before
    view.take({"event": "status", "status": late, "mono_ns": 6}, 9)
    html = overview([view], "", 10)
    assert html.count("disarmed") == 2  # in its chain, and in the table
    assert "<td>remote</td>" in html
    assert "<td>77</td>" in html


def test_texts_of_others_are_text() -> None:
    view = seen(latched=EVIL, mode=EVIL)
    view.take(link(EVIL, reason=EVIL, robots=[EVIL], listeners={EVIL: EVIL}), 5)
    view.config = f"/{EVIL}"
    view.status["topology"]["robots"][EVIL] = [EVIL]  # type: ignore[index]
    view.end(GONE, EVIL)
    html = overview([view], EVIL, 0)
    assert "<img" not in html
    assert html.count("&lt;img") >= 11


def link(name: str = "gateway@bench", **keys: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("sent", "delivered", "lost", "unsettled", "received", "missed"), 41)
    times = {"p50_ms": 0.2123, "p99_ms": 1.5, "round_trip_ms": None, "clock_offset_s": -0.000_002}
    fields = {"event": "link", "name": name, "state": "up", "reason": "", "mono_ns": 5, **times}
    fields["counts"] = {**counts, "late": 7, "dropped": 8}
    return {**fields, "robots": ["rover", "arm"], "listeners": {"rover.rx": "radio"}, **keys}


def test_other_gateways_have_latency_clock_counts_robots_and_listeners() -> None:
    view = seen()
    assert "Other gateways" not in overview([view], "", 0)
    view.take(link(), 5)
    view.take(link("gateway@far", state="failed", reason="speaks version 2"), 5)
    html = overview([view], "", 2 * NS_PER_S)
    for text in (
        "<caption>Other gateways</caption>",
        '<th scope="row">gateway@bench</th><td><span class="state good">up</span></td><td>41</td>',
        "<td>7</td><td>8</td><td>0.212 ms</td><td>1.5 ms</td><td></td><td>-0.000002 s</td>"
        "<td>rover, arm</td><td>rover.rx (radio)</td><td>2.0 s</td>",
        '<span class="state bad">failed speaks version 2</span>',
    ):
        assert text in html, text


def test_a_gateway_that_is_gone_shows_since_when_and_no_gateway_what_to_do() -> None:
    view = seen()
    view.end(GONE, "the gateway has ended")
    html = overview([view], "", 3 * NS_PER_S)
    assert "gone - last message 3.0 s ago" in html
    assert "hilgw --config FILE" in overview([], "", 0)


NOW = 3 * NS_PER_S // 2
ROBOT = {"armed": False, "latched": "estop", "mode": None}


def view_of(*events: dict[str, Any], path: str = "/run/1.sock", **robots: Any) -> GatewayView:
    view = Bench(lambda: 0).opened(path, "/lab/arm.yaml", 11)
    view.set_status({"robots": robots}, NS_PER_S)
    for number, event in enumerate(events):
        view.take({"mono_ns": NS_PER_S + number, "wall_s": 1.0, **event}, NOW)
    return view


def value(robot: str, device: str, value: Any, fields: list[str], units: list[str]) -> Any:
    known = {"robot": robot, "device": device, "value": value}
    return VALUE | known | {"fields": fields, "units": units}


def command(**more: Any) -> dict[str, Any]:
    applied, limits = {"velocity": 2.0, "position": "inf"}, {"velocity": [-6.0, 6.0]}
    known = {"robot": "arm", "device": "wheel", "given": {"velocity": 4.0}}
    return COMMAND | known | {"applied": applied, "limits": limits} | more


def test_sensors_have_their_names_units_and_ages() -> None:
    values = (
        value("arm", EVIL, "nan", ["range"], ["m"]),
        value("arm.remote", "gps", [1.0, 2.25, -3.0], ["x", "y", "z"], ["m", "m", "m"]),
        value("other", "secret", 1.0, [], []),
    )
    html = sensors(view_of(*values, arm=ROBOT), "arm", NOW)
    assert "<td>x 1 y 2.25 z -3 m</td><td></td><td>0.5 s</td>" in html
    assert "gps remote" in html
    assert "<td>nan m</td>" in html
    assert EVIL not in html
    assert "secret" not in html


ALL = {"acceleration": -1, "available": 10.0}
TO_POSITION = {"position": 1.5, "velocity": 4.0}


@pytest.mark.parametrize(
    ("events", "cells"),
    [
        ([command()], ["moving", "velocity", "4 rad/s", "", "2 rad/s"]),
        ([command(applied={"velocity": 0.0})], ["standing", "velocity", "4 rad/s", "", "0 rad/s"]),
        (
            [command(given=TO_POSITION | ALL, applied=TO_POSITION | ALL)],
            ["moves to its target, or is there", "position", "1.5", "4 rad/s", "1.5"],
        ),
        (
            [command(given={"torque": -3.0}, applied={"torque": -3.0, "velocity": 2.0})],
            ["moving", "torque", "-3", "", "-3"],
        ),
        (  # a position that is refused
            [command(given={"position": 1.0}, outcome="refused", applied={"velocity": 2.0})],
            ["moving", "velocity", "2 rad/s", "", "2 rad/s"],
        ),
    ],
)
def test_a_motor_is_one_row_with_what_it_shall_do_was_given_and_does(
    events: list[Any], cells: list[str]
) -> None:
    assert shown(motors(view_of(*events, arm=ROBOT), "arm", NOW))[1:6] == cells


def shown(html: str) -> list[str]:
    """The cells of the only row."""
    rows = re.findall("<tr>(.*?)</tr>", html)
    assert len(rows) == 2
    return [re.sub("<.*?>", "", each) for each in re.findall("<t[dh].*?</t[dh]>", rows[1])]


def test_a_motor_has_its_limits_its_other_settings_and_the_outcome() -> None:
    html = motors(view_of(command(given=ALL | {"velocity": 4.0}), arm=ROBOT), "arm", NOW)
    assert '<meter min="-6.0" max="6.0" value="2.0" aria-label="2 of 6"></meter>' in html
    assert shown(html)[7:] == ["-6 to 6", "0.5 s", "sent", "acceleration -1, available 10"]
    refused = command(outcome="refused", reason="not_armed", applied={}, body="remote")
    html = motors(view_of(refused, arm=ROBOT), "arm", NOW)
    assert "wheel remote" in html
    assert "refused: not armed" in html
    assert motors(view_of(refused, arm=ROBOT), "ar", NOW) == ""


REFUSED = command(outcome="refused", reason="not_armed", applied=TO_POSITION)


def stopped(robot: str = "arm") -> dict[str, Any]:
    return {"event": "stopped", "robot": robot, "reason": "disarmed", "text": ""}


@pytest.mark.parametrize(
    ("events", "cells"),
    [
        ([command(), stopped()], ["standing: disarmed", "0 rad/s"]),
        ([stopped(), command()], ["moving", "2 rad/s"]),
        ([command(), stopped("other")], ["moving", "2 rad/s"]),
        (  # a controller goes on after the stop: each command is refused
            [command(applied=TO_POSITION), stopped(), REFUSED, REFUSED],
            ["standing: disarmed", ""],
        ),
        ([stopped(), command(applied=TO_POSITION), REFUSED], ["moves to its target, or is there"]),
        ([stopped(), REFUSED], ["standing: disarmed", ""]),
        ([command(given=TO_POSITION), stopped()], ["standing: disarmed", ""]),
        ([command(body="body"), stopped()], ["standing: disarmed", "0 rad/s"]),
        ([command(body="remote"), stopped()], ["moving", "2 rad/s"]),
        ([command(body="remote"), stopped("arm.remote")], ["standing: disarmed", "0 rad/s"]),
        (
            [command(body="remote"), {"event": "port", "name": "arm.remote", "state": "failed"}],
            ["unknown: body failed", "2 rad/s"],
        ),
        ([command(), {"event": "port", "name": "arm.remote", "state": "failed"}], ["moving"]),
    ],
)
def test_a_motor_that_was_stopped_stands_and_one_of_a_lost_body_is_unknown(
    events: list[Any], cells: list[str]
) -> None:
    row = shown(motors(view_of(*events, arm=ROBOT), "arm", NOW))
    assert [row[1], row[5]][: len(cells)] == cells


def test_the_motors_of_a_gateway_that_is_gone_or_silent_are_unknown() -> None:
    view = view_of(command(), arm=ROBOT)
    assert shown(motors(view, "arm", NOW + 10 * NS_PER_S))[1] == "unknown: gateway silent"
    view.end("gone", "")
    assert shown(motors(view, "arm", NOW))[1] == "unknown: gateway gone"


def test_the_head_shows_that_no_controller_runs() -> None:
    text = "no controller runs: the program ended with exit code 0"
    html = head(view_of(arm=ROBOT | {"controller": {"runs": False, "text": text}}), "arm", NOW)
    assert f'class="state warn">{text}' in html
    html = head(view_of(arm=ROBOT | {"controller": {"runs": True, "text": ""}}), "arm", NOW)
    assert "controller" not in html


ARMED = {"event": "armed", "robot": "arm", "armed": True, "text": ""}


def test_the_head_is_the_newest_of_each_state() -> None:
    assert "latched by estop: arm it again" in head(view_of(arm=ROBOT), "arm", NOW)
    html = head(view_of({**ARMED, "mono_ns": NOW}, arm=ROBOT), "arm", NOW)
    assert "latched" not in html
    assert 'class="state good">armed' in html
    assert "0.0 s old" in html
    html = head(view_of({**ARMED, "armed": False, "mono_ns": 1}, arm=ROBOT), "arm", NOW)
    assert 'class="state bad">latched' in html
    assert "the gateway is silent" in head(view_of(arm=ROBOT), "arm", NOW * 9)
    assert "the gateway is up" in head(view_of(), EVIL, NOW)
    assert EVIL not in head(view_of(), EVIL, NOW)


def test_the_stop_log_is_that_of_the_robot_the_newest_first() -> None:
    html = stop_log(
        view_of(
            {"event": "stopped", "robot": "arm", "reason": "body_silent", "text": "no value"},
            {"event": "port", "name": "arm.body", "state": "back-off", "reason": "unplugged"},
            {"event": "mode", "robot": "arm", "mode": "remote"},
            {"event": "refused", "name": "arm", "reason": "not_armed", "text": EVIL},
            {"event": "armed", "robot": "other", "armed": True, "text": "not this one"},
            {"event": "output", "source": "arm.controller", "line": "a line"},
            # A state of before comes with the others, in any order.
            {**ARMED, "text": "long ago", "mono_ns": 5, "since_ns": 5},
        ),
        "arm",
    )
    texts = ("not armed", "mode remote", "back-off", "no value", "long ago")
    places = [html.index(text) for text in texts]
    assert places == sorted(places)
    assert EVIL not in html
    assert "not this one" not in html
    assert "a line" not in html
    many = ({"event": "mode", "robot": "arm", "mode": f"m{number}."} for number in range(150))
    html = stop_log(view_of(*many), "arm")
    assert html.count("<tr>") == 101 and "m149." in html and "m49." not in html


def test_output_is_text_without_escape_sequences_and_bounded() -> None:
    lines = ["\x1b[31mred\x1b[0m <b>", "\x1b]0;title", *(f"line {n}" for n in range(200))]
    events = [{"event": "output", "source": "arm.controller", "line": line} for line in lines]
    html = output(view_of(*events[:2]), "arm")
    assert "red &lt;b&gt;" in html
    assert "\x1b" not in html
    html = output(view_of(*events), "arm")
    assert "line 99" not in html
    assert "line 199" in html
    assert output(view_of(*events), "ar") == ""


def test_robots_of_several_gateways_are_distinguished() -> None:
    first, second = view_of(arm=ROBOT), view_of(path="/run/2.sock", arm=ROBOT, leg=ROBOT)
    second.pid, second.config = 12, "/other/arm.yaml"
    assert robots_of({"1": first}) == {("1", "arm"): "arm"}
    both = robots_of({"1": first, "2": second})
    assert list(both.values()) == ["arm (arm 11)", "arm (arm 12)", "leg (arm 12)"]
    second.config = "/other/leg.yaml"
    both = robots_of({"1": first, "2": second})
    assert list(both.values()) == ["arm (arm)", "arm (leg)", "leg (leg)"]


def test_a_sensor_has_a_bar_between_the_values_that_were_seen() -> None:
    seen = (value("arm", "ds", number, ["value"], ["m"]) for number in (0, 8, 2.0))
    html = sensors(view_of(*seen, value("arm", "gps", [1, 2], [], []), arm=ROBOT), "arm", NOW)
    assert '<meter min="0.0" max="8.0" value="2.0" aria-label="2 of 8"></meter>' in html
    assert "<td>0 to 8</td>" in html
    assert html.count("<meter") == 1


def folder_with(path: Path, *names: str) -> Path:
    path.mkdir()
    for number, name in enumerate(names):
        (path / name).write_bytes(b"x" * (number + 1))
        os.utime(path / name, (number, number))
    return path


def test_the_newest_recordings_come_first_and_nothing_else(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng", "b.txt", ".c.pcapng", "d e.pcapng", "f.pcapng")
    (folder / "link.pcapng").symlink_to(folder / "b.txt")
    (folder / "folder.pcapng").mkdir()
    assert files_of(str(folder)) == [File("f.pcapng", 5, 4.0), File("a.pcapng", 1, 0.0)]
    assert files_of(str(tmp_path / "none")) == []


OTHERS = ("link.pcapng", "folder.pcapng", "pipe.pcapng", "../b.pcapng", "b.txt", "", ".pcapng")


@pytest.mark.parametrize("name", [*OTHERS, "no.pcapng"])
def test_no_other_file_is_opened(tmp_path: Path, name: str) -> None:
    folder = folder_with(tmp_path / "r", "b.txt")
    folder_with(tmp_path / "s", "b.pcapng")
    (folder / "link.pcapng").symlink_to(tmp_path / "s" / "b.pcapng")
    (folder / "folder.pcapng").mkdir()
    os.mkfifo(folder / "pipe.pcapng")
    assert opened(str(folder), name) is None


@given(st.text(max_size=20))
def test_a_name_of_a_stranger_leads_nowhere(name: str) -> None:
    assert opened("/", name) is None
    assert opened("/", f"../{name}.pcapng") is None


def recordings_view_of(folder: Path, config: str = "/lab/arm.yaml", **running: Path) -> GatewayView:
    """A gateway that records to this folder; running: the files, by name."""
    view = Bench(lambda: 0).opened(f"/run/{config}.sock", config, 11)
    known = {"bytes": 5, "lost": 3, "error": ""}
    files = {name: {"file": str(path), **known} for name, path in running.items()}
    view.set_status({"recordings": {"folder": str(folder), "running": files}}, 0)
    return view


def test_what_runs_has_the_present_size_and_a_button_for_those_who_may(tmp_path: Path) -> None:
    file = tmp_path / "own.pcapng"
    file.write_bytes(b"x" * 62_000_000)
    view = recordings_view_of(tmp_path / "kept", own=file, gone=tmp_path / "gone", **{EVIL: file})
    html = running(view, may_end=True)
    assert "<td>62.0 MB</td>" in html
    assert 'data-name="own" aria-label="End own"' in html
    assert html.count("<button") == 3
    assert "<img" not in html
    assert "<button" not in running(view, may_end=False)
    file.write_bytes(b"x" * 1500)
    assert "<td>1.5 kB</td>" in running(view, may_end=True)


def test_the_files_of_a_folder_are_listed_with_its_gateways_and_what_runs(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng", "b.pcapng")
    elsewhere = tmp_path / "a.pcapng"
    views = [
        recordings_view_of(folder, a=elsewhere),
        recordings_view_of(folder, "/lab/leg.yaml", b=folder / "b.pcapng"),
    ]
    html = files_in(str(folder), views, links=True)
    assert "folder of arm, leg:" in html
    assert html.count("<a ") == 2
    rows = re.findall("<tr>(.*?)</tr>", html)[1:]
    assert ["running" in each for each in rows] == [True, False]  # of the same name elsewhere
    assert "<a " not in files_in(str(folder), views, links=False)


def test_a_folder_of_several_gateways_is_listed_once(tmp_path: Path) -> None:
    folder_with(tmp_path / "r", "a.pcapng")
    (tmp_path / "link").symlink_to(tmp_path / "r")
    folders = {"arm": tmp_path / "r", "leg": tmp_path / "link", "eye": tmp_path}
    views = (recordings_view_of(of, f"/lab/{name}.yaml") for name, of in folders.items())
    html = files_of_all(views, links=True)
    assert re.findall("folder of (.*?):", html) == ["arm, leg", "eye"]
    assert html.count("<a ") == 1


def test_of_many_recordings_the_newest_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    names = [f"{number}.pcapng" for number in range(recordings.MOST_FILES + 3)]
    folder = folder_with(tmp_path / "r", *names)
    html = files_in(str(folder), [recordings_view_of(folder)], links=False)
    assert html.count("<tr>") == recordings.MOST_FILES + 1
    assert "3 older ones are not shown" in html
    assert names[-1] in html and ">2.pcapng<" not in html


def test_a_recording_that_grows_is_sent_as_it_was(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "r", "a.pcapng")
    path = folder / "a.pcapng"
    path.write_bytes(os.urandom(2 * recordings.PIECE_BYTES + 5))
    before = path.read_bytes()
    download = opened(str(folder), "a.pcapng")
    assert download is not None
    with path.open("ab") as more:
        more.write(b"later")
    assert b"".join(pieces(*download)) == before
    download = opened(str(folder), "a.pcapng")
    assert download is not None
    path.write_bytes(b"short")
    assert b"".join(pieces(*download)) == b"short"
