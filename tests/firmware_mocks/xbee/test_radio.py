"""Strength, air time, retries, loss, duplicates."""

from firmware_mocks.air import Signal
from firmware_mocks.xbee.network.packets import Request
from tests.firmware_mocks.bench import BROADCAST, XBeeAir, wrap


def test_without_digis_header_a_lost_acknowledgement_makes_a_duplicate() -> None:
    bench = XBeeAir(seed=5, loss=0.3)
    one, two = bench.pair(MM="2", baudRate=115200)
    for number in range(50):
        bench.tx64(one, two.address, b"%d" % number)
    received = [frame[11:] for frame in bench.frames(two)]
    assert len(received) > len(set(received))


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
