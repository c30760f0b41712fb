"""A stop is written to a robot that hilgw has not commanded, and again where a line damages it."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import pairwise

import pytest

from firmware_mocks.dynamixel.servo import TORQUE
from hilgw.control.events import (
    Command,
    Disconnected,
    Event,
    MotorCommand,
    MotorField,
    Outcome,
    StopReason,
)
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.stops import LEAVE_NS, REPEAT_NS, STANDS_STILL, STEP_NS
from hilgw.units import NS_PER_MS
from tests.bodies.test_webots import LEAVE, QUIT
from tests.engine.control_loop.on_mocks import OnMock, declared, kinds

LIMIT_MS = 40
ON_LINES = [kind for kind in kinds() if OnMock(kind).on_line]
NOT_CONFIRMED = "stop sent 3 times; no answer of the robot confirms it"


BY_HAND: dict[str, Callable[[OnMock], None]] = {
    "hilgw disarm": OnMock.disarm,
    "the switch": lambda robot: robot.disarm(StopReason.ESTOP),
    "a port that is handed over": lambda robot: robot.disarm(StopReason.RELEASED),
    "Ctrl-C": lambda robot: robot.loop.loop.end(by_hand=True),
}
AT_AN_END: dict[str, Callable[[OnMock], None]] = {
    "the end of the run": lambda robot: robot.loop.loop.end(),
    "the end of the controller": lambda robot: robot.loop.controller_leaves(),
    "the end of a lease": lambda robot: robot.disarm(StopReason.LEASE_ENDED),
    "a lease that expires": lambda robot: robot.disarm(StopReason.LEASE_EXPIRED),
}


def resting(kind: str, *, simulated: bool) -> OnMock:
    """A robot that is up, and that this run has not commanded."""
    robot = OnMock(kind, simulated=simulated, armed=simulated).start()
    robot.run(100)
    robot.written.clear()
    return robot


def driven(kind: str) -> OnMock:
    robot = OnMock(kind, simulated=False, armed=True).start()
    robot.drive()
    return robot


def stops_in(robot: OnMock) -> int:
    return len(robot.stop.findall(robot.written))


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("cause", BY_HAND)
@pytest.mark.parametrize("simulated", [True, False], ids=["simulated", "real"])
def test_a_person_stops_a_robot_without_commands(kind: str, cause: str, simulated: bool) -> None:
    robot = resting(kind, simulated=simulated)
    BY_HAND[cause](robot)
    assert robot.ms_to_stop(LIMIT_MS) >= 0
    robot.run(200)
    assert robot.loop.observer.stops == [] and not robot.loop.safety.stops  # none that moved
    assert robot.loop.safety.latched is None


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("cause", AT_AN_END)
def test_an_end_stops_a_real_robot_that_was_never_commanded(kind: str, cause: str) -> None:
    robot = resting(kind, simulated=False)
    AT_AN_END[cause](robot)
    assert robot.ms_to_stop(LIMIT_MS) >= 0


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("cause", AT_AN_END)
def test_an_end_stops_a_simulated_robot_that_this_run_has_commanded(kind: str, cause: str) -> None:
    robot = resting(kind, simulated=True)
    AT_AN_END[cause](robot)
    robot.run(100)
    assert not stops_in(robot)
    robot = resting(kind, simulated=True)
    robot.drive()
    robot.disarm()
    robot.run(500)
    robot.written.clear()
    AT_AN_END[cause](robot)
    assert robot.ms_to_stop(LIMIT_MS) >= 0


@pytest.mark.parametrize("kind", ON_LINES)
def test_a_robot_that_another_program_drives_is_stopped(kind: str) -> None:
    driver = OnMock(kind).start()
    driver.run(100)
    driver.written.clear()
    driver.command()
    driver.run(100)
    robot = resting(kind, simulated=False)
    robot.mock.receive(bytes(driver.written), robot.loop.scheduler.now())
    robot.disarm()
    robot.run(500)
    assert not robot.moves


@pytest.mark.parametrize("kind", kinds())
def test_no_stop_is_added_when_a_robot_connects(kind: str) -> None:
    """Apart from the handshake's own: the robot was stopped while it was away."""
    first, second = OnMock(kind), OnMock(kind, simulated=False)
    second.disarm()
    for robot in (first, second):
        robot.start()
        robot.run(200)
    assert stops_in(first) == stops_in(second)


