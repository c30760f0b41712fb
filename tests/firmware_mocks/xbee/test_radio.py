"""Strength, air time, retries, loss, duplicates."""

import pytest

from firmware_mocks.air import Signal
from firmware_mocks.xbee.network.packets import Request
from tests.firmware_mocks.bench import BROADCAST, XBeeAir, wrap


def test_the_strength_at_1_m_can_be_calibrated(bench: XBeeAir) -> None:
    one, two = bench.add(rssi_at_1m_dbm=-52), bench.add(position=(1, 0, 0))
    bench.settle()
    bench.tx64(one, BROADCAST, b"x")
    assert bench.frames(two)[0][9] == 52


@pytest.mark.parametrize(
    ("kind", "reach"), [("s1", 398), ("s1pro", 1000), ("xbee3", 1412), ("900hp", 1122)]
)
def test_too_weak_is_not_received(bench: XBeeAir, kind: str, reach: float) -> None:
    one = bench.add(hardware=kind)
    near = bench.add(hardware=kind, position=(reach, 0, 0))
    far = bench.settled(hardware=kind, position=(reach * 1.01, 0, 0))
    frame = b"\x10\x00" if kind == "900hp" else b"\x00\x00"
    frame += BROADCAST.to_bytes(8, "big") + (b"\xff\xfe\x00" if kind == "900hp" else b"") + b"\x00x"
    bench.ask(one, frame, 500)
    assert len(bench.frames(near)) == 1
    assert bench.frames(far) == []


def test_a_packet_takes_its_time_on_the_air(bench: XBeeAir) -> None:
    one, two = bench.pair(baudRate=921600)
    bench.put(one, wrap(b"\x00\x01" + BROADCAST.to_bytes(8, "big") + b"\x00" + bytes(100)))
    begin = bench.now
    bench.log.clear()
    bench.run(50)
    arrived = next(when for when, module, _ in bench.log if module is two)
    # 320 us of looking, 125 bytes (6 PHY, 7 MAC, 2 + 8 addresses, 2 header) at 250 kb/s
    assert arrived - begin == 320_000 + (100 + 25) * 32_000


def test_one_at_a_time_on_a_channel_and_independent_of_others(bench: XBeeAir) -> None:
    senders = [bench.add(channel=12, baudRate=921600) for _ in range(2)]
    other = bench.add(channel=13, baudRate=921600)
    receivers = [bench.add(channel=channel, baudRate=921600) for channel in (12, 13)]
    bench.settle()
    frame = wrap(b"\x00\x00" + BROADCAST.to_bytes(8, "big") + b"\x00" + bytes(100))
    bench.run(len(frame) * 0.011)
    for module in (*senders, other):
        module.receive(frame, bench.now)
    begin = bench.now
    bench.log.clear()
    bench.run(50)
    one = 4_320_000
    assert [when - begin for when, module, _ in bench.log if module is receivers[0]] == [
        one,
        2 * one,
    ]
    assert [when - begin for when, module, _ in bench.log if module is receivers[1]] == [one]


def test_loss_is_met_by_retries_and_duplicates_are_dropped() -> None:
    bench = XBeeAir(seed=5, loss=0.3)
    one, two = bench.pair(RR="6", baudRate=115200)
    for number in range(100):
        assert bench.tx64(one, two.address, b"%d" % number) == 0
    assert [frame[11:] for frame in bench.frames(two)] == [b"%d" % n for n in range(100)]


def test_without_digis_header_a_lost_acknowledgement_makes_a_duplicate() -> None:
    bench = XBeeAir(seed=5, loss=0.3)
    one, two = bench.pair(MM="2", baudRate=115200)
    for number in range(50):
        bench.tx64(one, two.address, b"%d" % number)
    received = [frame[11:] for frame in bench.frames(two)]
    assert len(received) > len(set(received))


def test_loss_of_broadcasts_is_the_airs_and_repeats_with_its_seed() -> None:
    def arrived(seed: int) -> list[bytes]:
        bench = XBeeAir(seed=seed, loss=0.25)
        one, two = bench.pair(baudRate=115200)
        for number in range(200):
            assert bench.tx64(one, BROADCAST, b"%d" % number, ms=20) == 0
        return [frame[11:] for frame in bench.frames(two)]

    assert arrived(1) == arrived(1)
    assert arrived(1) != arrived(2)
    assert 130 <= len(arrived(1)) <= 170


def test_a_module_without_power_neither_receives_nor_acknowledges(bench: XBeeAir) -> None:
    one, two = bench.pair()
    two.switch_off()
    assert bench.tx64(one, two.address, b"x") == 1
    bench.put(two, wrap(b"\x08\x01AP"))
    bench.run(100)
    assert bench.frames(two) == []
    two.reset(bench.now)
    bench.run(50)
    assert bench.frames(two) == [b"\x8a\x00"]
    assert bench.tx64(one, two.address, b"x") == 0


def test_a_reset_forgets_what_was_being_sent(bench: XBeeAir) -> None:
    one, two = bench.pair(RR="6")
    bench.put(one, wrap(b"\x00\x01" + bytes(8) + b"\x00lost"))
    assert one.radio.busy
    one.reset(bench.now)
    assert not one.radio.busy
    bench.put(one, wrap(b"\x00\x02" + bytes(8) + b"\x00nobody"))
    bench.put(one, wrap(b"\x00\x03" + two.address.to_bytes(8, "big") + b"\x00kept"))
    bench.run(500)
    assert bench.frames(one) == [b"\x8a\x00", b"\x89\x02\x01", b"\x89\x03\x00"]
    assert bench.get(one, b"EA") == b"\x00\x01"


def test_db_begins_anew_with_a_restart_even_after_wr(bench: XBeeAir) -> None:
    one, two = bench.pair()
    bench.tx64(one, two.address, b"x")
    bench.taken(two)
    assert bench.get(two, b"DB") == b"\x28"
    bench.at(two, b"WR")
    two.reset(bench.now)
    bench.settle()
    assert bench.get(two, b"DB") == b"\x00"


def test_the_firmwares_own_queue_is_bounded(bench: XBeeAir) -> None:
    """A node that answers faster than it can send drops, and does not grow."""
    chatty = bench.add(replies={"": "x" * 40}, RR="6")
    talker = bench.settled(baudRate=115200, position=(1, 0, 0))
    gone = bench.settled("gone", baudRate=921600)
    for number in range(60):
        packet = gone.addressing.packet(Request(b"%d" % number, BROADCAST))
        chatty.radio.signal_received(
            Signal(gone.radio, gone.radio.band, packet, -40.0, 1), -40.0, bench.now
        )
    assert chatty.radio.dropped == 60 - 16
    gone.switch_off()
    bench.run(3000)
    assert not chatty.radio.busy
    head = b"\x00\x01" + chatty.address.to_bytes(8, "big") + b"\x00"
    status, answer = bench.ask(talker, head + b"still there?")
    assert status == b"\x89\x01\x00"
    assert answer.endswith(b"x" * 40 + b"still there?")
