"""A machine that reads G-code: its settings, its zero, and what it does when it is found or stopped
in a motion of its own (`configs/gcode.yaml`)."""

from dataclasses import replace
from typing import Any

import pytest

from hilgw.control.events import (
    Connected,
    MotorCommand,
    MotorHeld,
    Notice,
    ProtocolFailure,
    StopReason,
)
from hilgw.errors import MismatchError
from tests.bodies.bench import GCODE, BodyBench, shipped

X, SENSOR = "x motor", "x sensor"
HOMED = {"corner": "max", "homing": "yes"}


def homed(mock: dict[str, Any], **settings: Any) -> BodyBench:
    """A machine that was homed by hand, with its positions from -200 to 0 mm."""
    line = GCODE.bench(HOMED | mock, **settings)
    line.run(100)
    line.mock.receive(b"$H\n", line.now)
    line.run(1_000)
    assert line.mock.position == (-1.0, -1.0, -1.0)
    return line


@pytest.mark.parametrize(
    ("mock", "value", "fix"),
    [
        ({"status_report": 0}, "$10=0", "set $10=1"),
        ({"status_report": 2}, "$10=2", "set $10=1"),
        ({"report_inches": "yes"}, "$13=1", "set $13=0"),
    ],
)
@pytest.mark.parametrize("offset", ["0, 0, 0", "50, 0, 0"])
def test_reports_in_other_units_or_coordinates_are_refused(
    mock: dict[str, Any], value: str, fix: str, offset: str
) -> None:
    line = GCODE.bench(mock | {"work_offset": offset})
    line.open(2_000)
    (failure,) = line.found(ProtocolFailure)
    assert isinstance(failure.error, MismatchError)
    assert f"'{value}'" in failure.error.what and fix in failure.error.fix
    assert not line.found(Connected)
    assert b"$10=" not in line.written and b"$13=" not in line.written


@pytest.mark.parametrize("offset", ["0, 0, 0", "-150, -100, -20"])
@pytest.mark.parametrize("frame", ["machine", "work"])
def test_a_machine_that_is_homed_at_its_far_corner(frame: str, offset: str) -> None:
    """Its machine positions are negative."""
    zero_mm = float(offset.split(",")[0]) if frame == "work" else 0.0
    line = homed({"work_offset": offset}, frame=frame)
    line.open(1_000)
    assert len(line.found(Connected)) == 1
    line.enable(SENSOR)
    line.run(100)
    assert line.values()[SENSOR] == pytest.approx((-1 - zero_mm) / 1000)
    line.command(X, "position", (-120 - zero_mm) / 1000)
    line.run(5_000)
    assert line.mock.position[0] == pytest.approx(-120)
    assert line.values()[SENSOR] == pytest.approx((-120 - zero_mm) / 1000)


def test_a_work_zero_that_no_step_reads_is_named() -> None:
    motors = {
        name: replace(each, zero="no group") for name, each in shipped("gcode").motors.items()
    }
    line = GCODE.bench(frame="work", motors=motors)
    line.open(1_000)
    assert not line.found(Connected)
    texts = [event.text for event in line.found(Notice)]
    assert "no step of the setup has a number for zero: x motor, y motor, z motor" in texts


def stopped(line: BodyBench) -> BodyBench:
    line.written.clear()
    line.handle(line.session.stop(StopReason.DISARMED, line.now).events)
    line.run(300)
    assert b"\x18" not in line.written
    return line


def test_a_motion_of_its_own_is_held_after_a_report_that_shows_it() -> None:
    line = GCODE.up()
    line.mock.receive(b"G1 X150 F600\n", line.now)
    line.run(300)
    assert line.mock.state == "Run"
    written = bytes(stopped(line).written)
    assert written.index(b"\x85") < written.index(b"?") < written.index(b"!")
    assert line.mock.state == "Hold:0"


def test_the_setup_ends_a_hold() -> None:
    """Nothing is left to move: jogs are accepted again."""
    line = GCODE.bench()
    line.run(100)
    line.mock.receive(b"!", line.now)
    assert line.mock.state == "Hold:0"
    line.open(1_500)
    assert len(line.found(Connected)) == 1 and line.mock.state == "Idle"
    line.command(X, "position", 0.01)
    line.run(1_000)
    assert line.mock.position[0] == pytest.approx(10)