@pytest.mark.parametrize("kind", ON_LINES)
@pytest.mark.parametrize("cause", [*BY_HAND, *AT_AN_END])
def test_a_robot_whose_first_stop_is_damaged_stops(kind: str, cause: str) -> None:
    robot = driven(kind)
    robot.cut = True
    (BY_HAND | AT_AN_END)[cause](robot)
    assert robot.ms_to_stop(LIMIT_MS) >= 0
    robot.cut = False
    robot.run(1_500, until=robot.loop.loop.has_drained)
    assert not robot.moves


def copies_of(robot: OnMock) -> list[int]:
    """When the stops of the next 200 ms leave, in ms."""
    times, seen = [], 0
    for milliseconds in range(200):
        robot.step()
        if stops_in(robot) > seen:
            seen = stops_in(robot)
            times.append(milliseconds)
        robot.run(1)
    return times


def test_copies_leave_30_ms_apart_and_the_run_waits_for_them() -> None:
    robot = driven("create2")
    robot.loop.loop.end(by_hand=True)
    assert not robot.loop.loop.has_drained()
    times = copies_of(robot)
    assert len(times) == 3 and times[0] == 0
    gaps_ms = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps_ms) >= REPEAT_NS // NS_PER_MS and max(gaps_ms) < 50
    assert robot.loop.loop.has_drained()
    assert NOT_CONFIRMED in robot.loop.observer.notices


def confirmations(robot: OnMock) -> list[str]:
    return [each for each in robot.loop.observer.notices if "confirm" in each]


@pytest.mark.parametrize("kind", ["dynamixel", "feetech"])
@pytest.mark.parametrize("ends", [False, True])
def test_servos_are_asked_whether_they_have_the_stop(kind: str, ends: bool) -> None:
    robot = driven(kind)
    robot.loop.loop.end() if ends else robot.disarm()
    robot.run(1_000, until=robot.loop.loop.has_drained)
    assert not robot.moves and confirmations(robot) == []


@pytest.mark.parametrize("kind", ["dynamixel", "feetech"])
@pytest.mark.parametrize("is_dead", [False, True], ids=["stops are lost", "the line is dead"])
def test_a_stop_that_servos_have_not_got_is_reported_once(kind: str, is_dead: bool) -> None:
    robot = driven(kind)
    carry = robot.put

    def put(data: bytes) -> None:
        if not is_dead:
            carry(robot.stop.sub(b"", data))

    robot.put = put  # type: ignore[method-assign]
    robot.loop.loop.end()
    robot.run(1_000, until=robot.loop.loop.has_drained)
    assert robot.moves or is_dead  # the watchdog of the servos stops them then
    by_servo = [f"stop not confirmed by servo {number + 1}" for number in range(len(robot.motors))]
    lost = ["stop not confirmed, as the servos are not set up"]  # silent before they were asked
    assert confirmations(robot) == (lost if is_dead else by_servo)


def test_a_stop_right_before_a_servo_is_lost_is_not_taken_for_confirmed() -> None:
    robot = driven("feetech")
    robot.cut = True
    robot.run(290)
    robot.disarm()
    robot.run(300)
    assert robot.moves and confirmations(robot) == [
        "stop not confirmed, as the servos are not set up"
    ]


@pytest.mark.parametrize("kind", ["dynamixel", "feetech"])
def test_a_command_after_the_stop_leaves_it_confirmed(kind: str) -> None:
    robot = OnMock(kind, simulated=False, armed=True, latch=False).start()
    robot.drive()
    robot.disarm()
    robot.run(31)  # the second copy has just left, and its question
    robot.loop.loop.arm()
    robot.command()
    robot.run(300)
    assert robot.moves and confirmations(robot) == []


def test_arming_ends_the_copies() -> None:
    robot = driven("create2")
    robot.disarm()
    robot.run(10)
    robot.loop.loop.arm()
    robot.run(200)
    assert stops_in(robot) == 1 and NOT_CONFIRMED not in robot.loop.observer.notices


def test_a_command_ends_the_copies_of_its_motor() -> None:
    robot = OnMock("dynamixel", latch=False).start()
    robot.drive()
    robot.loop.controller_leaves()
    robot.run(10)
    robot.loop.controller_comes()
    robot.command(0.5)  # the first motor only
    robot.run(300)
    moving, *others = robot.mock.servos.values()
    assert moving.moves and not any(servo.moves for servo in others)


def test_one_motor_that_a_refusal_stops_gets_its_stop_three_times() -> None:
    robot = driven("create2")
    robot.cut = True
    robot.give(MotorCommand(robot.motors[0].index, MotorField.TORQUE, 1.0))  # it has velocities
    robot.run(10)
    robot.cut = False
    robot.run(100)
    assert robot.moves and 0 in robot.mock.drive


