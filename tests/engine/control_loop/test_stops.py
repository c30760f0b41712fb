"""When motors stop: once, counted, in time; and what must happen before they move again."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.engine.observer import State
from hilgw.engine.supervisor import FAULTS_ALLOWED
from hilgw.errors import SafetyError
from tests.e2e.control_loop_peers import (
    CAB,
    DEADLINE_S,
    LINEAR,
    ROTATIONAL,
    Devices,
    Peer,
    registrations,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.fakes import MS, FakeLoop, SharedClock
from tests.engine.control_loop.running import GO, STOP, RunningLoop, driving, robot_of

ROUNDS = 3


def stop_after(running: RunningLoop, begin_ns: int) -> float:
    """Seconds until the robot received its stop."""
    return (robot_of(running).wait_for(STOP) - begin_ns) / 1e9


GARBAGE = [
    b"\x05",  # a reserved command
    b"\x82\x63\x01",  # a type without a length
    b"\x82\x27\x01\x00\x00\x00\x00\xff\xff\xff\xff",  # a packet of 4 GiB
    b"\x83\x26\x01",  # another length than the device's
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(range(200, 256)),
]


def leaves_with_a_session_that_reports_no_end(controller: Peer, running: RunningLoop) -> None:
    running.tcp_server.supervised.session.close = list
    controller.finish()


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        (lambda controller, _: controller.finish(), "disconnected"),
        (lambda controller, _: controller.half_close(), "disconnected"),
        (leaves_with_a_session_that_reports_no_end, "disconnected"),
        *(
            (lambda it, _, data=data: it.send(data + 11 * b"\0", set_value(1, 9.0)), "protocol")
            for data in GARBAGE
        ),
    ],
)
def test_each_end_of_a_controller_stops_the_motors_once(
    tmp_path: Path, way: Callable[[Peer, RunningLoop], None], reason: str
) -> None:
    with RunningLoop(tmp_path) as running:
        for _ in range(ROUNDS):
            controller = driving(running)
            begin = running.clock.time
            way(controller, running)
            assert stop_after(running, begin) == 0
            controller.wait_for_end()
        assert running.stops() == {reason: ROUNDS}
        assert running.report()["motors"]["left"] == {"velocity": 0.0}
        assert set_value(1, 9.0) not in robot_of(running).received


def test_a_linear_motor_goes_to_its_default_or_holds(tmp_path: Path) -> None:
    devices: Devices = (*CAB, (LINEAR, "lift"), (LINEAR, "gate"))
    position = wire.value(wire.SENSOR_DATA, LINEAR, 4, 0.4)
    with RunningLoop(tmp_path, body="default_position: {lift: 0.1}", devices=devices) as running:
        controller = running.controller()
        robot_of(running).send(position)
        controller.wait_for(position)
        orders = wire.value(wire.SET_VALUE, LINEAR, 3, 0.9) + wire.value(
            wire.SET_VALUE, LINEAR, 4, 0.8
        )
        controller.send(orders)
        robot_of(running).wait_for(orders)
        controller.finish()
        robot_of(running).wait_for(
            STOP
            + wire.value(wire.SET_VALUE, LINEAR, 3, 0.1)
            + wire.value(wire.SET_VALUE, LINEAR, 4, 0.4)
        )
        motors = running.report()["motors"]
    assert motors["lift"] == {"position": 0.1}
    assert motors["gate"] == {"position": 0.4}


TIMEOUT = "    safety: {command_timeout_s: 0.2}"


def test_a_controller_that_commands_no_more_is_stopped_and_disconnected(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, TIMEOUT) as running:
        controller = driving(running)
        for _ in range(4):  # each command puts the end off
            running.advance(0.15)
            robot_of(running).send(sensor_data(0, 1.0))
            controller.wait_for(sensor_data(0, 1.0))
            controller.send(GO)
            begin = robot_of(running).wait_for(GO)
        assert stop_after(running, begin) == pytest.approx(0.2, abs=0.001)
        controller.wait_for_end()
        assert running.stops() == {"command_timeout": 1}
        driving(running).finish()


LATCH = "    safety: {latch: true}"


def test_a_latched_stop_lasts_until_it_is_armed(tmp_path: Path) -> None:
    with pytest.raises(SafetyError) as raised, RunningLoop(tmp_path, LATCH) as running:
        driving(running).finish()
        robot_of(running).wait_for(STOP)
        following = running.controller()
        following.send(GO)
        following.wait_for(wire.bare(wire.ERROR, ROTATIONAL, 1))
        assert running.report()["refused"] == {"latched": 1}
        assert running.report()["latched"] == "disconnected"
        running.gateway.control_loops.arm("cab")
        following.send(GO)
        robot_of(running).wait_for(GO)
        following.finish()
        robot_of(running).wait_for(STOP)
    assert raised.value.exit_code == 7
    assert "disconnected" in str(raised.value)


def test_an_orderly_end_latches_nothing(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATCH) as running:
        driving(running)
        begin = running.clock.time
        running.end()
        assert stop_after(running, begin) == 0
        robot_of(running).wait_for_end()
        assert running.stops() == {"gateway_ended": 1}


def test_a_body_that_goes_takes_its_controller_along(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        robot_of(running).finish()
        controller.wait_for_end()
        assert running.stops() == {"body": 1}
        waiting = running.knock()  # it comes before the robot is back
        running.until(lambda: running.log.saw("cab.controller", State.UP) == 2)
        assert waiting.received == b""
        robot = running.accept()
        waiting.wait_for(b"right")
        assert robot.received == b""
        waiting.send(GO)
        robot.wait_for(GO)
        assert running.log.saw("cab.body", State.UP) == 2


def test_a_robot_that_comes_back_with_other_devices_is_learnt_anew(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        driving(running)
        robot_of(running).finish()
        running.devices = ((ROTATIONAL, "wheel"),)
        robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        controller = running.controller()
        assert controller.received == b""
        controller.send(set_value(0, 2.0))
        robot.wait_for(set_value(0, 2.0))
        running.until(lambda: running.report()["motors"] == {"wheel": {"velocity": 2.0}})
        assert running.report()["sensors"] == {}  # those of the first are forgotten


def test_a_body_that_contradicts_itself_is_stopped_and_connected_anew(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        robot_of(running).send(b"\x63")
        robot_of(running).wait_for(STOP)
        robot_of(running).wait_for_end()
        controller.wait_for_end()
        running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        assert running.stops() == {"body": 1}


LATE = "    safety: {late_s: 0.5}"


def test_while_the_loop_hangs_a_thread_stops_the_motors() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(DEADLINE_S)
        loop = FakeLoop(clock=SharedClock(), late_s=0.1)
        loop.robot.fileno = ours.fileno  # type: ignore[method-assign]
        loop.body.attach(loop.robot)
        loop.body.data_received(b"".join(registrations(CAB)))
        loop.controller_comes()
        loop.watchdog.start()
        loop.controller.data_received(GO)
        loop.scheduler.time += 150 * MS  # and no callback runs
        assert theirs.recv(100) == STOP
        loop.controller.data_received(set_value(1, 9.0))  # sent into the hang
        loop.watchdog.stop()
    assert loop.controller.transport is None
    assert loop.safety.stops == {"late": 1}
    assert loop.loop.report()["emergency_stops"] == 1
    assert set_value(1, 9.0) not in loop.robot.data()


def test_commands_that_waited_while_the_gateway_slept_are_thrown_away(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATE) as running:
        controller = running.controller()
        running.hang(1.0)
        for speed in range(1, 50):
            controller.send(set_value(1, speed / 10))
        late = running.knock()
        late.send(GO)
        controller.wait_for_end()
        late.wait_for_end()
        running.advance(0.2)
        running.controller().send(set_value(2, 1.0))
        robot_of(running).wait_for(set_value(2, 1.0))
        assert robot_of(running).received == b""
        assert running.report()["commands_out"] == 1


def broken(*_: object) -> None:
    raise RuntimeError("a defect")


def test_a_controller_session_that_raises_stops_the_motors_and_is_used_again(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        session = running.tcp_server.supervised.session
        for _ in range(FAULTS_ALLOWED + 2):  # what controllers send uses up no restarts
            controller = driving(running)
            session.receive = broken
            controller.send(GO)
            robot_of(running).wait_for(STOP)
            controller.wait_for_end()
            delattr(session, "receive")
        assert running.stops() == {"fault": FAULTS_ALLOWED + 2}
        driving(running)


def test_a_body_session_that_raises_is_stopped_with_what_it_had_sent_before(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        driving(running)
        session = running.gateway.supervisors["cab.body"].supervised.session
        for name in ("receive", "stop", "emergency"):
            setattr(session, name, broken)
        robot_of(running).send(sensor_data(0, 1.0))
        robot_of(running).wait_for(STOP)
        robot_of(running).wait_for_end()
        assert running.stops() == {"fault": 1}
        assert running.report()["emergency_stops"] == 1
