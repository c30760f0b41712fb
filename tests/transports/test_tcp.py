"""TCP, both ends, IPv4 and IPv6, with socat as the reference."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports import accepting
from hilgw.transports.base import Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.tcp import stream as tcp
from hilgw.transports.tcp.listener import Limits, TcpListener
from hilgw.transports.tcp.stream import TcpStream, connect_tcp
from tests.e2e.running import free_port
from tests.transports.rig import (
    ALL_VALUES,
    Client,
    descriptors,
    turns,
    until,
)

HOSTS = ["127.0.0.1", "::1", "localhost"]


class Server:
    """A listener that keeps its clients."""

    def __init__(self, listener: TcpListener, clients: list[Client], peers: list[str]) -> None:
        self.listener, self.clients, self.peers = listener, clients, peers

    async def next(self) -> Client:
        count = len(self.clients)
        await until(lambda: len(self.clients) > count)
        return self.clients[-1]


@asynccontextmanager
async def serving(host: str = "127.0.0.1", limits: Limits | None = None) -> AsyncIterator[Server]:
    clients: list[Client] = []
    peers: list[str] = []

    def on_client(stream: Transport, peer: str) -> None:
        clients.append(Client(stream))
        peers.append(peer)

    listener = TcpListener(host, 0, on_client, limits=limits or Limits())
    await listener.start()
    try:
        yield Server(listener, clients, peers)
    finally:
        listener.close()
        for client in clients:
            await client.close()


@pytest.fixture(params=["descriptor", "asyncio"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the bytes move, here and where os.write cannot send to a socket."""
    monkeypatch.setattr(tcp, "OVER_ASYNCIO", request.param == "asyncio")
    return str(request.param)


def option(stream: Any, level: int, name: int) -> int:
    if not isinstance(stream, TcpStream):
        return int(stream.extra("socket").getsockopt(level, name))
    with socket.socket(fileno=os.dup(stream.fileno())) as connection:
        return connection.getsockopt(level, name)


