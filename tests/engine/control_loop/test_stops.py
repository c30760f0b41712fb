"""When motors stop: once, counted, in time, by the deadline; and before they move again."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.assemble.gateway import build
from hilgw.cli.output.summary import control_loop_lines
from hilgw.config.load import load_config
from hilgw.control.events import MotorCommand, MotorField, StepRequest
from hilgw.control.safety import SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.engine.control_loop.peer_link import READ_BYTES, SWAMPED_NS
from hilgw.engine.observer import Observer, State
from hilgw.engine.supervisor import FAULTS_ALLOWED
from hilgw.testing.sim import Clock
from hilgw.transports.tcp.stream import TcpStream
from hilgw.units import NS_PER_S, ns_to_s
from tests.e2e.control_loop_peers import (
    CAB,
    DEADLINE_S,
    DISTANCE,
    Peer,
    registrations,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.fakes import MS, FakeLoop, SharedClock
from tests.engine.control_loop.on_mocks import OnMock
from tests.engine.control_loop.running import GO, STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.test_webots_controllers import Running

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


TCP = 'connect: "tcp://127.0.0.1:27015"'
LINE = "port: /dev/ttyS9"


@pytest.mark.parametrize(
    ("backend", "body", "safety", "timeout_s", "text"),
    [
        ("real", TCP, "", 0.5, "real body: the motors stop 0.5 s after"),
        ("real", TCP, "{command_timeout_s: 0}", 0.0, "real body: no deadline"),
        (
            "real",
            f"{TCP}, simulated: true",
            "{command_timeout_s: 0.2}",
            0.2,
            "simulated body: the motors stop 0.2 s after",
        ),
        ("loopback", LINE, "", 0.0, "simulated body: no deadline"),
        ("mock", f"{TCP}, simulated: false", "", 0.5, "real body: the motors stop 0.5 s after"),
    ],
)
async def test_a_real_body_has_a_deadline_by_default_and_the_start_shows_which_holds(
    tmp_path: Path, backend: str, body: str, safety: str, timeout_s: float, text: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        f"""version: 1
backend: {backend}
webots: R2020a
robots:
  cab:
    body: {{kind: wc2ec, {body}}}
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:27016"}}
    {f"safety: {safety}" if safety else ""}
