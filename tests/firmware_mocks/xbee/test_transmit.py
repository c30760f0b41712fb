"""Plain 802.15.4: receivers, frames, and the status that the sender gets."""

from typing import Any

import pytest

from firmware_mocks.air import Signal
from firmware_mocks.xbee.network.packets import Request
from tests.firmware_mocks.bench import BROADCAST, XBeeAir, wrap

SUCCESS, NO_ACK, CCA, TOO_LARGE = 0x00, 0x01, 0x02, 0x74


def address(module: Any) -> bytes:
    return bytes(module.address.to_bytes(8, "big"))


@pytest.mark.parametrize("how", ["64", "16", "10", "10 by 16"])
def test_broadcast_reaches_all_and_is_never_acknowledged(bench: XBeeAir, how: str) -> None:
    one, two = bench.pair()
    three = bench.add(position=(0, 1, 0))
    elsewhere = bench.add(channel=13)
    foreign = bench.settled(pan_id=1)
    if how == "64":
        assert bench.tx64(one, BROADCAST, b"all") == SUCCESS
    elif how == "16":
        assert bench.tx16(one, 0xFFFF, b"all") == SUCCESS
    elif how == "10":
        assert bench.tx(one, BROADCAST, b"all") == b"\xff\xfe\x00\x00\x00"
    else:
        status = bench.tx(one, 0xFFFFFFFFFFFFFFFF, b"all", to16=0xFFFF)
        assert status == b"\xff\xff\x00\x00\x00"
    received = [b"\x80" + address(one) + b"\x28\x02all"]
    assert bench.frames(two) == received
    assert bench.frames(three) == received
    assert bench.frames(elsewhere) == bench.frames(foreign) == bench.frames(one) == []


@pytest.mark.parametrize(
    "difference", [{"channel": 13}, {"pan_id": 0x1234}, {"position": (2e3, 0, 0)}]
)
def test_a_unicast_that_is_not_received(bench: XBeeAir, difference: dict[str, Any]) -> None:
    one, two = bench.add(), bench.add(**difference)
    bench.settle()
    assert bench.tx64(one, two.address, b"x") == NO_ACK
    assert bench.frames(two) == []
    assert bench.get(one, b"EA") == b"\x00\x01"


@pytest.mark.parametrize(
    ("kind", "parameters", "to16", "most"),
    [
        ("s1", {}, False, 100),
        ("s1", {"EE": "1"}, False, 95),
        ("xbee3", {}, False, 102),
        ("xbee3", {}, True, 108),
        ("xbee3", {"my": 7}, False, 108),
        ("xbee3", {"my": 7}, True, 114),
        ("xbee3", {"EE": "1"}, False, 95),
        ("xbee3", {"EE": "1", "my": 7}, True, 101),
        ("xbee3", {"MM": "1"}, False, 104),
    ],
)
def test_the_largest_payload(
    bench: XBeeAir, kind: str, parameters: dict[str, Any], to16: bool, most: int
) -> None:
    sender = bench.add(hardware=kind, **parameters)
    receiver = bench.settled(hardware=kind, **(parameters | {"my": 2}))
    for size, status in ((most, SUCCESS), (most + 1, TOO_LARGE)):
        if to16:
            assert bench.tx16(sender, 2, bytes(size)) == status
        else:
            assert bench.tx64(sender, receiver.address, bytes(size)) == status
    assert len(bench.frames(receiver)) == 1


def test_encrypted_packets_need_the_same_key_and_show_a_long_source(bench: XBeeAir) -> None:
    secret = {"EE": "1", "KY": "0123456789ABCDEF0123456789ABCDEF", "my": 5}
    one, friend = bench.add(**secret), bench.add(**(secret | {"my": 6, "position": (1, 0, 0)}))
    stranger, plain = bench.add(EE="1", KY="FF" * 16), bench.add()
    bench.settle()
    assert bench.tx64(one, BROADCAST, b"psst") == SUCCESS
    assert bench.frames(friend) == [b"\x80" + address(one) + b"\x28\x02psst"]
    assert bench.frames(stranger) == bench.frames(plain) == []