SAG = 20  # pulses, 1.8 degrees


def arm_with_a_load() -> OnMock:
    """Its servos hold a position, from which the load pulls them away."""
    settings = replace(declared("dynamixel").settings_with(), mock={"sag": SAG})
    robot = OnMock("dynamixel", settings, simulated=False, armed=True).start()
    for motor in robot.motors:
        robot.give(MotorCommand(motor.index, MotorField.POSITION, 0.5))
    robot.run(1_000)
    assert min(positions(robot)) > 2200
    return robot


def positions(robot: OnMock) -> list[float]:
    return [servo.pulses for servo in robot.mock.servos.values()]


def test_a_loaded_arm_does_not_sag_from_stop_to_stop() -> None:
    robot = arm_with_a_load()
    robot.disarm()
    robot.run(500)
    before = positions(robot)
    for _ in range(20):
        robot.loop.loop.arm()
        robot.disarm()
        robot.run(500)
    assert positions(robot) == before


def test_each_copy_of_a_stop_holds_the_same_position() -> None:
    robot = arm_with_a_load()
    robot.written.clear()
    robot.disarm()
    robot.run(200)
    assert len({*robot.stop.findall(robot.written)}) == 1 and stops_in(robot) >= 3


def test_an_arm_that_was_moved_by_hand_does_not_swing_back() -> None:
    robot = arm_with_a_load()
    robot.disarm()
    robot.run(500)
    for servo in robot.mock.servos.values():
        servo.table[TORQUE] = 0  # another program lets it go
        servo.pulses += 400
    moved = positions(robot)
    robot.run(100)
    robot.disarm()
    robot.run(500)
    assert not any(servo.torque for servo in robot.mock.servos.values())
    assert positions(robot) == moved


def test_a_stop_on_a_stalled_line_is_reported_once_it_has_left() -> None:
    for leaves in (False, True):
        robot = driven("create2")
        robot.loop.robot.stalled = True
        robot.disarm()
        robot.run(100)
        assert robot.loop.observer.stops == [] and robot.loop.loop.safety.stops.is_leaving
        if leaves:
            robot.loop.robot.accept()
        robot.run(LEAVE_NS // NS_PER_MS)
        stops, unconfirmed = robot.loop.observer.stops, robot.loop.loop.unconfirmed
        assert not robot.loop.loop.safety.stops.is_leaving
        assert stops == [("disarmed", "the user disarmed the robot")] * leaves
        assert unconfirmed == ({} if leaves else {"cab.body": "the line takes no bytes"})
        notices = robot.loop.observer.notices
        assert any("stop not confirmed: the line takes" in each for each in notices) is not leaves


def test_a_copy_that_the_line_does_not_take_is_reported() -> None:
    robot = driven("create2")
    robot.disarm()
    robot.run(10)
    robot.loop.robot.full = True
    robot.run(100)
    notices = robot.loop.observer.notices
    assert [each for each in notices if "stop not confirmed: the line takes no bytes" in each]


def test_a_stop_whose_connection_is_lost_before_it_has_left_is_not_reported_as_sent() -> None:
    robot = driven("create2")
    robot.loop.robot.stalled = True
    robot.disarm()
    robot.run(10)
    robot.loop.robot_leaves()
    robot.run(LEAVE_NS // NS_PER_MS)
    assert robot.loop.observer.stops == []
    notices = robot.loop.observer.notices
    assert [each for each in notices if "not confirmed: the connection was lost" in each]


def test_a_simulation_that_stands_still_is_named_and_gets_the_stop_with_its_next_step() -> None:
    robot = OnMock("webots").start()
    robot.drive()
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now())
    for is_late in (False, True):
        robot.loop.scheduler.run(STEP_NS - 10 * NS_PER_MS if not is_late else 20 * NS_PER_MS)
        named = [each for each in robot.loop.observer.notices if STANDS_STILL in each]
        assert bool(named) is is_late
    robot.run(100)
    assert not robot.moves and robot.loop.observer.stops == []


def test_a_stop_that_a_reset_of_the_world_has_dropped_is_not_reported_as_sent() -> None:
    """It waited for the next request, which never leaves."""
    robot = OnMock("webots").start()
    robot.drive()
    robot.cut = True
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now())
    robot.loop.body.data_received(QUIT)
    for _ in range(100):
        robot.loop.scheduler.run(NS_PER_MS)  # its connection is still open
    robot.run(1_000)
    assert robot.loop.observer.stops == []
    assert any("not confirmed" in each for each in robot.loop.observer.notices)


