"""The mock of a G-code machine: its planner, arcs and offsets, as Grbl 1.1 documents them."""

import itertools
import math

import pytest

from firmware_mocks import gcode_machine
from firmware_mocks.gcode_machine.machine import Machine
from tests.firmware_mocks.bench import AirBench


class MachineInTime(AirBench):
    def __init__(self) -> None:
        super().__init__(gcode_machine.create, {})
        self.machine: Machine = self.modules[0]
        self.pause(0.1)

    def pause(self, seconds: float) -> list[str]:
        """Nothing comes from the host meanwhile; what the machine sent."""
        self.run(1000 * seconds)
        return self.taken().decode().split()

    def lines(self, *lines: str, seconds: float = 0.001) -> list[str]:
        self.put(0, "".join(f"{line}\n" for line in lines).encode())
        return self.pause(seconds)


@pytest.fixture
def bench() -> MachineInTime:
    return MachineInTime()


def test_each_line_gets_its_ok_as_soon_as_the_planner_has_room(bench: MachineInTime) -> None:
    moves = [f"G1 X{at + 1} F600" for at in range(40)]
    answers = bench.lines(*moves[:8])  # the serial buffer has 128 bytes
    for begin in range(8, 40, 8):
        answers += bench.lines(*moves[begin : begin + 8], seconds=0.001 if begin == 8 else 0.8)
    assert answers.count("ok") < 40
    answers += bench.pause(10)
    assert answers == ["ok"] * 40
    assert bench.machine.position == (40.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("line", "centre", "turn"),
    [
        ("G2 X10 Y10 I10 J0", (20, 10), -360),  # the end is the start: a whole circle
        ("G2 X20 Y20 I10 J0", (20, 10), -90),
        ("G3 X20 Y20 I0 J10", (10, 20), 90),
        ("G3 X20 Y20 R10", (10, 20), 90),
        ("G3 X20 Y20 R-10", (20, 10), 270),
        ("G91 G3 X10 Y10 R10", (10, 20), 90),
    ],
)
def test_an_arc_goes_around_its_centre(
    bench: MachineInTime, line: str, centre: tuple[float, float], turn: float
) -> None:
    bench.lines("G0 X10 Y10", seconds=2)
    bench.machine.drawn.clear()
    answers = bench.lines(f"{line} F5000", seconds=5)
    assert answers == ["ok"] and bench.machine.state == "Idle"
    drawn = [(10.0, 10.0, 0.0), *bench.machine.drawn]
    angles = [math.atan2(y - centre[1], x - centre[0]) for x, y, _ in drawn]
    steps = [math.remainder(b - a, math.tau) for a, b in itertools.pairwise(angles)]
    assert math.degrees(sum(steps)) == pytest.approx(turn, abs=0.01)
    assert all(math.dist(each[:2], centre) == pytest.approx(10) for each in drawn)


def test_the_ok_of_an_arc_comes_when_its_last_segment_is_planned(bench: MachineInTime) -> None:
    bench.lines("G0 X10 Y10", seconds=2)
    assert bench.lines("G2 X10 Y10 I10 F600", seconds=1) == []
    assert bench.machine.state == "Run"
    answers = bench.pause(5.3)  # 62.8 mm at 10 mm/s
    assert answers == ["ok"] and bench.machine.state == "Idle"


def test_an_arc_in_another_plane_climbs_in_the_third_axis(bench: MachineInTime) -> None:
    bench.lines("G0 Y20 Z10", seconds=2)
    assert bench.lines("G19 G3 Y10 Z20 X5 J-10 F3000", "$G", seconds=3)[1].startswith("[GC:G3")
    assert bench.machine.position == (5.0, 10.0, 20.0)
    middle = bench.machine.drawn[len(bench.machine.drawn) // 2]
    assert middle[0] == pytest.approx(2.5, abs=0.5)
    assert math.dist(middle[1:], (10, 10)) == pytest.approx(10)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("G2 X20 Y20 I10", 22),  # no feed
        ("G2 F600", 26),
        ("G2 Z5 I10 F600", 32),
        ("G2 X20 Y10 I3 F600", 33),
        ("G2 X50 Y10 R5 F600", 34),
        ("G2 X20 Y20 K5 F600", 35),
        ("G2 G3 X20 I5 F600", 21),
        ("G53 G2 X20 Y20 R10 F600", 30),
        ("G0 G28 X1", 24),
    ],
)
def test_what_grbl_refuses(bench: MachineInTime, line: str, error: int) -> None:
    bench.lines("G0 X10 Y10", seconds=2)
    assert bench.lines(line) == [f"error:{error}"]


def test_an_arc_beyond_the_travel_is_an_alarm(bench: MachineInTime) -> None:
    bench.lines("G0 X5 Y20", seconds=2)
    assert bench.lines("G3 X5 Y10 R-8 F600")[0] == "ALARM:2"


def test_g28_goes_to_its_position_by_way_of_the_one_that_is_given(bench: MachineInTime) -> None:
    bench.lines("G0 X30 Y40 Z5", "G28.1", "G0 X1 Y2 Z3", seconds=3)
    assert "[G28:30.000,40.000,5.000]" in bench.lines("$#")
    bench.machine.drawn.clear()
    bench.lines("G28", seconds=3)
    assert bench.machine.drawn == [(30, 40, 5)]
    bench.lines("G0 X1 Y2 Z3", seconds=3)
    bench.machine.drawn.clear()
    bench.lines("G91 G28 Z10", seconds=3)
    assert bench.machine.drawn == [(1, 2, 13), (1, 2, 5)]
    bench.machine.reset(bench.now)  # kept without power
    bench.pause(0.1)
    assert "[G28:30.000,40.000,5.000]" in bench.lines("$#")


def test_g92_moves_the_work_zero_and_not_the_axes(bench: MachineInTime) -> None:
    bench.lines("G0 X30 Y40", seconds=2)
    bench.lines("?")
    answers = bench.lines("G92 X0 Y10") + bench.lines("?")
    assert answers[0] == "ok"
    assert "MPos:30.000,40.000,0.000" in answers[1] and "WCO:30.000,30.000,0.000" in answers[1]
    bench.lines("G0 X5", seconds=2)
    assert bench.machine.position == (35, 40, 0)
    bench.lines("G53 G0 X5", seconds=2)
    assert bench.machine.position == (5, 40, 0)
    assert "[G92:30.000,30.000,0.000]" in bench.lines("$#")
    bench.lines("G92.1", "G0 X1", seconds=2)
    assert bench.machine.position == (1, 40, 0)
    bench.lines("G92 X0")
    bench.machine.receive(b"\x18", bench.now)  # a reset forgets it
    bench.pause(0.1)
    assert "[G92:0.000,0.000,0.000]" in bench.lines("$#")