@pytest.mark.parametrize(
    ("output", "head", "tail"),
    [
        ("0", b"\x90", b"\xff\xfe\x01"),
        ("1", b"\x91", b"\xff\xfe\xe8\xe8\x00\x11\xc1\x05\x01"),
        ("2", b"\x80", b"\x28\x00"),
    ],
)
def test_ao_chooses_the_frame(bench: XBeeAir, output: str, head: bytes, tail: bytes) -> None:
    one, two = bench.add(), bench.add(AO=output, position=(1, 0, 0))
    bench.settle()
    bench.tx64(one, two.address, b"data")
    assert bench.frames(two) == [head + address(one) + tail + b"data"]
    assert bench.get(two, b"DB") == b"\x28"  # the RSSI that 90 and 91 do not carry


def test_explicit_frames_carry_their_endpoints(bench: XBeeAir) -> None:
    one, two = bench.add(), bench.add(AO="1", position=(1, 0, 0))
    bench.settle()
    head = b"\x11\x07" + address(two) + b"\xff\xfe"
    (status,) = bench.ask(one, head + b"\xa0\xa1\x15\x54\xc1\x05\x00\x00hello")
    assert status == b"\x8b\x07\xff\xff\x00\x00\x00"[:2] + b"\xff\xfe\x00\x00\x00"
    (frame,) = bench.frames(two)
    assert frame == b"\x91" + address(one) + b"\xff\xfe\xa0\xa1\x15\x54\xc1\x05\x01hello"


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


@pytest.mark.parametrize(
    ("kind", "parameters", "most"),
    [("digimesh", {}, 73), ("digimesh", {"EE": "1"}, 65), ("900hp", {}, 256)],
)
def test_mesh_payloads(bench: XBeeAir, kind: str, parameters: dict[str, str], most: int) -> None:
    one, two = bench.pair(hardware=kind, **parameters)
    assert bench.get(one, b"NP") == most.to_bytes(2, "big")
    assert bench.tx(one, two.address, bytes(most))[3] == 0
    assert bench.tx(one, two.address, bytes(most + 1))[3] == 0x74


def test_the_duty_cycle_is_used_up_and_comes_back(bench: XBeeAir) -> None:
    """868 MHz: some packets go, more are refused with status 04, and after an hour one goes."""
    one, two = bench.pair(hardware="900hp", duty_cycle=1e-5)  # 36 ms of each hour
    statuses = [bench.tx(one, two.address, bytes(100))[3] for _ in range(10)]
    sent = statuses.index(0x04)
    assert sent >= 2
    assert statuses == [0] * sent + [0x04] * (10 - sent)
    assert len(bench.frames(two)) == sent
    bench.run(3_600_000)
    assert bench.tx(one, two.address, bytes(100))[3] == 0


def test_digimesh_has_no_frames_00_and_01_and_no_my(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="digimesh")
    assert bench.ask(one, b"\x00\x01" + two.address.to_bytes(8, "big") + b"\x00x") == []
    assert bench.at(one, b"MY") == b"\x02"


@pytest.mark.parametrize(
    ("kind", "difference"),
    [
        ("digimesh", {"channel": 13}),
        ("digimesh", {"pan_id": 1}),
        ("900hp", {"channel": 3}),
        ("900hp", {"BR": "0"}),
        ("900hp", {"pan_id": 1}),
    ],
)
def test_other_networks_are_apart(bench: XBeeAir, kind: str, difference: dict[str, object]) -> None:
    one, two = bench.add(hardware=kind), bench.add(hardware=kind, **difference)
    bench.settle()
    assert bench.tx(one, two.address, b"x")[3] == 0x25
    assert bench.frames(two) == []


def test_noise_over_the_threshold_is_a_cca_failure(bench: XBeeAir) -> None:
    module = bench.settled(noise_dbm=-60)
    assert bench.tx64(module, BROADCAST, b"x") == CCA
    assert bench.get(module, b"EC") == b"\x00\x01"
    bench.at(module, b"CA", b"\x00")  # off
    assert bench.tx64(module, BROADCAST, b"x") == SUCCESS
    bench.at(module, b"EC", b"\x00\x00")
    assert bench.get(module, b"EC") == b"\x00\x00"


def test_the_loopback_cluster_comes_back(bench: XBeeAir) -> None:
    one, two = bench.pair()
    head = b"\x11\x07" + address(two) + b"\xff\xfe"
    answers = bench.ask(one, head + b"\xe8\xe8\x00\x12\xc1\x05\x00\x00echo")
    assert answers == [b"\x8b\x07\xff\xfe\x00\x00\x00", b"\x80" + address(two) + b"\x28\x00echo"]
    assert bench.frames(two) == []


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
