"""The WC2EC mocks alone, and the two readings of the wire against each other."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import wc2ec_controller, wc2ec_node, wc2ec_robot
from firmware_mocks._room import RADIUS_M, CartRoom
from firmware_mocks.air import Air
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from firmware_mocks.wc2ec.pilot import WallAvoider
from hilgw.testing.conformance.simulated_rules import size_of

MS = 1_000_000
STEP = 20 * MS


def robot(**parameters: Any) -> wc2ec_robot.Robot:
    made = wc2ec_robot.create("robot", Air(), parameters)
    made.connect(0)
    return made


def set_value(index: int, value: float, kind: int = 53) -> bytes:
    return struct.pack("<BBBd", 130, kind, index, value)


def step(mock: wc2ec_robot.Robot, number: int) -> bytes:
    mock.advance(number * STEP)
    return mock.take(number * STEP)


def test_distances_turns_and_walls() -> None:
    room = CartRoom(2.0, 1.0, 0.5, 0.5, 0.0)
    assert room.distance(0.0) == pytest.approx(1.5 - RADIUS_M)
    assert room.distance(math.pi) == pytest.approx(0.5 - RADIUS_M)
    assert room.distance(math.pi / 2) == pytest.approx(0.5 - RADIUS_M)
    room.move(4.0, 4.0, 1.0)
    assert (room.x, room.y) == pytest.approx((0.6, 0.5))
    room.move(-1.0, 1.0, 1.0)
    assert room.heading > 0 and (room.x, room.y) == pytest.approx((0.6, 0.5))
    for _ in range(50):
        room.move(10.0, 10.0, 1.0)
    assert room.bumps == 1 and RADIUS_M <= room.x <= 2.0 - RADIUS_M


def test_the_avoider_turns_one_way_until_there_is_room() -> None:
    avoider = WallAvoider()
    assert avoider.steer(1000, 1000, 1000) == (5.0, 5.0)
    left, right = avoider.steer(200, 250, 300)
    assert left > 0 > right  # away from the left
    for near in ((400, 400, 100), (1000, 400, 1000), (1000, 1000, 200)):
        assert avoider.steer(*near) == (left, right)
    assert avoider.steer(1000, 1000, 1000) == (5.0, 5.0)
    assert avoider.steer(1000, 1000, 100) == (right, left)


def test_a_reader_of_frames_takes_509_bytes_and_no_more() -> None:
    reader = FrameReader()
    assert reader.feed(frame(bytes(510)) + frame(bytes(509))) == [bytes(509)] and reader.bad == 1


# --- the robot ------------------------------------------------------------------------------------


def test_a_disconnect_stops_the_wheels_and_the_next_one_is_welcome() -> None:
    mock = robot()
    mock.take(0)
    mock.receive(set_value(3, 2.0), 1)
    step(mock, 1)
    mock.disconnect(STEP)
    assert mock.body.wheels == (0.0, 0.0) and mock.stops == 1
    assert mock.next_deadline() is None
    mock.receive(set_value(3, 2.0), 2 * STEP)
    mock.connect(3 * STEP)
    assert mock.take(3 * STEP).startswith(b"\0\x26\0\7ds_left")
    mock.disconnect(4 * STEP)
    mock.disconnect(4 * STEP)
    assert mock.stops == 2


def test_nan_never_turns_a_wheel() -> None:
    mock = robot()
    mock.receive(set_value(3, math.nan) + set_value(4, math.inf) + set_value(99, 1.0), 1)
    step(mock, 1)
    assert mock.body.wheels == (0.0, 0.0) and mock.body.counts["errors"] == 3


def test_the_full_dialect_answers_errors_and_obeys_the_starred_commands() -> None:
    mock = robot(dialect="full", lift="yes")
    mock.take(0)
    mock.receive(
        set_value(99, 1.0) + b"\x81\x26\0" + b"\x83\x35\3" + struct.pack("<4d", 9, 2, -1, 1), 1
    )
    first = step(mock, 1)
    assert first.endswith(b"\x7f\x35\x63")
    assert mock.body.wheels == (2.0, 0.0)
    second = step(mock, 2)
    assert second.startswith(b"\1\x26\1") and b"\1\x35\3" in second and b"\1\x2e\5" in second
    mock.receive(b"\x83\x26\0" + struct.pack("<d", 40.0), 2 * STEP)
    step(mock, 3)
    shown = [number for number in range(4, 12) if step(mock, number).startswith(b"\1\x26\0")]
    assert shown == [5, 7, 9, 11]


def test_the_beacon_of_the_room_repeats_a_packet_one_step_later() -> None:
    mock = robot(dialect="full", lift="yes")
    mock.take(0)
    mock.receive(struct.pack("<BBBiI", 130, 39, 6, 7, 5) + b"hello", 1)
    assert b"hello" not in step(mock, 1)
    repeated = step(mock, 2)
    assert struct.pack("<BBBi", 1, 52, 7, 7) in repeated and repeated.count(b"hello") == 1


def test_a_peer_that_does_not_read_stops_the_world_and_no_memory_is_lost() -> None:
    mock = robot(sensors=250)
    for number in range(1, 300):
        mock.advance(number * STEP)
    assert mock.stalled > 0 and mock.steps < 150
    assert len(mock.take(300 * STEP)) < 300_000


def test_a_flood_of_half_a_message_is_bounded() -> None:
    mock = robot(dialect="full")
    size = size_of(mock)
    for _ in range(100):
        mock.receive(b"\x82\x27\5" + bytes(4) + b"\0\0\1\0" + bytes(1000), 1)
    assert mock.closing and mock.body.counts["flooded"] >= 1
    assert size_of(mock) < size + 80_000


def test_a_framed_robot_registers_each_second_and_takes_silence_for_a_disconnect() -> None:
    mock = wc2ec_robot.create("robot", Air(), {"frame": "cobs-crc16", "watchdog_ms": 0})
    assert mock.network == "serial" and mock.baud_rate == 115_200
    reader = FrameReader()

    def run(until: int) -> list[bytes]:
        output = []
        while (due := mock.next_deadline()) is not None and due <= until:
            mock.advance(due)
            output += reader.feed(mock.take(due))
        return output

    mock.advance(0)
    registered = [message for message in run(2500 * MS) if message[0] == 0]
    assert len(registered) == 3 * 5 and registered[:5] == registered[5:10]
    mock.receive(frame(set_value(3, 2.0)), 2500 * MS)
    assert not [message for message in run(2990 * MS) if message[0] == 0]
    assert mock.body.wheels == (2.0, 0.0)
    assert len([message for message in run(3100 * MS) if message[0] == 0]) == 5
    assert mock.body.wheels == (0.0, 0.0) and mock.stops == 1
    mock.receive(frame(set_value(3, 2.0)) + frame(set_value(3, 2.0)[:-1]), 3200 * MS)
    assert mock.body.counts["unknown"] == 1 and mock.body.wheels == (0.0, 0.0)


def advance_to(mock: wc2ec_robot.Robot, until: int) -> None:
    while (due := mock.next_deadline()) is not None and due <= until:
        mock.advance(due)
        mock.take(due)


@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize("alive", [set_value(4, 0.0), struct.pack("<BBB", 128, 38, 0)])
def test_the_watchdog_counts_from_the_last_sign_of_life(serial: bool, alive: bytes) -> None:
    parameters = {"frame": "cobs-crc16"} if serial else {}
    mock = wc2ec_robot.create("robot", Air(), {"dialect": "full", **parameters})
    wrap = frame if serial else bytes
    if not serial:
        mock.connect(0)
    mock.advance(0)
    mock.receive(wrap(set_value(3, 2.0)), 0)
    advance_to(mock, 300 * MS)  # TCP: executed at 20 ms
    if serial:
        assert mock.body.wheels == (0.0, 0.0) and mock.tripped == 1
    mock.receive(wrap(set_value(3, 2.0)), 300 * MS)
    advance_to(mock, 500 * MS)
    mock.receive(wrap(alive), 500 * MS)
    advance_to(mock, 799 * MS)
    assert mock.body.wheels == (2.0, 0.0)
    advance_to(mock, 820 * MS)
    assert mock.body.wheels == (0.0, 0.0) and mock.connected and not mock.closing
    tripped = mock.tripped
    mock.receive(wrap(set_value(3, 1.0)), 900 * MS)  # it may move again
    advance_to(mock, 940 * MS)
    assert mock.body.wheels == (1.0, 0.0) and mock.tripped == tripped


def test_bytes_that_are_no_message_do_not_feed_the_watchdog() -> None:
    mock = robot()
    mock.receive(set_value(3, 2.0) + set_value(3, 2.0)[:5], 0)
    for number in range(1, 30):
        advance_to(mock, number * 10 * MS)
        if 10 < number < 16:
            mock.receive(b"", number * 10 * MS)
    advance_to(mock, 320 * MS)
    assert mock.body.wheels == (0.0, 0.0) and mock.tripped == 1


SEEN = b"".join(struct.pack("<BBBd", 1, 38, index, 900.0) for index in range(3))


def test_the_controller_writes_type_53_once_per_look_around() -> None:
    mock = wc2ec_controller.create("pilot", Air(), {})
    assert (mock.network, mock.retry_s) == ("tcp-client", 1.0)
    mock.connect(0)
    mock.receive(SEEN, 1)
    assert mock.take(1) == b""  # it has no name yet
    registered = robot(lift="yes").take(0)
    for byte in registered + SEEN:
        mock.receive(bytes((byte,)), 2)
    assert mock.take(2) == set_value(3, 5.0) + set_value(4, 5.0)
    mock.receive(b"\x7f\x35\3" + SEEN, 3)
    assert len(mock.take(3)) == 22
    mock.disconnect(4)
    mock.receive(SEEN, 5)
    assert mock.take(5) == b""
    mock.connect(6)
    mock.receive(b"\x44\0\0\0", 6)
    assert mock.closing


def node_ready() -> wc2ec_node.Node:
    mock = wc2ec_node.create("node", Air(), {})
    mock.receive(frame(SEEN[:11]), 0)
    assert mock.take(0) == b""
    for number, name in ((0, b"ds_left"), (1, b"ds_front"), (2, b"ds_right")):
        mock.receive(frame(bytes((0, 38, number, len(name))) + name), 0)
    mock.receive(frame(b"\0\x35\3\x0aleft_wheel") + frame(b"\0\x35\4\x0bright_wheel"), 0)
    assert mock.take(0) == frame(set_value(3, 0.0)) + frame(set_value(4, 0.0))
    return mock


def test_the_node_answers_repeats_and_stops_in_time() -> None:
    mock = node_ready()
    for begin in range(0, 33, 11):
        mock.receive(frame(SEEN[begin : begin + 11]), 10 * MS)
    drive = frame(set_value(3, 5.0)) + frame(set_value(4, 5.0))
    assert mock.take(10 * MS) == drive
    assert mock.next_deadline() == 110 * MS
    mock.advance(110 * MS)
    assert mock.take(110 * MS) == drive
    mock.advance(309 * MS)
    assert any(mock.wheels)
    mock.advance(310 * MS)
    output = mock.take(310 * MS)
    assert output.endswith(frame(set_value(3, 0.0)) + frame(set_value(4, 0.0)))
    assert mock.wheels == (0.0, 0.0) and mock.tripped == 1
    mock.receive(frame(SEEN[22:]), 400 * MS)
    assert any(mock.wheels)  # it goes on when it sees again


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_no_bytes_upset_the_mocks(chunks: list[bytes]) -> None:
    node, pilot, body = node_ready(), wc2ec_controller.create("p", Air(), {}), robot()
    pilot.connect(0)
    for number, chunk in enumerate(chunks, 1):
        node.receive(chunk + frame(chunk), number)
        pilot.receive(chunk, number)
        body.receive(chunk, number)
        body.advance(number * STEP)
        assert all(map(math.isfinite, (*node.wheels, *body.body.wheels)))


def test_a_power_cycle_forgets_and_noise_at_the_wrong_rate_is_nothing() -> None:
    mock = node_ready()
    mock.reset(5)
    assert not mock.pilot.ready and mock.next_deadline() is None
    mock.host_baud = 9600
    mock.receive(frame(b"\0\x35\3\x0aleft_wheel"), 6)
    assert not mock.pilot.ids


RADIOS = {"emitter": "tx", "receiver": "rx", "channel": 7, "message": "no {n}", "message_ms": 100}


def registration(kind: int, index: int, name: bytes) -> bytes:
    return bytes((0, kind, index, len(name))) + name


def received(data: bytes) -> bytes:
    """sensorData of the Receiver with index 6."""
    return bytes((1, 52, 6)) + struct.pack("<iddddI", 7, 0.5, 1.0, 0.0, 0.0, len(data)) + data


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_controller_with_radios_sends_and_counts_packets(size: int) -> None:
    mock = wc2ec_controller.create("pilot", Air(), RADIOS)
    mock.connect(0)
    stream = registration(39, 5, b"tx") + registration(52, 6, b"rx") + received(b"hello")
    stream += received(b"") + struct.pack("<BBBd", 1, 38, 0, 3.0)
    for start in range(0, len(stream), size):
        mock.receive(stream[start : start + size], 0)
    assert (mock.messenger.received, mock.values, mock.closing) == (2, 1, False)
    output = b""
    for _ in range(3):
        due = mock.next_deadline()
        assert due is not None
        mock.advance(due)
        output += mock.take(due)
    head = bytes((130, 39, 5)) + struct.pack("<iI", 7, 4)
    assert output == b"".join(head + b"no %d" % number for number in (1, 2, 3))
    mock.disconnect(300 * MS)
    assert mock.next_deadline() is None


def test_a_node_with_radios_sends_while_it_is_spoken_to() -> None:
    mock = wc2ec_node.create("node", Air(), RADIOS)
    mock.receive(frame(registration(39, 5, b"tx")) + frame(registration(52, 6, b"rx")), 0)
    mock.receive(frame(received(b"hello")), 50 * MS)
    assert mock.messenger.received == 1
    mock.advance(100 * MS)
    (packet,) = FrameReader().feed(mock.take(100 * MS))
    assert packet == bytes((130, 39, 5)) + struct.pack("<iI", 7, 4) + b"no 1"
    for now in range(100, 1_000, 10):  # no more good frames: the watchdog trips
        mock.advance(now * MS)
        mock.take(now * MS)
    assert (mock.messenger.sent, mock.next_deadline()) == (3, None)


def notice_of(names: list[bytes], values: list[int]) -> str:
    """The notice of a controller some time after it has got these registrations and values."""
    mock = wc2ec_controller.create("m", Air(), {"sensors": "a, b, c", "motors": "l, r"})
    mock.connect(0)
    for index, name in enumerate(names):
        mock.receive(registration(53, index, name), 0)
    for index in values:
        mock.receive(bytes((1, 37, index)) + struct.pack("<d", 900.0), 0)
    mock.advance(1_900 * MS)
    assert mock.take_notice() == ""
    mock.advance(2_100 * MS)
    notice: str = mock.take_notice()
    assert mock.take_notice() == ""
    assert bool(mock.take(2_100 * MS)) == (notice == "")  # it drives
    return notice


def test_a_controller_that_drives_no_motor_reports_why() -> None:
    every = [b"a", b"b", b"c", b"l", b"r"]
    assert notice_of(every, [0, 1, 2]) == ""
    missing = notice_of([b"a", b"ds", b"c", b"r"], [0, 1, 2])
    assert "the robot has no b, l (it registered a, ds, c, r)" in missing
    assert "--set sensors=" in missing
    assert "no value of b, c has come" in notice_of(every, [0])
    assert "it registered nothing" in notice_of([], [])
