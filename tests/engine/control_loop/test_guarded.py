"""What a real body's guardian has at each moment, and what a gateway does that it took for dead."""

import errno
import socket
from collections.abc import Iterator

import pytest

from hilgw.control.events import MotorCommand, MotorField, StopReason
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.guardian import Guardian
from hilgw.errors import PortError, SafetyError
from hilgw.reasons import RequestRefused
from hilgw.testing.sim import Clock
from tests.engine.control_loop.fakes import MS, FakeGuardian, FakeLoop, Wire
from tests.engine.control_loop.on_mocks import OnMock, declared, kinds

BODY = "cab.body"
REAL = [kind for kind in kinds() if not declared(kind).body.simulated]
SAFETY = {"command_timeout_s": 0.5, "late_s": 1.0, "latch": False}


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The far end of what an emergency stop writes to: each connection has a descriptor."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    monkeypatch.setattr(Wire, "fileno", lambda self: ours.fileno())
    with ours, theirs:
        yield theirs


@pytest.fixture
def guardian(line: socket.socket) -> FakeGuardian:
    return FakeGuardian()


def robot_of(kind: str, guardian: FakeGuardian) -> OnMock:
    return OnMock(kind, guardian=guardian, **SAFETY).start()


@pytest.mark.parametrize("kind", REAL)
def test_the_guardian_has_the_stop_before_the_first_byte_of_a_motion(
    kind: str, guardian: FakeGuardian
) -> None:
    """Killed at any byte, the robot stops with what the guardian has."""
    robot = robot_of(kind, guardian)
    assert guardian.kept == {BODY: b""}
    before, at_keep = len(robot.loop.robot.written), list[int]()
    guardian.on_keep = lambda _: at_keep.append(len(robot.loop.robot.written))
    robot.command()
    assert at_keep[0] == before
    if len(robot.loop.robot.written) == before:
        robot.run(50)  # the session waits for an answer of the robot first
    assert guardian.kept[BODY]
    robot.run(100)
    assert robot.moves
    robot.cut = True  # the gateway is killed
    robot.mock.receive(2 * guardian.kept[BODY], robot.loop.scheduler.now())
    for _ in range(20):
        robot.loop.scheduler.run(MS)
        robot.mock.advance(robot.loop.scheduler.now())
        robot.mock.take(robot.loop.scheduler.now())
    assert not robot.moves


@pytest.mark.parametrize("kind", REAL)
def test_a_guardian_that_cannot_take_the_stop_keeps_every_motor_still(
    kind: str, guardian: FakeGuardian
) -> None:
    robot = robot_of(kind, guardian)
    guardian.works = False
    robot.command()
    robot.run(100)
    assert not robot.moves
    refused = robot.loop.statistics.refused
    assert refused[RequestRefused.NO_GUARDIAN] == len(robot.motors)


def test_a_connection_that_the_guardian_did_not_take_moves_no_motor(guardian: FakeGuardian) -> None:
    guardian.works = False
    robot = robot_of("create2", guardian)
    guardian.works = True
    robot.command()
    robot.run(100)
    assert not robot.moves


def test_a_hold_position_reaches_the_guardian_with_the_next_beat(guardian: FakeGuardian) -> None:
    """A motor in position mode holds where it is, which changes while it moves."""
    robot = robot_of("dynamixel", guardian)
    guardian.guarded.append(robot.loop.loop.safety)
    robot.loop.watchdog.start()
    robot.drive()
    kept: list[bytes] = []
    guardian.on_keep = kept.append
    session = robot.loop.body.session
    stops = iter([b"hold 1", b"hold 2"])
    session.emergency = lambda: next(stops, b"hold 2")
    robot.run(210)
    robot.loop.watchdog.stop()
    assert kept == [b"hold 1", b"hold 2"]


def test_after_a_stop_the_guardian_has_it_until_it_has_left(guardian: FakeGuardian) -> None:
    """A gateway that is killed just then would leave the stop in a buffer, and the guardian
    discards what is not sent."""
    robot = robot_of("create2", guardian)
    guardian.guarded.append(robot.loop.loop.safety)
    robot.drive()
    robot.loop.robot.stalled = True
    robot.loop.controller_leaves()
    robot.loop.loop.safety.in_time()
    assert guardian.kept[BODY]
    robot.loop.robot.accept()
    robot.run(100)  # with its copies
    robot.loop.loop.safety.in_time()
    assert guardian.kept[BODY] == b""


def test_a_gateway_that_goes_on_sends_only_the_stop_and_loses_the_body(
    guardian: FakeGuardian, line: socket.socket
) -> None:
    robot = robot_of("create2", guardian)
    robot.drive()
    robot.loop.robot.take()
    stop = guardian.kept[BODY]
    guardian.flag[0] = 1  # it stopped the robot, while this process did not run
    robot.command(0.2, 0.2)
    assert robot.loop.robot.written == []
    assert line.recv(100) == stop
    ((name, error),) = robot.loop.failures
    assert name == BODY
    assert isinstance(error, PortError)
    assert error.reason == PortError.LOST
    assert not robot.loop.safety.armed
    assert robot.loop.safety.latched is StopReason.GUARDIAN
    robot.command(0.3, 0.3)
    robot.run(50)
    assert robot.loop.robot.written == []
    with pytest.raises(BlockingIOError):
        line.recv(1)


