"""Each kind of body, with its mock: each cause stops it, after a cut at any byte too."""

import math
import os
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from hilgw.config.queries import is_on_line
from hilgw.control.events import MotorCommand, StopReason
from hilgw.control.safety import mode_of
from hilgw.devices.kinds import KINDS
from hilgw.errors import MismatchError
from hilgw.testing.conformance.bodies import pattern
from tests.engine.control_loop.fakes import MS
from tests.engine.control_loop.on_mocks import AXES, OnMock, declared, kinds

LIMIT_MS = 50
TIMEOUT_MS = 500
SAFETY = {"command_timeout_s": TIMEOUT_MS / 1000, "late_s": 1.0, "latch": True}


def driven(kind: str) -> OnMock:
    made = OnMock(kind, **SAFETY).start()
    made.drive()
    return made


@pytest.fixture(params=kinds())
def robot(request: pytest.FixtureRequest) -> OnMock:
    return driven(request.param)


# --- the stop -------------------------------------------------------------------------------------


def leaves(robot: OnMock) -> None:
    robot.loop.controller_leaves()


def sends_garbage(robot: OnMock) -> None:
    robot.loop.controller.data_received(b"\x05\x05")
    robot.loop.settle()


CAUSES: dict[StopReason, Callable[[OnMock], object]] = {
    StopReason.DISCONNECTED: leaves,
    StopReason.PROTOCOL: sends_garbage,
    StopReason.COMMAND_TIMEOUT: lambda robot: None,  # it freezes
    StopReason.FAULT: lambda robot: robot.loop.controller.fault(RuntimeError("a defect")),
    StopReason.SWAMPED: lambda robot: robot.loop.loop.swamped(robot.loop.scheduler.now()),
    StopReason.ENDED: lambda robot: robot.loop.loop.end(),  # Ctrl-C, SIGTERM, `--duration`
    StopReason.DISARMED: OnMock.disarm,
}
ORDERLY = (StopReason.ENDED, StopReason.DISARMED)
"""They latch nothing."""


@pytest.mark.parametrize("reason", CAUSES)
def test_each_cause_stops_each_kind_of_body_in_time_once(robot: OnMock, reason: StopReason) -> None:
    CAUSES[reason](robot)
    deadline_ms = TIMEOUT_MS - 100 if reason is StopReason.COMMAND_TIMEOUT else 0  # 100 have passed
    took_ms = robot.ms_to_stop(1_000)
    assert deadline_ms <= took_ms <= deadline_ms + LIMIT_MS
    robot.run(100)
    assert robot.loop.safety.stops == {reason: 1}
    assert robot.loop.observer.stops[0][0] == reason
    assert len(robot.loop.observer.stops) == 1
    assert robot.loop.safety.latched == (None if reason in ORDERLY else reason)
    assert not robot.loop.safety.moving
    keeps_controller = reason in (StopReason.DISARMED, StopReason.ENDED)
    assert (robot.loop.controller.transport is not None) is keeps_controller


@pytest.mark.parametrize("on_line", [False, True])
def test_a_stop_of_a_silent_controller_names_the_network_unless_on_a_line(on_line: bool) -> None:
    robot = driven("create2")
    robot.loop.controller.is_on_line = on_line
    robot.ms_to_stop(1_000)
    robot.run(100)
    text = robot.loop.observer.stops[0][1]
    assert text.startswith("the controller sends no messages")
    assert ("or the network between is slow or cut" in text) is not on_line


def test_after_a_stop_no_command_moves_it_until_it_is_armed(robot: OnMock) -> None:
    leaves(robot)
    robot.run(200)
    robot.loop.controller_comes()
    robot.written.clear()
    before = robot.loop.statistics.counts["commands_out"]
    robot.command()
    robot.run(200)
    assert robot.loop.statistics.counts["commands_out"] == before
    assert robot.loop.loop.report()["refused"] == {"latched": len(robot.motors)}
    robot.loop.loop.safety.arm()
    robot.command()
    assert robot.loop.safety.moving


def test_a_body_whose_session_fails_gets_its_stop_or_none_is_reported(robot: OnMock) -> None:
    robot.loop.body.fault(RuntimeError("a defect"))
    assert robot.ms_to_stop(LIMIT_MS) >= 0 or not robot.loop.observer.stops
    robot.loop.settle()
    assert robot.loop.safety.stops == {StopReason.FAULT: 1}
    assert robot.loop.body.transport is None


def test_a_lost_link_carries_no_stop_and_none_is_reported(robot: OnMock) -> None:
    robot.loop.robot_leaves()
    robot.run(100)
    assert robot.written == b""
    assert robot.loop.observer.stops == []
    assert any("the body is gone" in notice for notice in robot.loop.observer.notices)
    assert not robot.loop.safety.armed


@contextmanager
def descriptor(robot: OnMock) -> Iterator[int]:
    """What is written to the body's descriptor can be read at the one returned: a line on a pty, or
    a stream."""
    ours, theirs = os.openpty() if robot.on_line else os.pipe()
    if robot.on_line:
        tty.setraw(theirs)
    robot.loop.robot.fileno = lambda: theirs  # type: ignore[method-assign]
    try:
        robot.loop.loop.safety.emergency_stop.attach(robot.loop.robot)  # type: ignore[arg-type]
        yield ours
    finally:
        robot.loop.loop.safety.emergency_stop.detach()
        os.close(ours)
        os.close(theirs)


