"""The HTML of the page Robot."""

import re
from typing import Any

import pytest

from hilgw.units import NS_PER_S
from hilgw.view.gateway import GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages.robot import head, motors, output, robots_of, sensors, stop_log
from tests.record.samples import COMMAND, VALUE

EVIL = "<img src=x onerror=alert(1)>"
NOW = 3 * NS_PER_S // 2
ROBOT = {"armed": False, "latched": "estop", "mode": None}


def view_of(*events: dict[str, Any], path: str = "/run/1.sock", **robots: Any) -> GatewayView:
    view = Bench(lambda: 0).opened(path, "/lab/arm.yaml", 11)
    view.set_status({"robots": robots}, NS_PER_S)
    for at, event in enumerate(events):
        view.take({"mono_ns": NS_PER_S + at, "wall_s": 1.0, **event}, NOW)
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


def test_the_head_is_the_newest_of_each_state() -> None:
    assert "latched by estop: arm it again" in head(view_of(arm=ROBOT), "arm", NOW)
    armed = {"event": "armed", "robot": "arm", "armed": True, "text": ""}
    html = head(view_of({**armed, "mono_ns": NOW}, arm=ROBOT), "arm", NOW)
    assert "latched" not in html
    assert 'class="state good">armed' in html
    assert "0.0 s old" in html
    html = head(view_of({**armed, "armed": False, "mono_ns": 1}, arm=ROBOT), "arm", NOW)
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
        ),
        "arm",
    )
    found = [html.index(text) for text in ("not armed", "mode remote", "back-off", "no value")]
    assert found == sorted(found)
    assert EVIL not in html
    assert "not this one" not in html
    assert "a line" not in html


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