@pytest.mark.parametrize("host", HOSTS)
async def test_both_ends_send_and_receive(host: str, path: str) -> None:
    before = descriptors()
    async with serving(host) as server:
        ours = Client(await connect_tcp(host, server.listener.port))
        await until(lambda: bool(server.clients))
        theirs = server.clients[0]
        ours.transport.write(ALL_VALUES)
        theirs.transport.write(ALL_VALUES)
        assert await ours.received(256) == ALL_VALUES
        assert await theirs.received(256) == ALL_VALUES
        assert ("[" in server.peers[0]) == (":" in server.peers[0].rpartition(":")[0])
        await ours.close()
        await until(lambda: bool(theirs.lost))
        assert theirs.lost[0].reason == PortError.LOST
    assert descriptors().items() <= before.items()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_no_delay_and_a_dead_peer_is_noticed_in_time(host: str, path: str) -> None:
    async with serving(host) as server:
        ours = await connect_tcp(host, server.listener.port)
        await until(lambda: bool(server.clients))
        for stream in (ours, server.clients[0].transport):
            assert option(stream, socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert option(stream, socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert option(stream, socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 1
            assert option(stream, socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 1
            assert option(stream, socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3
            assert option(stream, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 2000
        ours.close()


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize(
    ("end", "paused"), [(socket.socket.close, False), (reset, False), (reset, True)]
)
async def test_a_peer_that_goes_is_seen_at_once(
    end: Callable[[socket.socket], None], paused: bool, path: str
) -> None:
    async with serving() as server:
        peer = socket.create_connection(("127.0.0.1", server.listener.port))
        await until(lambda: bool(server.clients))
        client = server.clients[0]
        if paused:
            client.transport.pause_reading()
        end(peer)
        await until(lambda: bool(client.lost))


async def test_half_closed_by_the_peer_the_answer_still_gets_through(path: str) -> None:
    async with serving() as server:
        with socket.create_connection(("127.0.0.1", server.listener.port)) as peer:
            await until(lambda: bool(server.clients))
            client = server.clients[0]
            ended: list[bytes] = []
            client.transport.on_half_close = lambda: ended.append(bytes(client.data))
            peer.sendall(b"question")
            peer.shutdown(socket.SHUT_WR)
            await until(lambda: bool(ended))
            assert ended == [b"question"]
            client.transport.write(b"answer")
            peer.setblocking(False)
            answer = bytearray()
            loop = asyncio.get_running_loop()
            while len(answer) < len(b"answer"):
                answer += await loop.sock_recv(peer, 100)
            assert answer == b"answer"
            assert not client.lost


async def test_a_peer_that_does_not_read_blocks_nothing_and_its_buffer_is_bounded(
    path: str,
) -> None:
    async with serving() as server:
        with socket.create_connection(("127.0.0.1", server.listener.port)):
            await until(lambda: bool(server.clients))
            stream = server.clients[0].transport
            with pytest.raises(PortError) as caught:
                for _ in range(10_000):
                    stream.write(bytes(65536))
                    await turns(1)
            assert caught.value.reason == "full"
            assert stream.pending <= 256 * 1024
            stream.close()
            await stream.wait_closed()


class TestConnecting:
    async def test_a_port_without_a_listener(self) -> None:
        before = descriptors()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        with pytest.raises(PortError) as caught:
            await connect_tcp("127.0.0.1", port)
        assert caught.value.reason == PortError.ABSENT
        assert caught.value.where == f"socket://127.0.0.1:{port}"
        assert descriptors().items() <= before.items()

    @pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70 + ".invalid", "\ud800", ""])
    async def test_no_such_host(self, host: str) -> None:
        with pytest.raises(PortError):
            await connect_tcp(host, 1)

    async def test_a_host_that_does_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = descriptors()
        loop = asyncio.get_running_loop()

        async def never(*_: object) -> None:
            await loop.create_future()

        monkeypatch.setattr(loop, "sock_connect", never)
        with pytest.raises(PortError) as caught:
            await connect_tcp("127.0.0.1", 1, deadline_s=0.05)
        assert caught.value.reason == PortError.ABSENT
        assert descriptors().items() <= before.items()

    async def test_the_next_address_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with serving("127.0.0.1") as server:
            loop = asyncio.get_running_loop()
            port = server.listener.port

            async def two(*_: object, **__: object) -> list[object]:
                stream = socket.SOCK_STREAM
                return [
                    (socket.AF_INET6, stream, 6, "", ("::1", port, 0, 0)),
                    (socket.AF_INET, stream, 6, "", ("127.0.0.1", port)),
                ]

            monkeypatch.setattr(loop, "getaddrinfo", two)
            stream = await connect_tcp("both", port)
            stream.close()

    async def test_as_a_port_of_a_configuration(self, timer: Timer) -> None:
        async with serving() as server:
            url = f"socket://127.0.0.1:{server.listener.port}"
            stream = await open_serial(url, None, timer, allow_urls=True)  # type: ignore[arg-type]
            client = Client(stream)
            await until(lambda: bool(server.clients))
            server.clients[0].transport.write(b"hello")
            assert await client.received(5) == b"hello"
            await client.close()


class TestListening:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::"])
    async def test_an_address_others_can_reach_is_refused(self, host: str) -> None:
        before = descriptors()
        listener = TcpListener(host, 0, lambda stream, peer: None)
        with pytest.raises(PortError) as caught:
            await listener.start()
        assert caught.value.reason == PortError.DENIED
        assert descriptors().items() <= before.items()

    async def test_unless_it_is_asked_for(self) -> None:
        listener = TcpListener("0.0.0.0", 0, lambda stream, peer: None, False)
        await listener.start()
        assert listener.port
        listener.close()

    async def test_a_port_in_use(self, path: str) -> None:
        async with serving() as server:
            before = descriptors()
            other = TcpListener("127.0.0.1", server.listener.port, lambda stream, peer: None)
            with pytest.raises(PortError) as caught:
                await other.start()
            assert caught.value.reason == PortError.BUSY
            assert descriptors().items() <= before.items()

    async def test_no_more_clients_than_allowed(self, path: str) -> None:
        async with serving(limits=Limits(clients=3)) as server:
            peers = []
            for count in range(1, 6):
                peers.append(socket.create_connection(("127.0.0.1", server.listener.port)))
                await until(lambda: len(server.clients) + server.listener.refused == count)  # noqa: B023
            assert (len(server.clients), server.listener.refused) == (3, 2)
            peers[4].settimeout(30)
            assert peers[4].recv(1) == b"", "the one too many is told so"
            await server.clients[0].close()
            with socket.create_connection(("127.0.0.1", server.listener.port)):
                await until(lambda: len(server.clients) == 4)
            for peer in peers:
                peer.close()

    async def test_a_client_replaces_the_oldest_where_that_is_asked_for(self, path: str) -> None:
        async with serving(limits=Limits(clients=3, replaces=True)) as server:
            peers = []
            for count in range(1, 7):
                peers.append(socket.create_connection(("127.0.0.1", server.listener.port)))
                await until(lambda: len(server.clients) == count)  # noqa: B023
            await until(lambda: len(server.listener.clients) == 3)
            assert server.listener.refused == 3
            for peer, ended in zip(peers, [True] * 3 + [False] * 3, strict=True):
                peer.setblocking(False)
                if ended:
                    assert peer.recv(1) == b""
                else:
                    with pytest.raises(BlockingIOError):
                        peer.recv(1)
                peer.close()

    async def test_one_address_does_not_take_all_places(self, path: str) -> None:
        async with serving(limits=Limits(clients=10, per_address=2)) as server:
            where = ("127.0.0.1", server.listener.port)
            peers = [socket.create_connection(where) for _ in range(5)]
            await until(lambda: server.listener.refused == 3)
            peers.append(socket.create_connection(where, source_address=("127.0.0.2", 0)))
            await until(lambda: len(server.clients) == 3)
            for peer in peers:
                peer.close()

    async def test_without_a_descriptor_left_it_waits_and_goes_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with serving() as server:
            tries = 0
            real = accepting.accept

            def accept(listening: socket.socket) -> object:
                nonlocal tries
                tries += 1
                if tries <= 2:
                    raise OSError(errno.EMFILE, "Too many open files")
                return real(listening)

            monkeypatch.setattr(accepting, "accept", accept)
            with socket.create_connection(("127.0.0.1", server.listener.port)):
                begin = asyncio.get_running_loop().time()
                await until(lambda: bool(server.clients))
            assert tries <= 4  # the last one finds no other connection
            assert asyncio.get_running_loop().time() - begin >= 2 * accepting.ACCEPT_PAUSE_S

    async def test_closed_it_accepts_none_and_keeps_those_it_has(self, path: str) -> None:
        async with serving() as server:
            port = server.listener.port
            with socket.create_connection(("127.0.0.1", port)) as peer:
                await until(lambda: bool(server.clients))
                server.listener.close()
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port))
                peer.sendall(b"still here")
                await server.clients[0].received(10)

    async def test_a_thousand_connects_leave_nothing(self, path: str) -> None:
        async with serving() as server:
            before = descriptors()
            for _ in range(1000):
                peer = socket.create_connection(("127.0.0.1", server.listener.port))
                await turns(2)
                peer.close()
            await until(lambda: len(descriptors()) <= len(before))
            assert len(server.clients) + server.listener.refused == 1000


# --- a network that fails -----------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.judge("ip", "unshare")
@pytest.mark.parametrize("what", ["writes", "is idle"])
def test_a_peer_that_vanishes_without_a_word_is_noticed(what: str) -> None:
    """Keepalive sees it while idle, the user time-out while writing; each alone misses one."""
    root = Path(__file__).parents[2]
    script = root / "tests" / "transports" / "half_open.py"
    apart = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        judge = pytest.fail if os.environ.get("HILGW_REQUIRE_JUDGES") == "1" else pytest.skip
        judge("no network namespace may be made here")
    command = [*apart, sys.executable, str(script), what]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    assert result.returncode == 0, result.stderr


# --- socat judges -------------------------------------------------------------------------------


@asynccontextmanager
async def socat(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        "socat", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # closes the pipes, too


async def connect_when_up(host: str, port: int) -> Transport:
    for _ in range(500):
        with contextlib.suppress(PortError):
            return await connect_tcp(host, port)
        await turns()
    return await connect_tcp(host, port)


BLOCK = os.urandom(300_000)


@pytest.mark.process
@pytest.mark.judge("socat")
@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", "TCP4"), ("::1", "TCP6")])
async def test_socat_as_the_client(host: str, family: str) -> None:
    async with serving(host) as server:
        where = server.listener.where
        async with socat("-", f"{family}:{where}") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(BLOCK)
            await until(lambda: bool(server.clients))
            client = server.clients[0]
            assert await client.received(len(BLOCK)) == BLOCK
            sent = 0
            echoed = bytearray()
            while len(echoed) < len(BLOCK):
                while sent < len(BLOCK) and client.transport.pending < 100_000:
                    client.transport.write(BLOCK[sent : sent + 10_000])
                    sent += 10_000
                echoed += await process.stdout.read(65536)
            assert echoed == BLOCK
            process.send_signal(signal.SIGKILL)
            await until(lambda: bool(client.lost))


@pytest.mark.process
@pytest.mark.judge("socat")
@pytest.mark.parametrize(
    ("host", "listen"),
    [
        ("127.0.0.1", "TCP4-LISTEN:{},bind=127.0.0.1,reuseaddr"),
        ("::1", "TCP6-LISTEN:{},bind=[::1],reuseaddr"),
    ],
)
async def test_socat_as_the_server(host: str, listen: str) -> None:
    port = free_port()
    async with socat(listen.format(port), "EXEC:cat") as process:
        client = Client(await connect_when_up(host, port))
        client.transport.write(BLOCK[:200_000])
        assert await client.received(200_000) == BLOCK[:200_000]
        process.send_signal(signal.SIGKILL)
        await client.close()
