"""Emitter and Receiver of the API: the golden cases of libController R2025a by their numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hilgw.api import Emitter, Receiver, Robot
from hilgw.protocols.webots import (
    EmitterConfiguration,
    Receive,
    ReceiverConfiguration,
    Send,
    SetChannel,
    SetSamplingPeriod,
)
from tests.api.simulator import Simulator, robot_of

Bench = tuple[Simulator, Robot, Any]


def emitter(
    *,
    buffer_size: int = 32,
    rate: float = -1.0,
    max_range: float = 5.0,
    allowed: tuple[int, ...] = (3, 4, -1),
) -> Simulator:
    def make(tag: int) -> EmitterConfiguration:
        return EmitterConfiguration(tag, buffer_size, 3, rate, 2.0, max_range, allowed)

    return Simulator([("Emitter", "tx", make)])


def receiver(buffer_size: int = 16, allowed: tuple[int, ...] = ()) -> Simulator:
    return Simulator(
        [("Receiver", "rx", lambda tag: ReceiverConfiguration(tag, buffer_size, 7, allowed))]
    )


@pytest.fixture
def robot() -> Iterator[Callable[[Simulator], Bench]]:
    made: list[Robot] = []

    def make(simulator: Simulator) -> Bench:
        made.append(robot_of(simulator))
        return simulator, made[-1], made[-1].getDeviceByIndex(0)

    yield make
    for each in made:
        each.close()


def sizes(simulator: Simulator) -> list[int]:
    return [len(each.data) for each in simulator.commands() if isinstance(each, Send)]


def packet(size: int | bytes, channel: int = 7) -> Receive:
    data = size if isinstance(size, bytes) else bytes(size)
    return Receive(1, channel, (0.0, 0.6, -0.8), 0.25, data)


# --- Emitter ----------------------------------------------------------------------------------


def test_e1_e2_a_packet_frees_the_buffer_when_it_leaves(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter())
    assert [tx.send(bytes(size)) for size in (20, 12, 1)] == [1, 1, 0]
    rover.step(32)
    assert sizes(simulator) == [20, 12]
    assert [tx.send(bytes(size)) for size in (33, 32, 1)] == [0, 1, 0]


def test_e3_e4_errors_are_printed_and_send_nothing(
    robot: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, tx = robot(emitter())
    assert tx.send(b"") == tx.send("") == 0
    assert capsys.readouterr().err.count("Error: wb_emitter_send(): invalid size=0 argument.") == 2
    for missing in (Emitter("nix"), Emitter(99), Receiver("tx", 0)):
        assert missing.tag == 0 and missing.name == ""
    assert Emitter("nix").send(b"lost") == Emitter("nix").send([1]) == 0
    rover.step(32)
    assert simulator.commands() == []
    text = capsys.readouterr().err
    assert "device 'nix' was not found" in text and "'tx' has type Emitter, not Receiver" in text
    assert "wb_emitter_send(): invalid device tag." in text


def test_e5_a_buffer_without_a_limit_is_never_full(robot: Callable[..., Bench]) -> None:
    _, _, tx = robot(emitter(buffer_size=-1))
    assert [tx.send(bytes(100_000)) for _ in range(20)] == [1] * 20 and tx.getBufferSize() == -1


def test_e6_channel_and_range_are_those_at_send(
    robot: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1))
    seen = []
    for channel in (4, 5, -1, -2, 3):
        tx.setChannel(channel)
        tx.setRange(channel if channel > 0 else 1)
        seen.append(tx.getChannel())
        tx.send(b"x")
    assert seen == [4, 4, -1, -1, 3]
    text = capsys.readouterr().err
    assert "channel=5, which is not between allowed channels" in text
    assert "invalid channel=-2" in text
    rover.step(32)
    sent = simulator.commands()
    assert [each.channel for each in sent] == [4, 4, -1, -1, 3]
    assert [each.range for each in sent] == [4, 5, 1, 1, 3]


def test_e7_every_channel_without_a_list(robot: Callable[..., Bench]) -> None:
    _, _, tx = robot(emitter(allowed=()))
    for channel in (-1, 0, 77, 2**31 - 1):
        tx.channel = channel
        assert tx.channel == channel
    tx.channel = 2**31
    assert tx.channel == 2**31 - 1


@pytest.mark.parametrize(
    ("max_range", "calls"),
    [
        (5.0, [(1, 1), (5, 5), (10, 5), (-1, 5), (-2, 5), (0, 0), (math.inf, 5), (math.nan, 5)]),
        (-1.0, [(-1, -1), (1e9, 1e9)]),
    ],
    ids=["E8", "E9"],
)
def test_e8_e9_range(
    robot: Callable[..., Bench], max_range: float, calls: list[tuple[float, float]]
) -> None:
    _, _, tx = robot(emitter(max_range=max_range))
    for wanted, found in calls:
        tx.setRange(wanted)
        assert tx.getRange() == found


def test_e10_e12_only_packets_are_on_the_wire_and_in_order(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1))
    tx.setChannel(4)
    tx.setRange(1)
    rover.step(32)
    assert simulator.requests[-1].blocks == ()
    for number in range(100):
        tx.send(bytes([number]))
    rover.step(32)
    assert [each.data[0] for each in simulator.commands()] == list(range(100))
    assert simulator.commands()[0] == Send(1, 4, 1.0, b"\0")


PACES = {
    "B1": ([30] * 3, [[30], [30], [30]]),
    "B2": ([50] * 5, [[], [50], [50], [50], [], [50], [50]]),
    "B3": ([10] * 10, [[10] * 3, [10] * 4, [10] * 3]),
}


@pytest.mark.parametrize(("queued", "leave"), PACES.values(), ids=PACES)
def test_b1_b2_b3_credit_is_carried_over(
    robot: Callable[..., Bench], queued: list[int], leave: list[list[int]]
) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=1.2))
    for size in queued:
        tx.send(bytes(size))
    assert simulator.sent(len(leave), rover) == leave


def test_b4_credit_is_lost_when_a_packet_finds_an_empty_queue(
    robot: Callable[..., Bench],
) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=1.2))
    for _ in range(10):
        tx.send(bytes(10))
    assert simulator.sent(4, rover)[3] == []
    tx.send(bytes(39))
    assert simulator.sent(2, rover) == [[], [39]]


def test_b5_small_packets_never_overtake(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=1.2))
    tx.send(bytes(100))
    tx.send(bytes(1))
    assert simulator.sent(2, rover) == [[], []]
    tx.send(bytes(2))
    assert simulator.sent(1, rover) == [[100, 1, 2]]


def test_b6_b7_other_steps_and_no_rate(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=1.2))
    tx.send(bytes(30))
    rover.step(16)
    assert sizes(simulator) == []
    rover.step(16)
    assert sizes(simulator) == [30]


def test_b7_a_rate_of_0_sends_nothing(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=0.0))
    tx.send(b"x")
    assert simulator.sent(20, rover) == [[]] * 20


def test_b8_an_immediate_request_grants_no_credit(robot: Callable[..., Bench]) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1, rate=1.2))
    tx.send(bytes(30))
    rover.step(16)
    rover.step(0)
    assert sizes(simulator) == []  # libController grants the credit of the last step again


@pytest.mark.parametrize(
    ("message", "length", "data"),
    [
        (bytes(range(256)), None, bytes(range(256))),
        (b"abcdef", 3, b"abc"),
        (bytearray(b"ab"), None, b"ab"),
        (memoryview(b"ab"), None, b"ab"),
        ("hé", None, b"h\xc3\xa9"),  # libController cuts after two bytes
        ([1.5, 2], None, struct.pack("2d", 1.5, 2)),
        ((1, -2), None, struct.pack("2i", 1, -2)),
        ([True, False], None, struct.pack("2i", 1, 0)),
        ([], None, None),
        (["a"], None, None),
        (7, None, None),
        (b"abc", 4, None),  # libController reads beyond the packet
        (b"abc", 0, None),
    ],
)
def test_what_send_takes(
    robot: Callable[..., Bench], message: Any, length: int | None, data: bytes | None
) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1))
    assert tx.send(message, length) == (data is not None)
    rover.step(32)
    assert [each.data for each in simulator.commands()] == ([] if data is None else [data])


def test_numbers_that_do_not_fit_raise(robot: Callable[..., Bench]) -> None:
    _, _, tx = robot(emitter())
    with pytest.raises(struct.error):
        tx.send([1, 2.5])


# --- Receiver ---------------------------------------------------------------------------------


def test_r1_r2_r12_r13_enable(
    robot: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, rx = robot(receiver())
    assert rx.getQueueLength() == rx.getSamplingPeriod() == 0
    assert "wb_receiver_get_queue_length() called for a disabled device!" in capsys.readouterr().err
    rx.enable(32)
    rx.enable(-5)
    assert "called with negative sampling period." in capsys.readouterr().err
    assert rx.getSamplingPeriod() == 32 and rx.getQueueLength() == 0 and rx.getDataSize() == -1
    assert capsys.readouterr().err == (
        "Error: wb_receiver_get_data_size(): the receiver queue is empty.\n"
    )
    simulator.answers = [[packet(b"kept")]]
    rover.step(32)
    assert simulator.commands() == [SetSamplingPeriod(1, 32)]
    rx.disable()
    rover.step(32)
    assert simulator.commands() == [SetSamplingPeriod(1, 0)] and rx.getBytes() == b"kept"
    assert rx.getQueueLength() == 1 and "disabled" in capsys.readouterr().err


def test_r3_to_r7_an_empty_queue_is_harmless(
    robot: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, rx = robot(receiver())
    assert rx.getBytes() == rx.data == b"" and rx.getString() == ""
    assert rx.getFloats() == rx.getInts() == rx.getBools() == ()
    assert math.isnan(rx.getSignalStrength())
    assert all(math.isnan(each) for each in rx.getEmitterDirection())
    assert capsys.readouterr().err.count("the receiver queue is empty.") == 8
    rx.nextPacket()
    assert capsys.readouterr().err == ""


def test_r8_r9_the_newest_packets_are_lost_and_the_queue_stays(
    robot: Callable[..., Bench],
) -> None:
    simulator, rover, rx = robot(receiver())
    rx.enable(32)
    simulator.answers = [[], [packet(b"first1"), packet(b"first2")]] + [
        [packet(b"later1"), packet(b"later2")] for _ in range(2)
    ]
    found = [rover.step(32) or rx.getQueueLength() for _ in range(3)]
    assert found == [0, 2, 2]
    rx.nextPacket()
    rover.step(32)
    assert rx.getQueueLength() == 2 and rx.getBytes() == b"first2"
    rx.nextPacket()
    assert rx.getBytes() == b"later1"


@pytest.mark.parametrize(("size", "kept"), [(16, [12, 3]), (-1, [12, 8, 3])], ids=["R10", "R11"])
def test_r10_r11_each_packet_is_admitted_by_itself(
    robot: Callable[..., Bench], size: int, kept: list[int]
) -> None:
    simulator, rover, rx = robot(receiver(size))
    rx.enable(32)
    simulator.answers = [[packet(12), packet(8), packet(3)]]
    rover.step(32)
    found = []
    while rx.getQueueLength():
        found.append(rx.getDataSize())
        rx.nextPacket()
    assert found == kept


def test_r14_r15_r16_channel(robot: Callable[..., Bench]) -> None:
    simulator, rover, rx = robot(receiver(allowed=(7, 8, -1)))
    for channel, found in ((7, 7), (8, 8), (9, 8), (-2, 8), (-1, -1), (8, 8)):
        rx.setChannel(channel)
        assert rx.getChannel() == found
    rover.step(32)
    assert simulator.commands() == [SetChannel(1, 8)]
    simulator.answers = [[packet(b"x", channel=5)]]
    rover.step(32)
    assert rx.getChannel() == 5 and simulator.requests[-1].blocks == ()


def test_r17_r18_r19_views_of_a_packet(
    robot: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, rx = robot(receiver(-1))
    rx.enable(32)
    numbers = struct.pack("2d", 1.5, -2)
    simulator.answers = [[packet(b"a\0bcdef"), packet(b"\xff"), packet(numbers)]]
    rover.step(32)
    for wrong in (rx.getInts, rx.getFloats):
        with pytest.raises(struct.error):
            wrong()
    assert rx.getBools() == (True, False, True, True, True, True, True)
    assert rx.getData() == rx.getString() == "a\0bcdef" and rx.getDataSize() == 7
    assert capsys.readouterr().err.startswith("DEPRECATION: Receiver.getData")
    assert rx.getSignalStrength() == 0.25 and rx.getEmitterDirection() == [0.0, 0.6, -0.8]
    rx.nextPacket()
    with pytest.raises(UnicodeDecodeError):
        rx.getString()
    rx.nextPacket()
    assert rx.getFloats() == (1.5, -2.0)
