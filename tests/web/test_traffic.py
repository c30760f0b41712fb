"""What the page Traffic shows of packets: filter, pause, all hops of one, and its command line."""

import re
import shlex
from typing import Any

import pytest

from hilgw.reasons import NotReceivedReason, PacketRefused
from hilgw.view.gateway import PACKETS, GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages.packets import Filter, capture, hops, send_command
from hilgw.web.pages.traffic import SHOWN, UPDATES, Traffic

EVIL = "<img src=x onerror=alert(1)>"
MS = 1_000_000
DATA = b"ping".hex()
FRAME = b"\x7e\x00ping\xff".hex()


def packet(at_ms: int = 0, source: str = "rover.tx", **more: Any) -> dict[str, Any]:
    known = {"channel": 12, "type": "radio", "data": DATA, "received_by": ["xbee0"], "missed": {}}
    known |= {"not_received": "", "rssi_dbm": None, "source": source, **more}
    return event("packet", at_ms, **known)


def event(kind: str, at_ms: int, **more: Any) -> dict[str, Any]:
    return {"event": kind, "mono_ns": at_ms * MS, "wall_s": at_ms / 1e3, **more}


def delivered(at_ms: int, station: str, source: str = "rover.tx") -> dict[str, Any]:
    return event("delivered", at_ms, station=station, source=source, data=DATA)


def frame(at_ms: int, station: str, direction: str = "sent", text: str = "TX") -> dict[str, Any]:
    return event("frame", at_ms, station=station, direction=direction, data=FRAME, text=text)


def refused(at_ms: int, name: str, reason: str) -> dict[str, Any]:
    return event("refused", at_ms, name=name, reason=reason, text="words")


def seen(*events: dict[str, Any], name: str = "1") -> GatewayView:
    view = Bench(lambda: 0).opened(f"/run/{name}.sock", "/lab/arm.yaml", 11)
    topology = {"stations": {"xbee0": "lab", "xbee1": "lab", "uart0": None, "rover.rx": None}}
    measured = {"count": 100, "buckets": [60, 99]}
    ports: Any = {"xbee0": {}, "xbee1": {}, "uart0": {}}
    latency = {"latency_bounds_s": [0.001, 0.002], "latency": {"emitter": {"rover.tx": measured}}}
    view.set_status({"ports": ports, "topology": topology, **latency}, 0)
    for record in events:
        view.take(record, 0)
    return view