@pytest.mark.parametrize("kind", ON_LINES)
def test_a_session_that_fails_at_a_command_right_after_a_stop_is_stopped_again(kind: str) -> None:
    """It fails when the command is written, and before the control loop has counted it."""
    robot = OnMock(kind, simulated=False, armed=True, latch=False).start()
    robot.drive()
    robot.loop.controller_leaves()
    robot.run(5)
    robot.loop.controller_comes()
    robot.written.clear()

    def failing() -> int:
        raise RuntimeError("a defect")

    robot.loop.body.session.next_deadline = failing
    robot.command()
    assert robot.loop.failures
    assert robot.ms_to_stop(5) >= 0


def test_a_body_that_goes_once_the_run_has_ended_disarms_nothing() -> None:
    robot = driven("create2")
    assert robot.loop.safety.latch
    robot.loop.loop.end()
    robot.loop.robot_leaves()
    assert robot.loop.safety.armed and robot.loop.safety.latched is None


def test_the_end_of_a_run_takes_its_leave_of_a_simulation() -> None:
    robot = OnMock("webots").start()
    robot.drive()
    robot.loop.loop.end()
    robot.run(500)
    assert bytes(robot.written).endswith(LEAVE)


def copied(robot: OnMock) -> list[Collection[int] | None]:
    """Return the motors of each copy of a stop that the session is asked for from now on."""
    asked: list[Collection[int] | None] = []
    stop_again = robot.loop.body.session.stop_again

    def noting(motors: Collection[int] | None, now: int) -> list[Event]:
        asked.append(motors)
        return stop_again(motors, now)

    robot.loop.body.session.stop_again = noting
    return asked


def test_a_command_to_one_motor_ends_its_copies_and_not_those_of_the_others() -> None:
    robot = driven("create2")
    asked = copied(robot)
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now(), latch=False)
    robot.run(5)
    robot.command(0.2)
    robot.run(200)
    _, second = robot.motors
    assert asked == [[second.index]] * 2


def test_many_stops_of_one_motor_do_not_put_off_the_copies_of_another() -> None:
    robot = driven("create2")
    asked = copied(robot)
    first, second = (each.index for each in robot.motors)
    robot.loop.loop.safety.stops.write_motor(first, robot.loop.scheduler.now())
    for _ in range(20):
        robot.loop.loop.safety.stops.write_motor(second, robot.loop.scheduler.now())
        robot.run(5)
    assert sum(first in (motors or ()) for motors in asked) == 2


def end_of_run(robot: OnMock, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return of which body the last stop is not confirmed, and why."""

    async def sleep(seconds: float) -> None:
        robot.run(max(1, round(seconds * 1000)))

    loops = ControlLoops(robot.loop.scheduler, simulated=True)
    loops.add(robot.loop.loop)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(loops.stop_motors())
    return loops.unconfirmed


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_run_reports_a_stop_without_the_awaited_answer(
    monkeypatch: pytest.MonkeyPatch, is_cut: bool
) -> None:
    settings = replace(declared("epuck").settings_with(), silence_s=5)  # not lost before
    robot = OnMock("epuck", settings, simulated=False, armed=True).start()
    robot.drive()
    robot.cut = is_cut
    unconfirmed = end_of_run(robot, monkeypatch)
    assert robot.moves is is_cut
    assert unconfirmed == ({"cab.body": "the robot has not answered it"} if is_cut else {})
    assert any("stop not confirmed" in each for each in robot.loop.observer.notices) is is_cut


@pytest.mark.parametrize("latch", [False, True])
def test_a_command_that_finds_the_robot_gone_does_not_undo_the_stop(latch: bool) -> None:
    """An answer is late, and the event loop, too: the session notices it at the command."""
    robot = OnMock("create2", simulated=False, armed=True, latch=latch).start()
    robot.drive()
    session = robot.loop.body.session
    command = session.command

    def losing(given: Command, now: int) -> tuple[Outcome, list[Event]]:
        session.command = command
        outcome, events = command(given, now)
        return outcome, [*events, Disconnected("servo 1 does not answer")]

    session.command = losing
    robot.written.clear()
    robot.command()
    robot.run(900)
    assert [
        reason for reason, _ in robot.loop.observer.stops
    ] == []  # the one of the loss is a line
    assert dict(robot.loop.safety.stops) == {StopReason.BODY: 1}
    assert stops_in(robot) >= 3 and not robot.moves
    assert robot.loop.loop.safety.records.refresh(robot.loop.scheduler.now()) == []