def test_what_waits_in_a_connection_that_was_stopped_never_leaves(
    guardian: FakeGuardian, line: socket.socket
) -> None:
    """The next guardian starts before the connection is closed, and its flag is not set."""
    robot = robot_of("create2", guardian)
    robot.drive()
    stopped = robot.loop.robot
    guardian.flag[0] = 1
    robot.loop.loop.safety.guardian_acted()
    guardian.flag = bytearray(1)
    robot.loop.loop.safety.guard()
    assert stopped.flag[0] == 1
    robot.loop.settle()
    robot.loop.robot = Wire()
    robot.plug()
    assert robot.loop.robot.flag is guardian.flag


def test_a_command_that_selects_no_mode_adds_its_motor_to_the_stop(guardian: FakeGuardian) -> None:
    robot = robot_of("dynamixel", guardian)
    first, second = robot.motors[:2]
    now = robot.loop.scheduler.now()
    robot.loop.loop.events([MotorCommand(first.index, MotorField.VELOCITY, 0.1)], now)
    robot.loop.loop.events([MotorCommand(second.index, MotorField.ACCELERATION, 1.0)], now)
    assert guardian.kept[BODY] == robot.loop.body.session.emergency()


def test_a_flag_that_is_set_between_the_look_and_the_write_is_followed_by_the_stop(
    guardian: FakeGuardian, line: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = robot_of("create2", guardian)
    robot.drive()
    write = Wire.write

    def frozen_before(self: Wire, data: bytes) -> None:
        guardian.flag[0] = 1
        write(self, data)

    monkeypatch.setattr(Wire, "write", frozen_before)
    robot.command(0.2, 0.2)
    assert line.recv(100)
    assert not robot.loop.safety.armed


def test_a_guardian_that_dies_stops_the_robots_and_latches_in_spite_of_the_file(
    guardian: FakeGuardian,
) -> None:
    robot = robot_of("create2", guardian)
    robot.drive()
    robot.loop.loop.safety.guardian_died()
    robot.run(5)
    assert not robot.moves
    assert not robot.loop.safety.armed
    assert robot.loop.safety.latched is StopReason.GUARDIAN_ENDED
    assert robot.loop.failures == []  # the body is still there


def test_a_robot_that_stands_still_is_disarmed_too(guardian: FakeGuardian) -> None:
    robot = robot_of("create2", guardian)
    robot.loop.loop.safety.guardian_died()
    assert not robot.loop.safety.armed


def test_a_new_guardian_gets_the_connections_that_are_up(guardian: FakeGuardian) -> None:
    robot = robot_of("create2", guardian)
    robot.loop.loop.safety.guardian_died()
    guardian.kept.clear()
    guardian.flag = bytearray(1)
    robot.loop.loop.safety.guard()
    assert guardian.kept == {BODY: b""}
    assert robot.loop.body.flag is guardian.flag
    robot.loop.robot_leaves()
    guardian.kept.clear()
    robot.loop.loop.safety.guard()
    assert guardian.kept == {}


def test_a_second_guardian_gets_the_stop_of_a_robot_that_moves(guardian: FakeGuardian) -> None:
    """The first is frozen. A robot that is back stands still, and gets none."""
    robot = robot_of("create2", guardian)
    robot.drive()
    stop = guardian.kept.pop(BODY)
    robot.loop.loop.safety.guard()
    assert guardian.kept[BODY] == stop != b""
    robot.loop.robot_leaves()
    assert robot.loop.loop.safety.emergency_stop.unguarded == ""  # nothing is there
    robot.plug()
    assert guardian.kept[BODY] == b""


@pytest.mark.parametrize("kind", REAL)
def test_the_guardian_gets_a_line_as_a_line(kind: str, guardian: FakeGuardian) -> None:
    """Behind a serial server a line gets the stop before the end of its connection."""
    robot = robot_of(kind, guardian)
    assert guardian.lines == {BODY} if robot.on_line else not guardian.lines


async def test_the_guardian_lets_go_of_a_connection_before_it_is_closed(
    guardian: FakeGuardian,
) -> None:
    robot = robot_of("create2", guardian)
    await robot.loop.body.release()
    assert guardian.kept == {}
    robot.command()
    robot.run(50)
    assert not robot.moves


def test_a_body_without_a_descriptor_moves_without_one(
    guardian: FakeGuardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port on rfc2217://: what the guardian cannot do is shown at the start."""
    monkeypatch.setattr(Wire, "fileno", lambda self: -1)
    guardian.works = False
    robot = robot_of("create2", guardian)
    robot.drive()
    assert robot.moves
    stop = robot.loop.loop.safety.emergency_stop
    assert "robot-guard cannot have its port" in stop.unguarded


def test_arming_names_the_robots_that_nothing_guards(
    guardian: FakeGuardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port on rfc2217:// has no descriptor."""
    loops = ControlLoops(Clock())
    loops.add(robot_of("create2", guardian).loop.loop)
    (name,) = loops
    assert "robot-guard" not in loops.notes(name).get(name, "")
    monkeypatch.setattr(Wire, "fileno", lambda self: -1)
    loops = ControlLoops(Clock())
    loops.add(robot_of("create2", guardian).loop.loop)
    assert "nothing stops it if hilgw is killed" in loops.notes(name)[name]


@pytest.mark.process
async def test_robots_cannot_be_armed_where_no_guardian_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guardian = Guardian(Clock())

    def fails() -> None:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(guardian, "_start", fails)
    guardian.demand()  # nothing to protect
    guardian.guarded.append(FakeLoop(guardian=FakeGuardian()).loop.safety)
    with pytest.raises(SafetyError, match="the guardian cannot start"):
        guardian.demand()
