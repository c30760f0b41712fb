"""The mock of a Create 2: what its packets of distance and angle report (Open Interface, packets
19 and 20)."""

import struct

import pytest

from firmware_mocks import create2
from firmware_mocks.air import Air
from firmware_mocks.base import MS
from firmware_mocks.create2.robot import Robot


@pytest.fixture
def robot() -> Robot:
    made: Robot = create2.create("create2", Air(), {"width": 100, "depth": 100})
    made.reset(0)
    made.receive(b"\x80\x84", 0)  # start, full
    return made


def sent(robot: Robot, now: int) -> bytes:
    """What leaves until now."""
    output = b""
    while (due := robot.next_deadline()) is not None and due <= now:
        robot.advance(due)
        output += robot.take(due)
    return output


def drive(robot: Robot, left: int, right: int, now: int, ms: int = 1000) -> int:
    """At mm/s for so long."""
    robot.receive(b"\x91" + struct.pack(">hh", right, left), now)
    sent(robot, now + ms * MS)
    robot.receive(b"\x91" + bytes(4), now + ms * MS)
    return now + ms * MS


def read(robot: Robot, packet: int, now: int) -> bytes:
    robot.receive(bytes((142, packet)), now)
    return sent(robot, now + 20 * MS)


def test_distance_and_angle_count_from_their_last_request(robot: Robot) -> None:
    now = drive(robot, 200, 200, 0)
    assert read(robot, 19, now) == struct.pack(">h", 200)
    assert read(robot, 19, now) == bytes(2)
    assert read(robot, 20, now) == bytes(2)
    now = drive(robot, -100, 100, now)
    assert read(robot, 20, now) == struct.pack(">h", 49)  # 200 mm / 235 mm, to the left
    assert read(robot, 19, now) == bytes(2)
    now = drive(robot, -300, -100, now)
    assert read(robot, 2, now)[2:] == struct.pack(">hh", -200, 49)  # 17, 18, 19, 20
    assert read(robot, 2, now)[2:] == bytes(4)


def test_what_a_whole_number_leaves_out_is_not_lost(robot: Robot) -> None:
    now, total = 0, 0
    for _ in range(20):
        now = drive(robot, 7, 8, now, ms=100)
        total += struct.unpack(">h", read(robot, 19, now))[0]
    assert total == 15


def test_the_stream_reports_the_way_between_its_frames(robot: Robot) -> None:
    robot.receive(b"\x94\x02\x13\x14", 0)
    sent(robot, 15 * MS)
    robot.receive(b"\x91" + struct.pack(">hh", 500, 400), 15 * MS)
    output = sent(robot, 1015 * MS)
    frames = [output[at : at + 9] for at in range(0, len(output) - 8, 9)]
    assert all(frame[:3] == b"\x13\x06\x13" and sum(frame) % 256 == 0 for frame in frames)
    ways = [struct.unpack(">h", frame[3:5])[0] for frame in frames]
    turns = [struct.unpack(">h", frame[6:8])[0] for frame in frames]
    assert 435 <= sum(ways) <= 450 and max(ways) == 7
    assert 23 <= sum(turns) <= 25


def test_a_count_that_does_not_fit_stays_at_its_end(robot: Robot) -> None:
    now = drive(robot, 500, 500, 0, ms=70_000)
    assert read(robot, 19, now) == struct.pack(">h", 32767)
    assert read(robot, 19, now) == bytes(2)