def way(*events: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Hop, part, ms and whether it was lost there, of the first packet."""
    captured = capture(seen(*events))
    return [
        (hop.name, hop.part, hop.after_ns and hop.after_ns // MS, hop.lost)
        for hop in hops(captured, captured.packets[0])
    ]


def test_a_packet_through_all_its_hops() -> None:
    assert way(
        packet(),
        frame(1, "xbee0"),
        delivered(8, "xbee0"),
        frame(9, "xbee1", "received"),
        packet(10, "xbee1", received_by=["rover.rx"]),
        delivered(20, "rover.rx", "xbee1"),
    ) == [
        ("Emitter queue", "rover.tx", 0, False),
        ("line", "xbee0", 1, False),
        ("module", "xbee0", 8, False),
        ("air", "xbee1", 9, False),
        ("receiver", "rover.rx", 20, False),
    ]


def test_what_became_of_packets_is_followed_up_to_a_bound() -> None:
    view = seen(packet(), delivered(1, "xbee0"))
    at = capture(view)
    for _ in range(4):
        for number in range(PACKETS):
            view.take(frame(number, "xbee0"), 0)
        at = at.followed(view)
    assert len(at.traces) == 3 * PACKETS and at.traces[0]["event"] == "delivered"


@pytest.mark.parametrize("late_ms", [10_000, 10_001])
def test_the_same_bytes_after_ten_seconds_are_of_another_packet(late_ms: int) -> None:
    """The queue of the Emitter has its usual time, and what was not seen has none."""
    events = frame(late_ms, "xbee0"), delivered(late_ms, "xbee0"), refused(late_ms, "x", "no_ack")
    came = packet(late_ms, "xbee1", received_by=["rover.rx"])
    captured = capture(seen(packet(received_by=["xbee0", "x"]), *events, came))
    parts = [
        (hop.part, hop.after_ns and hop.after_ns // MS)
        for hop in hops(captured, captured.packets[0])
    ]
    seen_then = [("xbee0", late_ms), ("xbee0", late_ms), ("rover.rx", None), ("x", late_ms)]
    unseen = [("xbee0", None), ("x", None)]
    assert parts == [("rover.tx", 0), *(seen_then if late_ms == 10_000 else unseen)]
    assert hops(captured, captured.packets[0])[0].usual == "p99 2 ms"


def test_a_packet_from_the_air_came_over_the_line_of_its_module() -> None:
    events = frame(0, "xbee1", "received"), packet(2, "xbee1", received_by=["rover.rx"])
    assert way(*events)[:2] == [("line", "xbee1", -2, False), ("medium", "xbee1", 0, False)]
    assert way(*events)[2] == ("receiver", "rover.rx", None, False)  # nothing of it yet


def test_where_it_was_lost_and_why() -> None:
    lost = packet(received_by=[], not_received="range", missed={"rover.rx": "range"})
    refusal = refused(4, "xbee0", "own_echo"), refused(5, "xbee0", "no_ack")
    captured = capture(seen(lost, packet(1), *refusal))
    first, second = (hops(captured, each)[-1] for each in captured.packets)
    assert (first.name, first.part, first.lost) == ("medium", "rover.rx", True)
    assert first.text.endswith(NotReceivedReason.known("range").doc)
    assert (second.name, second.part, second.after_ns) == ("module", "xbee0", 4 * MS)
    assert second.lost
    assert second.text.endswith(PacketRefused.NO_ACK.doc)
    captured = capture(seen(packet(1), packet(2, data="00"), *refusal))
    assert "or a later one" in hops(captured, captured.packets[0])[-1].text


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (Filter(), 3),
        (Filter(" ROVER "), 3),
        (Filter("xbee0"), 1),
        (Filter("uart"), 1),
        (Filter(kind="infra-red"), 1),
        (Filter(lost=True), 1),
        (Filter("nobody"), 0),
    ],
)
def test_a_filter_takes_names_kinds_and_losses(given: Filter, count: int) -> None:
    lost = packet(received_by=[], not_received="range", missed={"uart0": "range"})
    events = packet(), lost, packet(received_by=[], type="infra-red")
    assert sum(map(given.takes, events)) == count


@pytest.mark.parametrize("word", ["ANT3", "ant3.rx", "rover", "bee"])
def test_a_filter_shows_only_rows_with_its_word(word: str) -> None:
    events = (
        packet(1, received_by=["ant1.rx"], missed={"ant2.rx": "range", "ant3.rx": "cone"}),
        packet(2, received_by=[], not_received="range", missed={"ant3.rx": "range"}),
        packet(3, received_by=[], not_received="no_listener"),
        packet(4, "bee.tx", received_by=["ant3.rx"]),
    )
    traffic = Traffic()
    traffic.update([seen(*events)], Filter(word), paused=False)
    rows = re.findall("<tr>(.*?)</tr>", traffic.packets())[1:]
    texts = [re.sub("<.*?>", "", each) for each in rows]
    assert len(texts) == len(traffic.rows) >= 1
    assert all(word.lower() in each.lower() for each in texts)
    assert ("ant3.rx: cone" in texts[-1]) is word.lower().startswith("ant3")
    assert "ant2.rx" not in "".join(texts)


def test_pause_keeps_the_view_and_follows_its_packets() -> None:
    view, traffic = seen(packet()), Traffic()
    traffic.update([view], Filter(), paused=False)
    traffic.choose(str(id(traffic.rows[0][1])))
    for record in (packet(1, "rover.other"), delivered(2, "xbee0")):
        view.take(record, 0)
    traffic.update([view], Filter(), paused=True)
    assert "rover.other" not in traffic.packets()
    assert "confirmed" in traffic.details()
    traffic.update([], Filter(), paused=True)
    assert "rover.tx" in traffic.packets()
    traffic.update([view], Filter(), paused=False)
    assert traffic.packets().index("rover.other") < traffic.packets().index("rover.tx")
    for number in range(PACKETS):
        view.take(packet(number, "rover.other"), 0)
        view.take(delivered(number, "x"), 0)
    traffic.update([view], Filter(), paused=False)
    assert "confirmed" in traffic.details()  # still, as it was


def test_a_packet_that_the_table_shows_no_more_is_chosen_with_those_beside_it() -> None:
    """At 2,000 packets/s a click comes when the table has others."""
    view, traffic = seen(packet(), packet(1, data="00")), Traffic()
    traffic.update([view], Filter(), paused=False)
    key = str(id(traffic.rows[1][1]))
    for count in range(1, UPDATES):
        for number in range(PACKETS):
            view.take(packet(count * PACKETS + number, "rover.other"), 0)
        traffic.update([view], Filter(), paused=False)
    assert "rover.tx" not in traffic.packets()
    traffic.choose(key)
    traffic.update([view], Filter(), paused=True)
    assert "rover.tx" in traffic.details()
    assert traffic.packets().count("<tr>") == 3
    assert traffic.packets().count('aria-pressed="true"') == 1
    assert "rover.other" not in traffic.packets()


def test_it_is_bounded_and_shows_of_how_many() -> None:
    view, traffic = seen(*(packet(at, data="78" * 25) for at in range(PACKETS + 9))), Traffic()
    for number in range(SHOWN + 9):
        view.take(frame(number, "xbee0"), 0)
    view.take(event("left_out", 0, slow=0, sampled={"packet": 5000}), 0)
    traffic.update([view], Filter(), paused=False)
    for shown in (traffic.packets(), traffic.frames()):
        assert shown.count("<tr>") == SHOWN + 1
    assert traffic.packets().count(f"<code>{'x' * 24}…</code> 25 B") == SHOWN
    text = traffic.amount([view], 1_000_000_000)
    assert f"sampled: {PACKETS + 9} of {PACKETS + 5009} packets/s" in text
    assert f"{SHOWN} of {PACKETS}, of the newest {PACKETS}" in text


def test_texts_of_others_are_text_and_the_frames_are_decoded() -> None:
    evil = packet(1, EVIL, received_by=[EVIL], data=EVIL.encode().hex())
    traffic = Traffic()
    traffic.update([seen(evil, frame(1, EVIL, text=EVIL))], Filter(), paused=False)
    traffic.choose(str(id(traffic.rows[0][1])))
    html = traffic.packets() + traffic.frames() + traffic.details()
    assert "<img" not in html
    assert "-&gt; 7e 00 70 69 6e 67 ff  | &lt;img" in traffic.frames()


@pytest.mark.parametrize("data", [b"a b", b"$(x) '\"\\", b"-h", b"\xff\x00", "ä".encode(), b"a\n"])
def test_the_command_line_has_the_same_bytes_after_the_shell(data: bytes) -> None:
    line = send_command(capture(seen()), packet(data=data.hex(), channel=-1), select=True)
    program, *head, last = shlex.split(line)
    assert program == "hilgw"
    assert head[:4] == ["send", "rover.tx", "--channel=-1", "--control=/run/1.sock"]
    assert (bytes.fromhex(last) if head[4:] == ["--hex"] else last.encode()) == data


def test_the_command_line_of_a_packet_of_hilgw_send_names_its_station() -> None:
    line = send_command(capture(seen()), packet(source="command"), select=False)
    assert line == "hilgw send xbee0 --channel=12 ping"
