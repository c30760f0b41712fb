"""One controller at a time: who is let in, who is not, and who reads too slowly."""

from __future__ import annotations

import resource
import select
import socket
import struct
import time
from pathlib import Path

import pytest

from hilgw.engine.control_loop import tcp_server as door
from hilgw.engine.observer import State
from tests.e2e.control_loop_peers import (
    DISTANCE,
    ROTATIONAL,
    Devices,
    Peer,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.running import GO, RunningLoop, driving, robot_of, until

MANY: Devices = (*((DISTANCE, f"ds{n}") for n in range(200)), (ROTATIONAL, "left"))


def exchange(running: RunningLoop, owner: Peer, number: int) -> float:
    """A value and a command; the seconds it took."""
    begin = time.monotonic()
    robot_of(running).send(sensor_data(0, number))
    owner.wait_for(sensor_data(0, number))
    owner.send(set_value(1, number))
    robot_of(running).wait_for(set_value(1, number))
    return time.monotonic() - begin


def test_a_second_controller_is_refused_in_words_and_on_the_wire_by_the_end_alone(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        second = running.knock()
        second.send(set_value(1, 9.0))
        second.wait_for_end()
        assert second.received == b""
        exchange(running, owner, 3)
        assert set_value(1, 9.0) not in robot_of(running).received
        assert running.tcp_server._link.refused == {"second_controller": 1}
        (refusal,) = running.log.refusals
        assert refusal[:2] == ("cab.controller", "second_controller")
        peer = owner.connection.getsockname()
        assert f"{peer[0]}:{peer[1]} is the controller" in refusal[2]
        owner.finish()
        driving(running)  # there is room again
        assert running.report()["refused"]["second_controller"] == 1


def test_who_says_nothing_gives_way_to_the_next_but_not_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "HANDSHAKE_S", 0.3)
    with RunningLoop(tmp_path) as running:
        idle = running.controller()
        early = running.knock()
        early.wait_for_end()
        half = idle.connection.send(GO[:5])  # half a message is nothing said
        assert half == 5
        deadline = time.monotonic() + 5
        while not running.call(running.tcp_server._gives_way):
            assert time.monotonic() < deadline
        following = driving(running)
        idle.wait_for_end()
        since = time.monotonic()
        until(lambda: time.monotonic() - since > 0.35)
        running.knock().wait_for_end()  # now there is one that commands, and it stays
        exchange(running, following, 1)


def test_who_only_listens_stays_while_nobody_else_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "HANDSHAKE_S", 0.05)
    with RunningLoop(tmp_path) as running:
        listener = running.controller()
        until(lambda: running.call(running.tcp_server._gives_way))
        robot_of(running).send(sensor_data(0, 1.0))
        listener.wait_for(sensor_data(0, 1.0))


def test_the_owner_does_not_notice_thousands_of_others(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        times = []
        for number in range(60):
            crowd = []
            for _ in range(20):
                other = socket.socket()
                other.setblocking(False)
                other.connect_ex(("127.0.0.1", running.port))
                crowd.append(other)
            times.append(exchange(running, owner, number + 1))
            for other in crowd:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                other.close()
        times.sort()
        assert times[len(times) * 9 // 10] < 0.02
        refused = running.tcp_server._link.refused["second_controller"]
        assert refused > 100
        assert running.stops() == {}


def test_without_descriptors_left_the_owner_drives_on(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        owner = driving(running)
        waiting = [socket.socket() for _ in range(8)]
        used = max(each.fileno() for each in waiting)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, hard))
        try:
            for other in waiting:
                other.setblocking(False)
                other.connect_ex(("127.0.0.1", running.port))
            for number in range(20):
                exchange(running, owner, number + 1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for other in waiting:
                other.close()
        exchange(running, owner, 99)


# --- who reads too slowly ---------------------------------------------------------------------


def slow_reader(running: RunningLoop) -> Peer:
    """A controller that commands, and then reads nothing more."""
    controller = running.knock()
    controller.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    controller.wait_for(b"left")
    controller.send(set_value(200, 1.0))
    robot_of(running).wait_for(set_value(200, 1.0))
    return controller


def newest_values(controller: Peer) -> dict[int, float]:
    """By index, of the whole messages that have come."""
    whole = len(controller.received) // 11 * 11
    values = (struct.unpack_from("<BBBd", controller.received, at) for at in range(0, whole, 11))
    return {index: value for _, _, index, value in values}


def test_a_slow_reader_gets_the_newest_values_and_costs_bounded_memory(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, devices=MANY) as running:
        controller = slow_reader(running)
        stream = running.tcp_server._connection
        assert stream is not None
        step = 0
        deadline = time.monotonic() + 20
        while running.cab.statistics.counts["values_superseded"] < 2000:
            assert time.monotonic() < deadline
            step += 1
            robot_of(running).send(*(sensor_data(n, float(step)) for n in range(200)))
            assert stream.pending <= 200 * 11 + 65536
        controller.send(set_value(200, 2.0))  # commands pass all the same
        robot_of(running).wait_for(set_value(200, 2.0))
        until_read = time.monotonic() + 10
        while newest_values(controller) != {n: float(step) for n in range(200)}:
            controller.read(until_read)


def test_a_controller_that_reads_nothing_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "STALL_S", 0.3)
    with RunningLoop(tmp_path, devices=MANY) as running:
        slow_reader(running)
        deadline = time.monotonic() + 20
        step = 0
        while not running.stops():
            assert time.monotonic() < deadline, "it is never disconnected"
            step += 1
            robot_of(running).send(*(sensor_data(n, float(step)) for n in range(200)))
            select.select([], [], [], 0.005)
        assert running.stops() == {"disconnected": 1}
        assert any("takes no bytes" in reason for _, _, reason in running.log.states)


def test_listening_on_a_port_that_is_taken_ends_with_that_error(tmp_path: Path) -> None:
    from hilgw.errors import PortError

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = f"""version: 1
backend: real
webots: R2020a
robots:
  cab: {{controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:{port}"}}}}
"""
        running = RunningLoop(tmp_path, text=text, robot=False)
        running._thread.start()
        running._thread.join(10)
        running.server.close()
    assert isinstance(running.error, PortError)
    assert running.error.reason == PortError.BUSY
    assert running.log.saw("cab.controller", State.UP) == 0


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_ipv6_and_names_of_this_machine_are_listened_on(tmp_path: Path, host: str) -> None:
    text = f"""version: 1
backend: real
webots: R2020a
robots:
  cab: {{controller: {{kind: wc2ec, listen: "tcp://{host}:0"}}}}
"""
    with RunningLoop(tmp_path, text=text, robot=False) as running:
        with socket.create_connection((host.strip("[]"), running.port)):
            until(lambda: running.log.saw("cab.controller", State.UP))