@pytest.mark.parametrize("keys", [b"", b"!"], ids=["runs", "in a hold"])
def test_a_machine_with_a_program_of_its_own_is_held_and_refused(keys: bytes) -> None:
    """What is left of it would go on with the end of a hold."""
    line = GCODE.bench()
    line.run(100)
    line.mock.receive(b"G1 X150 F600\n", line.now)
    line.run(100)
    line.mock.receive(keys, line.now)
    before = line.mock.position[0]
    line.open(1_500)
    (failure,) = line.found(ProtocolFailure)
    assert "'<Run|" in failure.error.what and "reset it by hand" in failure.error.fix
    assert line.mock.state == "Hold:0" and b"\x18" not in line.written
    assert line.mock.position[0] - before < 2.0  # mm, at 10 mm/s


def panel(line: BodyBench, text: str) -> None:
    """A line that a panel sends to the machine; its answer goes to the panel."""
    line.mock.receive(text.encode() + b"\n", line.now)


@pytest.mark.parametrize("change", ["G92 X0", "work_offset"])
@pytest.mark.parametrize("is_asked", [True, False], ids=["sensor", "no-sensor"])
def test_a_work_zero_that_changes_in_the_run(change: str, is_asked: bool) -> None:
    """Command and sensor are in the new frame, and an axis at rest stays where it is."""
    line = GCODE.up({"work_offset": "50, 0, 0"}, frame="work")
    if is_asked:
        line.enable(SENSOR)
    line.command(X, "position", 0.03)
    line.run(3_000)
    assert line.mock.position == pytest.approx((80, 0, 0))
    if change == "work_offset":
        line.mock.set("work_offset", "80, 0, 0")
    else:
        panel(line, change)
    line.run(2_000)
    texts = [event.text for event in line.found(Notice)]
    assert "the work zero of 'x motor' is now at 80" in texts
    assert [event.index for event in line.found(MotorHeld)] == [line.index(X)]
    assert line.mock.position == pytest.approx((80, 0, 0))
    line.enable(SENSOR)
    line.run(500)
    assert line.values()[SENSOR] == pytest.approx(0.0)
    line.command(X, "position", 0.02)
    line.run(3_000)
    assert line.mock.position == pytest.approx((100, 0, 0))
    assert line.values()[SENSOR] == pytest.approx(0.02)


def test_a_motion_to_the_old_zero_stops_and_the_other_axes_go_on() -> None:
    line = GCODE.up(frame="work")
    line.enable(SENSOR)
    line.command(X, "position", 0.15)
    line.command("y motor", "position", 0.1)
    line.run(1_000)
    line.mock.set("work_offset", "50, 0, 0")
    line.run(10_000)
    x, y, _ = line.mock.position
    assert 20 < x < 120 and y == pytest.approx(100)
    line.command(X, "position", 0.15)
    line.run(10_000)
    assert line.mock.position == pytest.approx((200, 100, 0))


def test_a_disarmed_machine_whose_zero_changes_gets_no_stop() -> None:
    """It may run a program of its own, which a stop would hold."""
    line = GCODE.up(frame="work")
    line.enable(SENSOR)
    line.run(100)
    panel(line, "G1 X100 F600")
    line.run(100)
    line.written.clear()
    line.mock.set("work_offset", "5, 0, 0")
    line.run(500)
    assert line.mock.state == "Run" and not {b"!", b"\x85"} & {*line.written}
    assert line.values()[SENSOR] == pytest.approx((line.mock.position[0] - 5) / 1000, abs=1e-3)
    assert not line.found(MotorHeld)


def test_the_emergency_stop_needs_no_report() -> None:
    line = GCODE.up()
    line.give(MotorCommand(line.index(X), "position", 0.2))
    line.run(300)
    line.mock.receive(line.session.emergency(), line.now)
    line.mock.advance(line.now)
    assert line.mock.state == "Idle" and b"!" not in line.session.emergency()
