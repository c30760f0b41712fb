"""What the page has of gateways, from their events and on a clock of the test."""

from typing import Any

from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import (
    GONE,
    LINE_BYTES,
    MOST_NAMES,
    PACKET_BYTES,
    PACKETS,
    SILENT,
    UP,
    GatewayView,
)
from hilgw.web.model import MOST_GONE, Bench
from tests.record.samples import PACKET


def packet(number: int = 0, data: str = "00", lost: str = "") -> dict[str, Any]:
    return PACKET | {"mono_ns": number, "data": data, "received_by": [], "not_received": lost}


def view() -> GatewayView:
    return Bench(lambda: 0).opened("/run/1.sock", "/lab/arm.yaml", 1)


def value(device: str, number: Any) -> dict[str, Any]:
    about = {"robot": "r", "device": device, "fields": [], "units": []}
    return {"event": "value", **about, "value": number, "mono_ns": 0}


def test_memory_is_bounded_by_packets_by_their_size_and_by_names() -> None:
    seen = view()
    for number in range(PACKETS + 10):
        seen.take(packet(number), 0)
    assert [each["mono_ns"] for each in seen.packets.since(PACKETS + 8)] == [2008, 2009]
    assert len(seen.packets.since(0)) == PACKETS
    big = "00" * (PACKET_BYTES // 20)
    for number in range(30):
        seen.take(packet(number, big), 0)
    assert 5 < len(seen.packets.since(0)) < 15
    for number in range(30):
        seen.take({"event": "output", "source": "x", "line": "y" * (LINE_BYTES // 10)}, number)
    assert len(seen.log.since(0)) < 12
    for number in range(MOST_NAMES + 5):
        seen.take(value(str(number), 1), 0)
        seen.take(packet(number, lost=f"reason{number}"), 0)
    assert len(seen.newest["value"]) == len(seen.lost) == MOST_NAMES
    assert len(seen.ranges) == MOST_NAMES


def test_losses_are_those_of_the_status_with_the_newest_event_of_each_kind() -> None:
    seen, refused = view(), {"event": "refused", "name": "xbee0", "reason": "range", "text": ""}
    late = packet(5, lost="range")
    full = refused | {"reason": "full"}  # which the status does not have
    for event in (packet(1, lost="range"), late, packet(6), full, refused):
        seen.take(event, 0)
    assert seen.losses() == []
    lost = {"not_received": {"range": 70}, "refused": {"range": 1}, "dropped": {"old": 1}}
    seen.set_status({"losses": lost}, 0)
    assert [tuple(each) for each in seen.losses()] == [
        ("not_received", "range", 70, late),
        ("refused", "range", 1, refused),
        ("dropped", "old", 1, None),
    ]


def test_a_gateway_that_was_restarted_takes_the_place_of_the_one_that_is_gone() -> None:
    bench = Bench(lambda: 0)
    first = bench.opened("/run/1.sock", "/lab/arm.yaml", 1)
    assert bench.opened("/run/1.sock", "/lab/arm.yaml", 1) is first
    assert bench.opened("/run/2.sock", "/lab/arm.yaml", 2).restarts == 0  # two of them
    first.end(GONE, "the gateway has ended")
    assert bench.opened("/run/3.sock", "/lab/arm.yaml", 3).restarts == 1
    assert list(bench.gateways) == ["/run/2.sock", "/run/3.sock"]
    for pid in range(10, 40):
        bench.opened(f"/run/{pid}.sock", f"/lab/{pid}.yaml", pid).end(GONE, "")
    assert len(bench.gateways) == 2 + MOST_GONE


def test_a_gateway_that_sends_nothing_is_silent_within_a_second_and_is_up_when_it_sends() -> None:
    seen = view()
    assert seen.state(NS_PER_S // 2) == UP
    assert seen.state(900 * NS_PER_MS) == SILENT
    seen.take(packet(), NS_PER_S)
    assert seen.state(NS_PER_S) == UP


def test_the_rate_is_that_of_the_last_second_and_names_what_was_left_out() -> None:
    seen = view()
    for _ in range(2000):
        seen.take(packet(), NS_PER_S)
    seen.take({"event": "left_out", "sampled": {"packet": 3000}, "slow": 7}, NS_PER_S + 1)
    assert seen.rate("packet", 2 * NS_PER_S) == (2000, 5000)
    assert seen.slow.value(2 * NS_PER_S) == 7
    assert seen.rate("packet", 3 * NS_PER_S) == (0, 0)
