"""`disarm` beside clients that fill the control socket: its answer waits for none of them."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hilgw.client.connection import line_of
from hilgw.engine.control_socket.control_server import MAX_CLIENTS
from hilgw.engine.control_socket.listener import BACKLOG
from hilgw.protocols.gateway.requests import Disarm, Report
from hilgw.testing.sim import Clock, elapse
from tests.engine.control_socket.test_listener import answer_at, server

STOP = line_of(Disarm(all=True))
MANY = 300  # more than there are places for


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def client(path: Path, clients: ExitStack, data: bytes = b"") -> socket.socket:
    made = clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    made.setblocking(False)
    made.connect(str(path))
    made.send(data)
    return made


@pytest.mark.parametrize("message", [b"", b'{"do": "dis', line_of(Report())])
async def test_a_disarm_is_answered_while_others_take_every_place_again_and_again(
    message: bytes, tmp_path: Path, clock: Clock, clients: ExitStack
) -> None:
    gateway = server(path := tmp_path / "control")
    await gateway.start()
    for number in range(MANY):
        client(path, clients, message)
        await elapse(0.001)
        if number % 3 == 0:
            assert (await answer_at(path, STOP))["ok"] is True
    await gateway.close()


async def test_a_disarm_is_answered_that_comes_later_than_its_connection(
    tmp_path: Path, clock: Clock, clients: ExitStack
) -> None:
    gateway = server(path := tmp_path / "control")
    await gateway.start()
    for _ in range(MANY):
        client(path, clients)
        await elapse(0.001)
    late = client(path, clients)
    for _ in range(BACKLOG):  # all that were waiting with it, and connect before it goes on
        client(path, clients)
    await elapse(0.001)
    late.send(STOP)
    await elapse(0.001)
    assert b'"ok": true' in late.recv(1000)
    await gateway.close()


async def test_a_queue_full_of_those_that_left_is_empty_soon(
    tmp_path: Path, clock: Clock, clients: ExitStack
) -> None:
    gateway = server(path := tmp_path / "control")
    await gateway.start()
    for _ in range(20):
        for _ in range(BACKLOG):
            client(path, clients).close()
        stop = client(path, clients, STOP)
        await elapse(0.001)
        assert b'"ok": true' in stop.recv(1000)
    await gateway.close()


async def test_requests_without_end_do_not_delay_a_disarm(
    tmp_path: Path, clock: Clock, clients: ExitStack
) -> None:
    """Every other client has asked before: few of them are answered first."""
    gateway, answered = server(path := tmp_path / "control"), []
    gateway.handlers[Report] = lambda request, client: answered.append(request) or {}
    await gateway.start()
    flooding = [client(path, clients, 50 * line_of(Report())) for _ in range(BACKLOG)]
    assert len(flooding) == MAX_CLIENTS
    await elapse(0.001)
    for _ in range(10):
        for each in flooding:
            each.send(5 * line_of(Report()))
        stop, before = client(path, clients, STOP), len(answered)
        while not received(stop):
            assert len(answered) - before <= 8
            await asyncio.sleep(0)
        for each in flooding:
            received(each)
    assert answered
    await gateway.close()


def received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20)
    except BlockingIOError:
        return b""
