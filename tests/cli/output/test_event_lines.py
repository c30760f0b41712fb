"""The events of a gateway in words."""

import time
from typing import Any

import pytest

from hilgw.cli.output.live_table import csv_rows, in_words
from hilgw.events import kinds as events
from tests.view.samples import sample

WALL_S = time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1)) + 0.678
LINES: list[tuple[dict[str, Any], str]] = [
    (
        sample("value", robot="r", device="gps", value=[1.5, "nan", 2], fields=["x", "y"],
               units=["m", "rad"]),
        "r.gps            x 1.5 m y nan rad [2] 2",
    ),
    (
        sample("value", robot="r", device="ds", value=907.0, fields=["value"], units=[""]),
        "r.ds             907",
    ),
    (
        sample("frame", station="x", direction="sent", data="7e00", text="send 'a'"),
        "x                -> 7e 00  | send 'a'",
    ),
    (sample("mode", robot="r", mode="remote"), "r                mode remote"),
    (
        sample("command", robot="r", body="", device="left", outcome="sent", reason="",
               given={"position": "inf", "velocity": 2}, applied={"velocity": 2}, units={}),
        "r.left           position inf, velocity 2 sent",
    ),
    (
        sample("command", robot="r", device="left", given={"velocity": 2}, applied={}, units={}),
        "r.remote.left    velocity 2 refused: no stop",
    ),
    (
        sample("packet", source="r.tx", channel=5, data="7069ff", received_by=["a", "b"],
               not_received="", missed={"c": "range"}, rssi_dbm=None),
        'r.tx             ch 5   "pi\\xff" 3 B  -> a, b; not c (range)',
    ),
    (
        sample("packet", source="r.tx", channel=5, data="", not_received="no_listener", missed={},
               rssi_dbm=-71.4),
        'r.tx             ch 5   "" 0 B  -71 dBm  not received: no listener',
    ),
    (
        sample("delivered", station="x", source="r.tx", data="70"),
        'x                delivered "p" 1 B from r.tx',
    ),
    (
        sample("refused", name="x", reason="no_ack", text="lost"),
        "x                refused (no ack) lost",
    ),
    (sample("bytes", part="x", data="7eff"), "x                -> 7e ff"),
    (sample("bytes", part="x", direction="received", data="00"), "x                <- 00"),
    (sample("port", name="x", state="up", reason="XBee"), "x                up: XBee"),
    (sample("port", name="x", state="closed", reason=""), "x                closed"),
    (sample("armed", robot="r", armed=True, text=""), "r                armed"),
    (sample("armed", robot="r", armed=False, text=""), "r                disarmed"),
    (
        sample("stopped", robot="r", reason="late", text="it was late"),
        "r                motors stopped: it was late",
    ),
    (sample("placed", name="r", position=[1, 2.5, 0]), "r                at x 1 y 2.5 z 0 m"),
    (sample("placed", name="r", position=None), "r                its position is unknown"),
    (
        sample("link", name="gateway@b", state="waiting", reason="lost", p50_ms=None, p99_ms=None,
               round_trip_ms=None, clock_offset_s=None, robots=["a\x1b[2J"], listeners={}),
        "gateway@b        waiting: lost; sent 1, delivered 1, lost 1, unsettled 1; received 1, "
        "missed 1, late 1, dropped 1; robots a\\x1b[2J",
    ),
    (sample("output", source="r.controller", line="a\x1b[2J"), "r.controller     a\\x1b[2J"),
    (sample("notice", source="x", text="a remark"), "x                a remark"),
    (
        sample("left_out", sampled={"packet": 7}, slow=3),
        "                 ... left out: 7 of packet, 3 as this reads too slowly",
    ),
    (sample("status", status={"ports": {"x": {}}}), "                 status of 1 ports"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "line"), LINES)
def test_an_event_is_one_line(event: dict[str, Any], line: str) -> None:
    assert in_words({**event, "wall_s": WALL_S}) == f"03:04:05.678  {line}"


def test_every_kind_has_words() -> None:
    assert {event["event"] for event, _ in LINES} == set(events.LIVE)


def test_an_event_of_a_later_version_is_shown_too() -> None:
    assert "unheard-of" in in_words({"event": "unheard-of", "wall_s": 0.0})


@pytest.mark.parametrize(
    "given",
    [
        sample("value", device="d\x1b[2J", value=1.0, fields=["f\x1b"], units=["u\x07"]),
        sample("refused", name="x\x1b]0;t\x07", text="a\x1b[2J\nb"),
    ],
)
def test_rows_of_csv_have_nothing_that_a_terminal_obeys(given: dict[str, Any]) -> None:
    (row,) = csv_rows({**given, "wall_s": WALL_S, "mono_ns": 1, "time_ns": 2})
    assert all(text.isprintable() for text in map(str, row)) and "\\x1b" in row[3]
