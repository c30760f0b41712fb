"""A loop between a robot and a controller on sockets: what passes, and what never does."""

import asyncio
import resource
import socket
import struct
from pathlib import Path

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.control_loop.servers.controller_port import HANDSHAKE_S
from hilgw.engine.lines import STALL_S
from hilgw.engine.observer import State
from hilgw.errors import PeerError, PortError
from hilgw.testing.sim import Recorder, until
from hilgw.units import NS_PER_S
from tests.e2e.control_loop_peers import (
    DISTANCE,
    ROTATIONAL,
    Devices,
    registrations,
    sensor_data,
    set_value,
    write_configuration,
)
from tests.engine.control_loop.running import (
    GO,
    RunningLoop,
    SimGateway,
    SimPeer,
    driving,
    robot_of,
)


def error(kind: int, index: int) -> bytes:
    return wire.bare(wire.ERROR, kind, index)


def test_devices_values_and_commands_pass(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = running.controller()
        robot_of(running).send(sensor_data(0, 123.5))
        controller.wait_for(sensor_data(0, 123.5))
        running.advance(0.007)
        controller.send(GO, set_value(2, -2.5))
        robot_of(running).wait_for(GO + set_value(2, -2.5))
        report = running.report()
        controller.finish()
        running.until(lambda: running.log.saw("cab.controller", State.WAITING) == 2, "it left")
        running.controller()
        assert running.report()["sensor_to_motor"]["count"] == 0  # of the last connection
    assert report["sensors"] == {"ds": 123.5}
    assert report["motors"] == {"left": {"velocity": 5.0}, "right": {"velocity": -2.5}}
    assert (report["values_in"], report["commands_in"], report["commands_out"]) == (1, 2, 2)
    assert report["refused"] == {} and report["stops"] == {}
    assert report["sensor_to_motor"]["count"] == 1
    assert report["sensor_to_motor"]["max_ms"] == pytest.approx(7, abs=0.1)


def test_a_sensor_that_one_controller_switched_off_is_on_for_the_next(tmp_path: Path) -> None:
    disable, enable = (
        wire.bare(command, DISTANCE, 0) for command in (wire.DISABLE_SENSOR, wire.ENABLE_SENSOR)
    )
    with RunningLoop(tmp_path) as running:
        robot = robot_of(running)
        controller = running.controller()
        controller.send(disable)
        robot.wait_for(disable)
        controller.finish()
        robot.wait_for(enable)
        following = running.controller()
        robot.send(sensor_data(0, 7.0))
        following.wait_for(sensor_data(0, 7.0))


def test_without_a_controller_the_robot_is_listened_to(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, controller=False) as running:
        robot_of(running).send(sensor_data(0, 4.0))
        running.until(lambda: running.report()["sensors"] == {"ds": 4.0}, "the value")
        assert any("no controller" in line for line in running.gateway.description)
        assert robot_of(running).received == b""


def test_a_robot_under_limits_follows_its_rate(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, body="limits: {left: {rate: 10}}") as running:
        controller = running.controller()
        controller.send(GO)
        robot = robot_of(running)
        robot.wait_for(GO, 2.0)
        # The slew sends steps of 0.2 rad/s each 20 ms: the first command was one of them.
        assert running.report()["commands_out"] == 1
        controller.finish()
        robot.wait_for(set_value(1, 0.0))


# --- one controller at a time: who is let in, who is not, and who reads too slowly ----------------


MANY: Devices = (*((DISTANCE, f"ds{n}") for n in range(200)), (ROTATIONAL, "left"))


def exchange(running: RunningLoop, owner: SimPeer, number: int) -> None:
    """A value and a command pass, and no time does."""
    begin = running.clock.time
    robot_of(running).send(sensor_data(0, number))
    owner.wait_for(sensor_data(0, number))
    owner.send(set_value(1, number))
    assert robot_of(running).wait_for(set_value(1, number)) == begin


def test_a_second_controller_is_refused_in_words_and_by_its_end_alone(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        second = running.knock()
        second.send(set_value(1, 9.0))
        second.wait_for_end()
        assert second.received == b""
        exchange(running, owner, 3)
        assert set_value(1, 9.0) not in robot_of(running).received
        assert running.report()["refused"] == {"second_controller": 1}
        (refusal,) = running.log.refusals
        assert refusal[:2] == ("cab.controller", "second_controller")
        (address,) = (text.split()[-1] for _, state, text in running.log.states[-1:])
        assert f"{address} is the controller" in refusal[2]
        owner.finish()
        driving(running)  # there is room again


def test_who_sends_nothing_gives_way_to_the_next_but_not_at_once(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        idle = running.controller()
        running.advance(HANDSHAKE_S - 0.1)
        running.knock().wait_for_end()
        idle.send(GO[:5])  # half a message is nothing sent
        running.advance(0.2)
        following = driving(running)
        idle.wait_for_end()
        running.advance(2 * HANDSHAKE_S)
        running.knock().wait_for_end()  # now there is one that commands, and it stays
        exchange(running, following, 1)


def test_who_connects_to_a_late_gateway_stays_unless_what_it_sent_is_old(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, "    safety: {late_s: 0.5}") as running:
        first, fresh = running.knock(), running.knock()
        first.send(GO)
        running.hang(1.0)
        first.wait_for_end()
        assert first.received == b""
        fresh.wait_for(b"".join(registrations(running.devices)))
        assert GO not in robot_of(running).received
        (notice,) = (text for text in running.log.notices if "late" in text)
        assert notice.endswith("closed: it sent while the gateway was late; connect again")
        running.advance(0.05)  # what comes so soon may have waited, too
        second = running.knock()
        second.send(GO)
        second.wait_for_end()
        assert sum("late" in text for text in running.log.notices) == 2


def test_who_only_listens_stays_while_no_other_peer_connects(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        listener = running.controller()
        running.advance(10 * HANDSHAKE_S)
        robot_of(running).send(sensor_data(0, 1.0))
        listener.wait_for(sensor_data(0, 1.0))


def test_a_failure_that_comes_after_the_controller_left_changes_nothing(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        running.tcp_server.supervised.supervisor.on_failed(PeerError("too late"))
        running.advance(1)
        driving(running)
        assert running.stops() == {}


def test_the_owner_does_not_notice_hundreds_of_others(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        for number in range(60):
            crowd = [running.knock() for _ in range(20)]
            exchange(running, owner, number + 1)
            running.advance(0.2)
            for other in crowd:
                other.finish()
        running.advance(1)
        assert sum(running.report()["refused"].values()) == 60 * 20
        assert running.stops() == {}


def test_without_descriptors_left_the_owner_drives_on(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        waiting = [running.knock() for _ in range(8)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(each.connection.fileno() for each in waiting)
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, hard))
        try:
            for number in range(20):
                exchange(running, owner, number + 1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        exchange(running, owner, 99)


def slow_reader(running: RunningLoop) -> SimPeer:
    """A controller that commands, and then reads nothing more."""
    controller = running.knock()
    controller.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    controller.wait_for(b"left")
    controller.send(set_value(200, 1.0))
    robot_of(running).wait_for(set_value(200, 1.0))
    return controller


def newest_values(controller: SimPeer) -> dict[int, float]:
    """By index, of the whole messages that have come."""
    whole = len(controller.poll()) // 11 * 11
    values = (struct.unpack_from("<BBBd", controller.received, at) for at in range(0, whole, 11))
    return {index: value for _, _, index, value in values}


def one_step(running: RunningLoop, value: float) -> None:
    robot_of(running).send(*(sensor_data(n, value) for n in range(200)))
    running.advance(0.005)


def test_a_slow_reader_gets_the_newest_values_and_costs_bounded_memory(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, devices=MANY) as running:
        controller = slow_reader(running)
        stream = running.tcp_server.supervised.transport
        step = 0
        while running.cab.statistics.counts["values_superseded"] < 2000:
            step += 1
            assert step < 1000
            one_step(running, float(step))
            assert stream.pending <= 200 * 11 + 65536
        controller.send(set_value(200, 2.0))  # commands pass all the same
        robot_of(running).wait_for(set_value(200, 2.0))
        running.until(lambda: newest_values(controller) == {n: float(step) for n in range(200)})


def test_a_controller_that_reads_nothing_is_disconnected(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, devices=MANY) as running:
        slow_reader(running)
        begin = running.clock.time
        while not running.stops():
            one_step(running, float(running.clock.time))
            assert running.clock.time < begin + 60 * NS_PER_S, "it is never disconnected"
        assert running.clock.time - begin > STALL_S * NS_PER_S
        assert running.stops() == {"disconnected": 1}
        assert any("takes no bytes" in reason for _, _, reason in running.log.states)


def listening(tmp_path: Path, host: str, port: int) -> tuple[Recorder, PortError | None]:
    """A gateway that listens there, until it does or fails."""
    text = f"""version: 1
backend: real
webots: R2020a
robots:
  cab: {{controller: {{kind: wc2ec, listen: "tcp://{host}:{port}"}}}}
"""
    log = Recorder()

    async def scenario() -> PortError | None:
        config = load_config(write_configuration(tmp_path, text)).config
        gateway = build(config, asyncio.get_running_loop(), log)
        task = asyncio.create_task(gateway.run(asyncio.Event()))
        try:
            await until(lambda: task.done() or log.saw("cab.controller", State.WAITING))
            if not task.done():
                bound_port = int(log.states[-1][2].rpartition(":")[2])
                with socket.create_connection((host.strip("[]"), bound_port)):
                    await until(lambda: log.saw("cab.controller", State.UP))
            task.cancel()
            (failure,) = await asyncio.gather(task, return_exceptions=True)
            return failure if isinstance(failure, PortError) else None
        finally:
            gateway.close()

    return log, asyncio.run(scenario())


def test_listening_on_a_port_that_is_taken_ends_with_that_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        log, error = listening(tmp_path, "127.0.0.1", taken.getsockname()[1])
    assert error is not None
    assert error.reason == PortError.BUSY
    assert log.saw("cab.controller", State.UP) == 0


def test_the_mock_of_a_controller_finds_another_port_where_its_own_is_taken(tmp_path: Path) -> None:
    mocked = "version: 1\nbackend: mock\nwebots: R2020a\nrobots: {cab: {controller: {kind: wc2ec, "
    running = SimGateway()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 27016))
        taken.listen()
        running.load(tmp_path, mocked + 'listen: "tcp://127.0.0.1:27016"}}}\n')
        with running:
            running.until(lambda: running.log.saw("cab.controller", State.UP), "the mock")
    assert [text for text in running.log.notices if text.endswith("; listening on another port")]


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_ipv6_and_names_of_this_machine_are_listened_on(tmp_path: Path, host: str) -> None:
    assert listening(tmp_path, host, 0)[1] is None