def test_the_thread_has_the_stop_of_each_kind_while_the_event_loop_hangs(robot: OnMock) -> None:
    with descriptor(robot) as end:
        robot.loop.loop.safety.in_time()  # the last check before the event loop hangs
        robot.loop.loop.safety.emergency()
        written = os.read(end, 4096)
        assert robot.stop.search(written)
    robot.loop.scheduler.time += 1_100 * MS
    robot.loop.watchdog.check(robot.loop.scheduler.now())
    assert robot.loop.safety.stops == {StopReason.LATE: 1}
    assert robot.loop.controller.transport is None
    robot.step()
    assert robot.stop.search(robot.written) or robot.loop.observer.stops == []


FIRMWARE_OF_OURS = {"wc2ec"}
"""Mocks with a watchdog that the original program lacks: its parameter watchdog_ms."""


@pytest.mark.parametrize("kind", sorted({*kinds()} - {"webots"}))  # which waits for a controller
def test_a_mock_has_the_watchdog_of_its_robot_and_no_other(kind: str) -> None:
    robot = driven(kind)
    assert robot.moves
    begin = robot.loop.scheduler.now()
    for now in range(begin, begin + 3_000 * MS, 2 * MS):  # nothing comes from here any more
        robot.mock.advance(now)
        robot.mock.take(now)
    has_watchdog = robot.stop_frame.has_watchdog or kind in FIRMWARE_OF_OURS
    assert robot.moves is not has_watchdog


def lines() -> list[str]:
    """The kinds whose declared robot is on a serial line."""
    return [kind for kind in kinds() if is_on_line(declared(kind).settings_with())]


@pytest.mark.parametrize("kind", lines())
def test_another_device_behind_the_path_gets_no_motor_command(kind: str) -> None:
    for other in lines():
        if other == kind:
            continue
        robot = OnMock(kind, **SAFETY)
        robot.mock = OnMock(other).mock
        robot.plug()
        robot.run(3_000)
        assert not robot.is_up
        robot.loop.controller_comes()
        robot.command()
        robot.run(100)
        assert robot.loop.statistics.counts["commands_out"] == 0
        assert not robot.loop.safety.moving
        assert not declared(other).moves(robot.mock)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_reaches_no_motor_without_a_stop(robot: OnMock, value: float) -> None:
    session, safety = robot.loop.body.session, robot.loop.loop.safety
    now = robot.loop.scheduler.now()
    allowed = []
    for device in robot.motors:
        for name in KINDS[device.kind].quantity:
            command = MotorCommand(device.index, name, value)
            if safety.check(command, mode_of(command), now) is None:
                allowed.append((name, value))
                mode = mode_of(command)
                assert mode is not None
                assert session.can_stop(device.index, mode)
    assert {name for name, _ in allowed} <= {"position"}  # infinity selects velocity control
    assert not any(math.isnan(number) for _, number in allowed)
    robot.command(*[value] * len(robot.motors))
    robot.run(50)
    leaves(robot)
    assert robot.ms_to_stop(LIMIT_MS) >= 0


PATIENT = {"command_timeout_s": 60.0, "late_s": 1.0, "latch": False}


class Behind(OnMock):
    """doubles: telnet is in between; also of what it makes of our bytes, the stop is the last."""

    doubles = False

    def plug(self) -> None:
        self.loop.robot.name = "socket://10.0.0.1:4001"
        super().plug()

    def collected(self, data: bytes) -> None:
        super().collected(data.replace(b"\xff", b"\xff\xff") if self.doubles else data)


@pytest.mark.parametrize("kind", ["create2", "dynamixel"])
def test_doubled_ffs_stop_the_body_and_are_named(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("left wheel sensor", "right wheel sensor")
    settings = declared(kind).settings_with(always_on=names)
    robot = Behind(kind, settings, **PATIENT).start()
    monkeypatch.setattr(robot.loop, "settle", lambda: False)  # which forgets what failed
    robot.command(*{"create2": (-0.3, -0.3), "dynamixel": (-1.0, -1.0)}[kind])
    robot.run(6_000)  # backwards, beyond zero: the answers have many FF
    assert robot.loop.failures == [] and robot.moves
    robot.written.clear()
    robot.doubles = True
    robot.run(3_000, until=lambda: robot.loop.failures)
    robot.step()
    assert robot.stop.search(robot.written)
    ((name, error), *_) = robot.loop.failures
    assert name == "cab.body" and isinstance(error, MismatchError)
    assert "telnet" in error.what and "rfc2217://" in error.fix


def test_a_body_on_a_serial_line_is_not_suspected() -> None:
    robot = Behind("create2", **PATIENT).start()
    robot.loop.robot.name = "/dev/ttyUSB0"
    robot.loop.body.attach(robot.loop.robot)
    robot.run(2_000)
    robot.doubles = True
    robot.command(-0.5, -0.5)
    robot.run(3_000)
    assert not [error for _, error in robot.loop.failures if isinstance(error, MismatchError)]


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
