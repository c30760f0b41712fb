"""Other gateways in words: what a person sees, and that texts of the network are only texts."""

from typing import Any

from hilgw.cli.output.federation import network_lines, status_lines
from hilgw.cli.output.summary import summary_lines
from hilgw.cli.output.text import Style
from hilgw.events.kinds import words
from hilgw.events.wire import MOST_OF_LINK, link
from hilgw.events.words import way
from hilgw.protocols.gateway.network import added_up
from tests.protocols.gateway.test_gateway import gateway as counts_of, link as link_of, quiet

PLAIN = Style(on=False)
EVIL = "a\x1b[2J\u202e<img src=x>\ud800\n"


def gateway(**more: Any) -> dict[str, Any]:
    """As of `Federated.status`."""
    counts = {"sent": 9, "delivered": 7, "lost": 2, "unsettled": 0, "unconfirmed": 0}
    back = {"received": 5, "missed": 1, "late": 0, "entered": 4, "dropped": {"duplicate": 1}}
    times = {"round_trip_ms": 0.4, "clock_offset_s": -12.5}
    times["latency"] = {"count": 5, "p50_ms": 0.2123, "p99_ms": 1.5, "max_ms": 2.0}
    about = {"id": "00000000000000ff", "version": 1, "hilgw": "0.2.0"}
    own = {"type": "radio", "channels": [5]}
    listeners = {"rover.rx": own, "xbee0": {"type": "radio", "air": "lab"}}
    parts = {"robots": {"rover": ["tx", "rx"]}, "listeners": listeners}
    return {"state": "up", "reason": "", **counts, **back, **times, **about, **parts, **more}


def federation(**gateways: Any) -> dict[str, Any]:
    outside = {"entered": 3, "dropped": {"wrong_sender": 2}}
    summary = {"name": "bench", "network": "lab", "gateways": gateways, "outside": outside}
    return {**summary, "unreached": {}}


def test_the_status_has_latency_clock_counts_robots_and_listeners() -> None:
    assert [*status_lines(federation(simulator=gateway()), PLAIN)] == [
        "  federation: bench in the network lab, 1 other gateway",
        "    simulator up; one way p50 0.212 ms, p99 1.5 ms, round trip 0.4 ms, "
        "clock offset -12.500 s",
        "      to it: sent 9, delivered 7, lost 2, unsettled 0",
        "      from it: received 5, missed 1, late 0, dropped 1 duplicate",
        "      robots: rover (tx, rx)",
        "      listeners: rover.rx (radio, channel 5), xbee0 (radio, all channels, "
        "module in air lab)",
        "    from outside: 3 packets of other programs, dropped 2 wrong sender",
    ]


def test_an_event_of_a_link_is_one_bounded_line() -> None:
    event = link("gateway@simulator", gateway())
    shown = {each: getattr(event, each) for each in type(event).__slots__}
    assert words({"event": "link", **shown}) == (
        "up; one way p50 0.212 ms, p99 1.5 ms, round trip 0.4 ms, clock offset -12.500 s; "
        "sent 9, delivered 7, lost 2, unsettled 0; received 5, missed 1, late 0, dropped 1; "
        "robots rover; listeners rover.rx (radio), xbee0 (radio)"
    )
    many = {f"{EVIL}{number}": {"type": "radio"} for number in range(10_000)}
    event = link("gateway@x", gateway(listeners=many, robots={name: [EVIL] for name in many}))
    assert len(event.robots) == len(event.listeners) == MOST_OF_LINK
    assert all(name.isprintable() for name in (*event.robots, *event.listeners))
    for offset_s, text in ((0.000_012, "+0.012 ms"), (3600.0, "+3600.000 s")):
        assert way(None, None, None, offset_s) == f"clock offset {text}"


def test_the_status_names_what_is_not_reached_or_refuses() -> None:
    reason = "speaks version 2 of the federation, this gateway 1"
    unknown = {"latency": {"p50_ms": None, "p99_ms": None}, "robots": {}, "listeners": {}}
    times = {"round_trip_ms": None, "clock_offset_s": None}
    refused = gateway(state="failed", reason=reason, **unknown, **times)
    status = {**federation(new=refused), "unreached": {"tower": ["desk", "field"]}}
    lines = [*status_lines(status, PLAIN)]
    assert f"    new failed: {reason}" in lines  # one that is silent has no times
    line = "    tower is not reached, but by desk, field: connect the two, or all to one router"
    assert line in lines


def test_texts_of_the_network_are_printable() -> None:
    listeners = {EVIL: {"type": EVIL, "channels": [1], "air": EVIL}}
    hostile = gateway(robots={EVIL: [EVIL]}, listeners=listeners, reason=EVIL, state="waiting")
    shown = [*status_lines({**federation(**{EVIL: hostile}), "network": EVIL, "name": EVIL}, PLAIN)]
    counts = {"a": counts_of("1", **{EVIL: link_of("2")}), EVIL: None}
    counts["a"]["losses"] = {EVIL: {EVIL: 1}}
    counts["a"]["violations"] = [EVIL]
    shown += network_lines(EVIL, added_up(counts, counts), PLAIN)
    assert len(shown) > 12
    assert all(line.isprintable() for line in shown), shown


def test_what_does_not_add_up_or_answer_is_named() -> None:
    given = {**quiet(), "c": None}
    text = "\n".join(network_lines("lab", added_up(given, given), PLAIN))
    assert text.endswith("not all is known: a gateway did not answer")
    given["a"]["members"]["b"]["sent"] = 1000
    given["b"]["members"]["c"] = link_of("3", sent=1)
    given["b"]["violations"] = ["station x: accepted 1 != delivered 0"]
    text = "\n".join(network_lines("lab", added_up(given, given), PLAIN))
    assert "    sent is not delivered + lost + unsettled\n" in text
    assert "  b: station x: accepted 1 != delivered 0\n" in text
    assert "  c did not answer\n" in text
    assert text.endswith("\n  THE LEDGERS DO NOT ADD UP")


def test_what_others_answer_prints_a_bounded_text() -> None:
    given: dict[str, Any] = quiet()
    given["a"]["members"] |= {f"{name:0500}": link_of("9") for name in range(500)}
    given["a"]["violations"] = ["x" * 10_000] * 1000
    given["a"]["losses"] = {f"loss {name}": {"y" * 9000: 1} for name in range(500)}
    given |= {f"{name:0900}": None for name in range(900)}
    lines = [*network_lines("lab", added_up(given, given), PLAIN)]
    assert len(lines) < 400 and max(map(len, lines)) < 5000
    assert any("438 more links" in line for line in lines)
    given["b"]["ledger"]["packets"] = 1 << 62
    assert added_up(given, given)["silent"][0] == "b"


def test_the_summary_of_a_run_has_each_link() -> None:
    keys = ("emitters", "stations", "latency", "robots", "control_loops", "received_by")
    parts: dict[str, Any] = {key: {} for key in keys}
    ledger = {"adds_up": True, "violations": []}
    report = {**parts, "duration_s": 1.0, "ledger": ledger, "federation": federation(sim=gateway())}
    assert summary_lines(report)[1] == (
        "  sim            gateway: sent 9, delivered 7, lost 2, unsettled 0; "
        "received 5, missed 1, late 0, dropped 1 duplicate"
    )