"""
    )
    gateway = build(load_config(str(file)).config, asyncio.get_running_loop(), Observer())
    gateway.close()
    state = gateway.control_loops["cab"].safety.state
    found_s, description = ns_to_s(state.timeout_ns), gateway.description
    assert found_s == timeout_s
    assert sum(text in line for line in description) == 1


def test_a_real_robot_on_tcp_stops_when_its_controller_freezes(tmp_path: Path) -> None:
    safety = "    safety: {armed: true, latch: false}"
    with RunningLoop(tmp_path, safety, body="simulated: false") as running:
        controller = driving(running)
        robot_of(running).wait_for(STOP)
        controller.wait_for_end()
        assert running.stops() == {"command_timeout": 1}


def test_any_valid_message_is_a_sign_of_life_and_nothing_else_is() -> None:
    loop = FakeLoop(command_timeout_s=0.2).connected()
    loop.controller.data_received(GO)
    for _ in range(5):
        loop.run(150)
        loop.controller.data_received(wire.bare(wire.ENABLE_SENSOR, DISTANCE, 0))
    assert not loop.safety.stops
    loop.run(100)
    loop.controller.data_received(set_value(77, 1.0))  # refused: no such device
    loop.controller.data_received(GO[:5])  # half a message
    loop.run(110)
    assert loop.safety.stops == {"command_timeout": 1}
    assert loop.controller.transport is None


def test_the_deadline_waits_for_what_the_event_loop_has_not_read() -> None:
    with connected(command_timeout_s=0.2) as (loop, theirs, events):
        loop.run(190)
        theirs.send(GO)  # in time, and not yet read
        loop.run(200)
        assert not loop.safety.stops
        stream = loop.controller.transport
        assert stream is not None
        stream.start(loop.controller.data_received, lambda error: None)
        while loop.statistics.counts["commands_in"] < 2:
            events.run_until_complete(asyncio.sleep(0))
        loop.run(190)
        assert not loop.safety.stops
        loop.run(20)
        assert loop.safety.stops == {"command_timeout": 1}


def test_a_controller_that_waits_for_the_body_is_not_late_with_its_first_message() -> None:
    loop = FakeLoop()
    loop.controller_comes()
    loop.run(5_000)  # longer than it may take to answer registrations
    assert loop.controller.unanswered_ns() == 0
    loop.robot_comes()
    loop.run(1_000)
    assert loop.controller.unanswered_ns() >= 900_000_000
    loop.controller.data_received(GO)
    assert loop.controller.unanswered_ns() == 0


def test_the_deadline_of_a_controller_counts_from_the_end_of_its_step() -> None:
    robot = OnMock("create2", step_ms=320, command_timeout_s=0.1, late_s=1.0).start()
    go = MotorCommand(robot.motors[0].index, MotorField.VELOCITY, 1.0)
    for events in ([], [go]):
        robot.sends(*events, StepRequest(320))
        robot.run(1, until=lambda: not robot.loop.safety.waits_for_us, limit_ms=400)
    robot.run(80)
    assert robot.loop.safety.moving
    robot.run(50)
    assert robot.loop.safety.stops == {"command_timeout": 1}


def test_the_deadline_of_another_process_is_in_real_time_though_the_gateway_is_not() -> None:
    real, simulated = Clock(), Clock()
    loop = FakeLoop(clock=simulated, deadlines=real, command_timeout_s=0.5, late_s=60).connected()
    loop.controller.data_received(GO)
    simulated.run(50 * NS_PER_S)  # at speed max that takes no time
    real.run(NS_PER_S * 4 // 10)
    loop.controller.data_received(GO)
    real.run(NS_PER_S * 4 // 10)
    assert loop.safety.moving
    real.run(NS_PER_S * 2 // 10)
    assert loop.safety.stops == {"command_timeout": 1}
    assert not loop.safety.moving


STOPS = [set_value(1, 0.0), set_value(2, 0.0)]
TURN = GO * (READ_BYTES // len(GO) + 1)
TURNS = -(-SWAMPED_NS // (20 * MS))


@contextmanager
def connected(
    **safety: float,
) -> Iterator[tuple[FakeLoop, socket.socket, asyncio.AbstractEventLoop]]:
    """A loop whose controller comes over a real socket; the other end of it."""
    events = asyncio.new_event_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    asyncio.set_event_loop(events)
    try:
        loop = FakeLoop(**safety)
        loop.robot_comes()

        async def attach() -> None:
            loop.controller.attach(TcpStream(ours, "flooder"))

        events.run_until_complete(attach())
        loop.controller.data_received(GO)
        loop.robot.written.clear()
        yield loop, theirs, events
    finally:
        theirs.close()
        ours.close()
        asyncio.set_event_loop(None)
        events.close()


def test_when_more_always_waits_the_motors_stop_and_the_controller_goes() -> None:
    with connected() as (loop, theirs, _):
        theirs.send(GO)  # never read: it waits
        for _ in range(TURNS):
            loop.controller.data_received(TURN)
            assert not loop.safety.stops
            loop.run(20)
        loop.controller.data_received(TURN)
        assert loop.safety.stops == {"swamped": 1}
        assert loop.robot.messages()[-2:] == STOPS  # what came last is not obeyed
        assert loop.controller.transport is None


@pytest.mark.parametrize("rest", [False, True])
def test_many_commands_that_are_read_in_time_are_obeyed(rest: bool) -> None:
    """rest: something waits, but there is a pause now and then."""
    with connected() as (loop, theirs, _):
        if rest:
            theirs.send(GO)
        for turn in range(3 * TURNS):
            loop.controller.data_received(TURN)
            if rest and turn % 20 == 0:
                loop.controller.data_received(GO)
            loop.run(20)
        assert not loop.safety.stops
        assert loop.controller.transport is not None


def test_a_flood_is_read_in_turns_so_that_others_have_theirs() -> None:
    with connected() as (loop, theirs, events):
        sizes: list[int] = []
        stream = loop.controller.transport
        assert stream is not None
        stream.start(lambda data: sizes.append(len(data)), lambda error: None)
        theirs.send(GO * 2000)
        while sum(sizes) < len(GO) * 2000:
            events.run_until_complete(asyncio.sleep(0))
        assert max(sizes) == READ_BYTES


SENSORS = ((DISTANCE, "ds"), (DISTANCE, "other"))
REAL_LATE = "    safety: {late_s: 0.5, latch: true, armed: true}"  # as of a real body


def last_words(running: RunningLoop) -> str:
    return next(text for name, _, text in reversed(running.log.states) if name == "cab.controller")


@pytest.mark.parametrize(
    ("real", "given", "late_s"), [(True, None, 0.5), (False, None, 5.0), (False, 0.2, 0.2)]
)
def test_simulated_bodies_have_5_s(real: bool, given: float | None, late_s: float) -> None:
    state = SafetyState(SafetySettings(late_s=given), simulated=not real)
    assert state.late_ns == late_s * 1e9


def test_a_simulated_robot_goes_on_after_4_s_and_not_after_6(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        running.hang(4.0)
        controller.send(GO)
        robot_of(running).wait_for(GO)
        running.hang(6.0)
        controller.send(GO)
        controller.wait_for_end()
        robot_of(running).wait_for(STOP)
        assert robot_of(running).poll() == b""
        assert running.stops() == {"late": 1}
        assert "hilgw itself was late by 6.0 s (safety.late_s: 5 s)" in last_words(running)


def test_a_robot_without_motors_has_no_such_stop(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, "    safety: {late_s: 0.5}", devices=SENSORS) as running:
        controller = running.controller()
        running.hang(60.0)
        running.advance(0.5)
        controller.poll()
        assert not controller.ended and running.stops() == {}
        assert "late_ends" not in running.report()


def test_a_robot_without_a_body_has_no_such_stop(tmp_path: Path) -> None:
    with Running(tmp_path, script="step 32 x 0") as running:
        running.until(lambda: running.log.saw("rover.controller", State.UP))
        before = running.controller.counts["steps"]
        running.loop.clock.time += 60 * 10**9
        running.loop.advance(1.0)
        assert not running.controller.ended and running.controller.counts["steps"] > before


def test_a_robot_that_latches_is_disarmed_at_rest_when_its_controller_ends(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, REAL_LATE) as running:
        running.hang(1.0)
        running.advance(0.5)  # no controller: none has to end
        assert running.report()["armed"]
        controller = running.controller()
        running.hang(0.7)
        controller.wait_for_end()
        report = running.report()
        assert not report["armed"] and report["late_ends"] == 1 and not report["stops"]
        assert "hilgw itself was late by 0.7 s (safety.late_s: 0.5 s)" in last_words(running)
        (line, *_) = control_loop_lines({"cab": report})
        assert "controller ended as hilgw was late: 1" in line
        controller = running.controller()
        controller.send(GO)
        running.advance(0.2)
        assert GO not in robot_of(running).poll()
