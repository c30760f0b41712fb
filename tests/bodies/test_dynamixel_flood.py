"""A flood of commands to Dynamixel servos: the newest goal is written when the line is free."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from hilgw.control.events import Disconnected, StopReason
from tests.bodies.bench import MS, BodyBench
from tests.bodies.kinds import DYNAMIXEL, LEFT, RIGHT
from tests.bodies.servos import harsh, packets_of, stands

up = DYNAMIXEL.up
UNIT = 0.229 * math.tau / 60


def flood(line: BodyBench, kind: str, count: int) -> list[float]:
    """Commands to both motors, 3,000 a second; the times at which the positions were asked for."""
    asked = []
    for number in range(count):
        name = (LEFT, RIGHT)[number % 2]
        speed = 1.0 + number % 100 / 100
        begin = len(line.written)
        if kind == "position" or (kind == "both" and number // 2 % 2):
            line.settings(name, speed / 10, 1.0, -1.0, 1.4)
        else:
            line.command(name, "velocity", speed)
        line.run(1 / 3)
        asked += [
            line.now / MS
            for _, instruction, data in packets_of(bytes(line.written[begin:]))
            if instruction == 0x82 and data[0] in (126, 132)
        ]
    return asked


@pytest.mark.parametrize("baud_rate", [57_600, 1_000_000])
@pytest.mark.parametrize("kind", ["velocity", "position", "both"])
@pytest.mark.parametrize("feedback", [False, True])
def test_a_flood_neither_fills_the_line_nor_delays_the_positions(
    kind: str, baud_rate: int, feedback: bool
) -> None:
    line = up(baudRate=baud_rate, show_velocity=feedback)
    flood(line, kind, 300)  # with the first changes of mode
    line.written.clear()
    before = line.session.counts.copy()
    asked = flood(line, kind, 3_000)
    assert len(line.written) <= baud_rate // 10  # what the line carries in this second
    # A change of mode has requests of its own, and each takes the time of an answer.
    slack = 8 if kind == "both" and baud_rate == 57_600 else 1
    assert max(b - a for a, b in pairwise(asked)) <= 20 + slack
    assert len(asked) in (49, 50, 51)
    counts = line.session.counts - before
    assert counts["commands"] == 3_000 and counts["late_periods"] == 0
    assert counts["superseded"] > (2_500 if baud_rate == 57_600 else 150)
    assert not line.found(Disconnected)
    line.settings(LEFT, math.inf, 1.5, -1.0, 1.4)
    line.run(200 if kind == "both" else 100)
    assert line.mock.servos[1].get(104, 4) == round(1.5 / UNIT)  # the last word counts


@pytest.mark.parametrize("wait_ms", [0, 4, 9, 14])
@pytest.mark.parametrize("kind", ["velocity", "position", "both"])
def test_a_stop_in_a_flood_is_written_at_once_and_is_the_last_word(
    kind: str, wait_ms: float
) -> None:
    line = up()
    flood(line, kind, 1_000)
    line.run(wait_ms)
    line.written.clear()
    stop = line.session.stop_bytes()
    line.handle(line.session.stop(StopReason.SWAMPED, line.now))
    assert line.written[: len(stop)] == stop
    line.run(40)  # a position goes back to the last one
    assert stands(line)


def test_a_stop_in_a_flood_reaches_harsh_servos_in_time() -> None:
    line = harsh()
    flood(line, "velocity", 1_000)
    line.handle(line.session.stop(StopReason.SWAMPED, line.now))
    line.run(45)
    assert stands(line)


def test_commands_add_up() -> None:
    line = up()
    line.command(LEFT, "velocity", 0.5)
    line.run(200)
    line.written.clear()
    before = line.session.counts.copy()
    for number in range(600):
        line.command(LEFT, "velocity", 1.0 + number / 1_000)
        line.run(1 / 3)
    line.run(100)
    goals = [each for each in packets_of(bytes(line.written)) if each[2][:2] == b"\x68\0"]
    counts = line.session.counts
    assert counts["commands"] - before["commands"] == 600
    assert counts["superseded"] + len(goals) == 600
    assert 10 < len(goals) < 30
