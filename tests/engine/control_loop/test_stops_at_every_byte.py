"""The stop of the session and the emergency stop have one effect on every robot, wherever the bytes
before them were cut: its motors stand."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from hilgw.control.events import StopReason
from hilgw.testing.conformance.bodies import pattern
from tests.engine.control_loop.on_mocks import AXES, OnMock, declared, kinds

ROBOTS = [*kinds(), AXES]
STANDS_MS = 250
"""Also a robot that is asked again after a cut frame stands within this time, before any watchdog
of its own stops it."""
AT_ONCE_MS = 50
HANGS_MS = 100
"""The emergency stop comes after the event loop has hung for a while."""


def settings(kind: str) -> Any:
    """No robot here stops by its own watchdog."""
    return declared(kind).settings_with(**({"mock": {"watchdog_ms": 0}} if kind == "wc2ec" else {}))


def driving(kind: str) -> OnMock:
    robot = OnMock(kind, settings(kind)).start()
    robot.command(0.1, 0.1, 0.04)  # the third axis is short
    robot.run(100)
    robot.written.clear()
    assert robot.loop.safety.moving and robot.moves
    return robot


@cache
def motion(kind: str) -> bytes:
    """The first bytes that the session writes for a command."""
    robot = driving(kind)
    robot.command(*[0.05] * len(robot.motors))
    robot.run(1, until=lambda: robot.written, limit_ms=100)
    return bytes(robot.written)


def cuts(kind: str) -> range:
    """After each byte on a line. A stream is closed where something was cut."""
    return range(len(motion(kind)) + 1) if OnMock(kind).on_line else range(1)


def hang_and_stop(robot: OnMock, stop: bytes) -> None:
    """The event loop hangs, and the thread writes the bytes that were prepared before."""
    robot.cut = True
    robot.run(HANGS_MS)
    robot.mock.receive(2 * stop if robot.on_line else stop, robot.loop.scheduler.now())
    robot.run(AT_ONCE_MS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ROBOTS)
def test_the_emergency_stop_ends_what_was_cut_at_any_byte(kind: str) -> None:
    for cut in cuts(kind):
        robot = driving(kind)
        stop = robot.loop.body.session.emergency()
        robot.step()
        robot.mock.receive(motion(kind)[:cut], robot.loop.scheduler.now())
        hang_and_stop(robot, stop)
        assert not robot.moves, f"cut after {cut} bytes"


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ROBOTS)
def test_the_stop_of_the_loop_ends_what_was_cut_at_any_byte(kind: str) -> None:
    for cut in cuts(kind):
        robot = driving(kind)
        robot.step()
        now = robot.loop.scheduler.now()
        robot.mock.receive(motion(kind)[:cut], now)
        robot.loop.loop.safety.stop(StopReason.DISARMED, now)
        robot.run(STANDS_MS)
        assert not robot.moves, f"cut after {cut} bytes"


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("waited_ms", [0, 1, 3, 7, 15, 40])
def test_both_stop_a_command_that_has_just_been_given(kind: str, waited_ms: int) -> None:
    for is_emergency in (True, False):
        robot = driving(kind)
        robot.command(*[0.05] * len(robot.motors))
        robot.run(waited_ms)
        if is_emergency:
            hang_and_stop(robot, robot.loop.body.session.emergency())
        else:
            robot.loop.loop.safety.stop(StopReason.DISARMED, robot.loop.scheduler.now())
            robot.run(STANDS_MS)
        assert not robot.moves, "the emergency stop" if is_emergency else "the stop"


@pytest.mark.parametrize("kind", ROBOTS)
def test_the_emergency_stop_has_the_form_that_is_explained(kind: str) -> None:
    robot = driving(kind)
    frame = robot.stop_frame
    form = pattern(replace(frame, form=frame.emergency or frame.form))
    assert form.fullmatch(robot.loop.body.session.emergency())
