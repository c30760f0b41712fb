"""The HTML of the page Robot."""

from __future__ import annotations

from typing import Any

from hilgw.units import NS_PER_S
from hilgw.web.model import Bench, GatewayView
from hilgw.web.pages.robot import head, motors, output, robots_of, sensors, stop_log

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
    return {"event": "value", "robot": robot, "device": device, "value": value} | {
        "fields": fields,
        "units": units,
    }


def command(**more: Any) -> dict[str, Any]:
    return {
        "event": "command",
        "robot": "arm",
        "body": "",
        "device": "wheel",
        "given": {"velocity": 4.0},
        "outcome": "sent",
        "reason": "",
        "applied": {"velocity": 2.0, "position": "inf"},
        "units": {"velocity": "rad/s"},
        "limits": {"velocity": [-6.0, 6.0]},
    } | more


def test_sensors_have_their_names_units_and_ages() -> None:
    html = sensors(
        view_of(
            value("arm", EVIL, "nan", ["range"], ["m"]),
            value("arm.remote", "gps", [1.0, 2.25, -3.0], ["x", "y", "z"], ["m", "m", "m"]),
            value("other", "secret", 1.0, [], []),
            arm=ROBOT,
        ),
        "arm",
        NOW,
    )
    assert "<td>x 1 y 2.25 z -3 m</td><td>0.5 s</td>" in html
    assert "gps remote" in html
    assert "<td>nan m</td>" in html
    assert EVIL not in html
    assert "secret" not in html


def test_motors_have_what_was_commanded_and_applied_within_limits() -> None:
    html = motors(view_of(command(), arm=ROBOT), "arm", NOW)
    row = "<td>velocity</td><td>4</td><td>2</td><td>rad/s</td><td>-6 to 6</td>"
    assert row in html
    assert '<meter min="-6.0" max="6.0" value="2.0" aria-label="2 of 6"></meter>' in html
    assert "<td>position</td><td></td><td>inf</td><td></td><td></td><td></td>" in html
    refused = command(outcome="refused", reason="not_armed", applied={}, body="remote")
    html = motors(view_of(refused, arm=ROBOT), "arm", NOW)
    assert "wheel remote" in html
    assert "refused: not armed" in html
    assert motors(view_of(refused, arm=ROBOT), "ar", NOW) == ""


def test_the_head_is_the_newer_of_status_and_event() -> None:
    assert "latched by estop: arm it again" in head(view_of(arm=ROBOT), "arm", NOW)
    armed = {"event": "armed", "robot": "arm", "armed": True, "text": ""}
    html = head(view_of({**armed, "mono_ns": NOW}, arm=ROBOT), "arm", NOW)
    assert "latched" not in html
    assert 'class="state good">armed' in html
    assert "0.0 s old" in html
    html = head(view_of({**armed, "mono_ns": 1}, arm=ROBOT), "arm", NOW)
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
    assert robots_of({"1": first}) == {("1", "arm"): "arm"}
    assert list(robots_of({"1": first, "2": second}).values()) == [
        "arm (arm)",
        "arm (arm)",
        "leg (arm)",
    ]
