"""What the page has of gateways, from their events and on a clock of the test."""

from typing import Any

from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.cells import MOST_NAMES
from hilgw.view.gateway import GONE, LINE_BYTES, PACKET_BYTES, PACKETS, SILENT, UP, GatewayView
from hilgw.view.series import Points
from hilgw.web.model import MOST_GONE, Bench
from tests.record.samples import PACKET, VALUE


def packet(number: int = 0, data: str = "00", lost: str = "") -> dict[str, Any]:
    return PACKET | {"mono_ns": number, "data": data, "received_by": [], "not_received": lost}


def view() -> GatewayView:
    return Bench(lambda: 0).opened("/run/1.sock", "/lab/arm.yaml", 1)


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


def test_a_state_that_a_new_subscription_repeats_is_logged_once_and_is_as_new() -> None:
    seen, armed = view(), {"event": "armed", "robot": "rover", "text": ""}

    def take(time: int, is_armed: bool, **more: Any) -> None:
        times = {"mono_ns": time, "time_ns": time, "wall_s": time}
        seen.take({**armed, "armed": is_armed, **times, **more}, 9)

    take(1, True, since_ns=1)  # from before the page
    take(2, False)
    take(2, False, since_ns=2)  # as the page subscribes anew
    take(3, True)
    take(4, False, since_ns=4)  # it came between both subscriptions
    assert [each["mono_ns"] for each in seen.log.since(0)] == [1, 2, 3, 4]
    assert seen.newest["armed"]["rover"]["armed"] is False
    assert seen.shown["armed"].total == 2


def test_a_repeated_value_adds_nothing_to_a_series() -> None:
    seen = view()
    seen.series["rover: ds"] = Points("m")
    value = VALUE | {"value": 1.0, "wall_s": 1.0, "mono_ns": 5, "time_ns": 5}
    seen.take(value | {"since_ns": 5}, 9)
    assert seen.newest["value"]["rover.ds"]["value"] == 1.0
    assert seen.series["rover: ds"].added == 0
    seen.take(value, 9)
    assert seen.series["rover: ds"].added == 1


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


def test_losses_are_those_of_the_status_with_the_newest_event_that_was_seen() -> None:
    seen = view()
    late = packet(5, lost="range")
    for event in (packet(1, lost="range"), late, packet(6)):
        seen.take(event, 0)
    seen.take({"event": "refused", "name": "xbee0", "reason": "full", "text": ""}, 0)
    assert seen.losses() == []
    seen.set_status({"losses": {"not_received": {"range": 70}, "dropped": {"old": 1}}}, 0)
    assert [tuple(each) for each in seen.losses()] == [
        ("not_received", "range", 70, late),
        ("dropped", "old", 1, None),
    ]


def test_a_reason_of_two_kinds_of_loss_has_the_newest_event_of_each() -> None:
    seen, refused = view(), {"event": "refused", "name": "xbee0", "reason": "channel", "text": ""}
    lost = packet(1, lost="channel")
    for event in (lost, refused):
        seen.take(event, 0)
    seen.set_status({"losses": {"not_received": {"channel": 1}, "refused": {"channel": 1}}}, 0)
    assert [tuple(each) for each in seen.losses()] == [
        ("not_received", "channel", 1, lost),
        ("refused", "channel", 1, refused),
    ]


def test_a_status_is_of_when_the_gateway_made_it() -> None:
    seen = view()
    seen.set_status({"mono_ns": 5}, 9)
    assert (seen.status_ns, seen.message_ns) == (5, 9)


def test_the_smallest_and_the_largest_value_of_a_sensor_are_kept() -> None:
    seen = view()
    for number in (3, -1, "nan", "inf", 2, [7, 8]):
        seen.take(value("ds", number), 0)
    assert seen.ranges == {("value", "r.ds"): (-1, 3)}


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
