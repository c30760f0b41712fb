"""The HTML of the page Overview."""

from typing import Any

from hilgw.reasons import NotReceivedReason
from hilgw.units import NS_PER_S
from hilgw.view.gateway import GONE, GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages.overview import general, parts


def overview(views: list[GatewayView], problem: str, now: int) -> str:
    """All HTML of the page."""
    found = [part for view in views for part in parts(view, now).values()]
    return "".join([general(views, problem), *found])


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
    found = {"event": "link", "name": name, "state": "up", "reason": "", "mono_ns": 5, **times}
    found["counts"] = {**counts, "late": 7, "dropped": 8}
    return {**found, "robots": ["rover", "arm"], "listeners": {"rover.rx": "radio"}, **keys}


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
