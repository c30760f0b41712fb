"""When motors stop: once, counted, in time; and what must happen before they move again."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_mocks._wc2ec import wire
from hilgw.engine.observer import State
from hilgw.engine.supervisor import FAULTS_ALLOWED
from hilgw.errors import SafetyError
from tests.e2e.control_loop_peers import (
    CAB,
    LINEAR,
    ROTATIONAL,
    Devices,
    Peer,
    controller_process,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.running import GO, STOP, RunningLoop, driving, robot_of, until

SOON_S = 0.05  # the goal for a motor's default on the wire
ROUNDS = 17


def stop_in_time(running: RunningLoop, begin_ns: int, limit_s: float = SOON_S) -> float:
    """Seconds until the robot was told to stop."""
    took_s = (robot_of(running).wait_for(STOP) - begin_ns) / 1e9
    assert took_s < limit_s
    return took_s


# --- the controller goes ----------------------------------------------------------------------


@pytest.mark.parametrize("way", [Peer.finish, Peer.reset, Peer.half_close])
def test_a_controller_that_leaves_stops_the_motors_once(
    tmp_path: Path, way: Callable[[Peer], None]
) -> None:
    with RunningLoop(tmp_path) as running:
        for _ in range(ROUNDS):
            controller = driving(running)
            begin = time.monotonic_ns()
            way(controller)
            stop_in_time(running, begin)
        assert running.stops() == {"disconnected": ROUNDS}
        assert robot_of(running).received == b""  # once each
        assert running.report()["motors"]["left"] == {"velocity": 0.0}


def test_a_session_that_says_nothing_of_its_end_stops_the_motors_all_the_same(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        running.call(lambda: setattr(running.tcp_server._link.session, "close", list))
        controller.finish()
        robot_of(running).wait_for(STOP)
        assert running.stops() == {"disconnected": 1}


def test_a_controller_that_is_killed_stops_the_motors(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        for _ in range(ROUNDS):
            with controller_process(running.port, GO) as pid:
                robot_of(running).wait_for(GO)
                begin = time.monotonic_ns()
                os.kill(pid, signal.SIGKILL)
                stop_in_time(running, begin)
        assert running.stops() == {"disconnected": ROUNDS}


def test_a_controller_that_moved_nothing_stops_nothing(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        running.controller().finish()
        until(lambda: running.log.states[-1][:2] == ("cab.controller", State.WAITING))
        driving(running).finish()
        robot_of(running).wait_for(STOP)
        assert running.stops() == {"disconnected": 1}
        assert robot_of(running).received == b""


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x05",  # a reserved command
        b"\x82\x63\x01",  # a type without a length
        b"\x82\x27\x01\x00\x00\x00\x00\xff\xff\xff\xff",  # a packet of 4 GiB
        b"\x83\x26\x01",  # another length than the device's
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(200, 256)),
    ],
)
def test_what_cannot_be_read_stops_the_motors_and_ends_the_connection(
    tmp_path: Path, garbage: bytes
) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        begin = time.monotonic_ns()
        controller.send(garbage + 11 * b"\0", set_value(1, 9.0))
        stop_in_time(running, begin)
        controller.wait_for_end()
        assert running.stops() == {"protocol": 1}
        assert set_value(1, 9.0) not in robot_of(running).received
        assert any(garbage[:1].hex() in notice for notice in running.log.notices)
        driving(running).finish()  # the next one is welcome


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


# --- the controller freezes -------------------------------------------------------------------

TIMEOUT = "    safety: {command_timeout_s: 0.2}"


def test_a_controller_that_commands_no_more_is_stopped_and_disconnected(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, TIMEOUT) as running:
        controller = driving(running)
        begin = time.monotonic_ns()
        for _ in range(4):  # each command puts the end off
            robot_of(running).send(sensor_data(0, 1.0))
            controller.wait_for(sensor_data(0, 1.0))
            begin = time.monotonic_ns()
            controller.send(GO)
            robot_of(running).wait_for(GO)
        took_s = stop_in_time(running, begin, 0.2 + SOON_S)
        assert took_s >= 0.19
        controller.wait_for_end()
        assert running.stops() == {"command_timeout": 1}
        driving(running).finish()


def test_what_a_frozen_controller_had_sent_counts_no_more(tmp_path: Path) -> None:
    with (
        RunningLoop(tmp_path, TIMEOUT) as running,
        controller_process(running.port, GO) as pid,
    ):
        robot = robot_of(running)
        robot.wait_for(GO)
        os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic_ns()
        stop_in_time(running, begin, 0.2 + SOON_S)
        os.kill(pid, signal.SIGCONT)
        until(lambda: running.log.states[-1][1] == State.WAITING)
        assert robot.received == b""


def test_a_simulated_body_has_no_deadline_unless_it_is_asked_for(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        assert running.cab.safety.state.timeout_ns == 0


# --- a stop that lasts ------------------------------------------------------------------------

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
        running.call(lambda: running.gateway.control_loops.arm("cab"))
        following.send(GO)
        robot_of(running).wait_for(GO)
        following.finish()
        robot_of(running).wait_for(STOP)
    assert raised.value.exit_code == 7
    assert "disconnected" in str(raised.value)


def test_an_orderly_end_latches_nothing(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATCH) as running:
        driving(running)
        begin = time.monotonic_ns()
        ending = threading.Thread(target=running.end)
        ending.start()
        stop_in_time(running, begin, 0.5)
        robot_of(running).wait_for_end()
        ending.join()
        assert running.stops() == {"gateway_ended": 1}


# --- the body goes ----------------------------------------------------------------------------


def test_a_body_that_goes_takes_its_controller_along(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        robot_of(running).finish()
        controller.wait_for_end()
        assert running.stops() == {"body": 1}
        waiting = running.knock()  # it comes before the robot is back
        until(lambda: running.log.saw("cab.controller", State.UP) == 2)
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
        until(lambda: running.log.saw("cab.body", State.UP) == 2)
        controller = running.controller()
        assert controller.received == b""
        controller.send(set_value(0, 2.0))
        robot.wait_for(set_value(0, 2.0))
        until(lambda: running.report()["motors"] == {"wheel": {"velocity": 2.0}})
        assert running.report()["sensors"] == {}  # those of the first are forgotten


def test_a_body_that_contradicts_itself_is_stopped_and_connected_anew(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        robot_of(running).send(b"\x63")
        robot_of(running).wait_for(STOP)
        robot_of(running).wait_for_end()
        controller.wait_for_end()
        running.accept()
        until(lambda: running.log.saw("cab.body", State.UP) == 2)
        assert running.stops() == {"body": 1}


# --- the gateway is late ----------------------------------------------------------------------

LATE = "    safety: {late_s: 0.5}"


def test_while_the_loop_hangs_a_thread_stops_the_motors(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATE) as running:
        controller = driving(running)
        running.call(lambda: None)
        begin = time.monotonic_ns()
        running.hang(1.5)
        took_s = stop_in_time(running, begin, 1.2)
        assert took_s >= 0.4
        controller.send(set_value(1, 9.0), set_value(2, 9.0))  # into the hang: a stale command
        controller.wait_for_end()
        report = running.report()
        assert report["stops"] == {"late": 1}
        assert report["emergency_stops"] == 1
        robot_of(running).send(sensor_data(0, 1.0))
        following = running.controller_again()
        following.send(set_value(1, 3.0))
        robot_of(running).wait_for(set_value(1, 3.0))
        assert set_value(1, 9.0) not in robot_of(running).received


def test_without_the_thread_the_motors_would_run_while_the_loop_hangs(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATE) as running:
        running.call(lambda: running.gateway.control_loops.watchdog._end.set())
        driving(running)
        begin = time.monotonic_ns()
        running.hang(1.3)
        took_s = (robot_of(running).wait_for(STOP) - begin) / 1e9
        assert took_s > 1.2
        assert running.report()["emergency_stops"] == 0


def test_commands_that_waited_while_the_gateway_slept_are_thrown_away(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, LATE) as running:
        controller = running.controller()
        running.call(lambda: None)
        running.hang(1.0)
        for speed in range(1, 50):
            controller.send(set_value(1, speed / 10))
        late = running.knock()
        late.send(GO)
        controller.wait_for_end()
        late.wait_for_end()
        running.controller_again().send(set_value(2, 1.0))
        robot_of(running).wait_for(set_value(2, 1.0))
        assert robot_of(running).received == b""
        assert running.report()["commands_out"] == 1


# --- a session fails --------------------------------------------------------------------------


def broken(*_: object) -> None:
    raise RuntimeError("a defect")


def test_a_controller_session_that_raises_stops_the_motors_and_is_used_again(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        session = running.tcp_server._link.session
        running.call(lambda: setattr(session, "receive", broken))
        controller.send(GO)
        robot_of(running).wait_for(STOP)
        controller.wait_for_end()
        assert running.stops() == {"fault": 1}
        running.call(lambda: delattr(session, "receive"))
        driving(running)


def test_what_controllers_send_never_uses_up_the_restarts(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        session = running.tcp_server._link.session
        running.call(lambda: setattr(session, "receive", broken))
        for _ in range(FAULTS_ALLOWED + 2):
            controller = running.controller()
            controller.send(GO)
            controller.wait_for_end()
        running.call(lambda: delattr(session, "receive"))
        driving(running)


def test_a_body_session_that_raises_is_stopped_with_what_it_had_said_before(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        driving(running)
        session = running.gateway.supervisors["cab.body"].supervised.session  # type: ignore[attr-defined]
        for name in ("receive", "stop", "stop_bytes"):
            running.call(lambda name=name: setattr(session, name, broken))
        robot_of(running).send(sensor_data(0, 1.0))
        robot_of(running).wait_for(STOP)
        robot_of(running).wait_for_end()
        assert running.stops() == {"fault": 1}
        assert running.report()["emergency_stops"] == 1


def test_a_half_open_connection_is_what_keepalive_is_for(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        running.controller()
        connection = running.call(lambda: running.tcp_server._connection._connection)  # type: ignore[union-attr]
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 2000
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
