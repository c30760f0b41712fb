"""The mock of a Create 2: what its packets of distance and angle report (Open Interface, packets
19 and 20)."""

import struct

import pytest

from firmware_mocks import create2
from tests.firmware_mocks.bench import AirBench


class Line(AirBench):
    def __init__(self) -> None:
        super().__init__(create2.create, {"width": 100, "depth": 100})
        self.put(0, b"\x80\x84")  # start, full

    def drive(self, left: int, right: int, ms: int = 1000) -> None:
        """Drive at these speeds in mm/s for this time."""
        self.put(0, b"\x91" + struct.pack(">hh", right, left))
        self.run(ms)
        self.put(0, b"\x91" + bytes(4))

    def read(self, packet: int) -> bytes:
        self.taken()
        answer: bytes = self.ask(0, bytes((142, packet)), 20)
        return answer


@pytest.fixture
def line() -> Line:
    return Line()


def test_distance_and_angle_count_from_their_last_request(line: Line) -> None:
    line.drive(200, 200)
    assert line.read(19) == struct.pack(">h", 200)
    assert line.read(19) == bytes(2)
    assert line.read(20) == bytes(2)
    line.drive(-100, 100)
    assert line.read(20) == struct.pack(">h", 49)  # 200 mm / 235 mm, to the left
    assert line.read(19) == bytes(2)
    line.drive(-300, -100)
    assert line.read(2)[2:] == struct.pack(">hh", -200, 49)  # 17, 18, 19, 20
    assert line.read(2)[2:] == bytes(4)


def test_what_a_whole_number_leaves_out_is_not_lost(line: Line) -> None:
    total = 0
    for _ in range(20):
        line.drive(7, 8, ms=100)
        total += struct.unpack(">h", line.read(19))[0]
    assert total == 15


def test_the_stream_reports_the_way_between_its_frames(line: Line) -> None:
    line.ask(0, b"\x94\x02\x13\x14", 15)
    output = line.ask(0, b"\x91" + struct.pack(">hh", 500, 400), 1000)
    frames = [output[at : at + 9] for at in range(0, len(output) - 8, 9)]
    assert all(frame[:3] == b"\x13\x06\x13" and sum(frame) % 256 == 0 for frame in frames)
    ways = [struct.unpack(">h", frame[3:5])[0] for frame in frames]
    turns = [struct.unpack(">h", frame[6:8])[0] for frame in frames]
    assert 435 <= sum(ways) <= 450 and max(ways) == 7
    assert 23 <= sum(turns) <= 25


def test_a_count_that_does_not_fit_stays_at_its_end(line: Line) -> None:
    line.drive(500, 500, ms=70_000)
    assert line.read(19) == struct.pack(">h", 32767)
    assert line.read(19) == bytes(2)
