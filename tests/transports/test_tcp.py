"""TCP, both ends, IPv4 and IPv6, and the hardware's end: one client, events, retries."""

import asyncio
import errno
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.errors import PortError
from hilgw.transports import accepting
from hilgw.transports.base import ConnectionSide, Transport
from hilgw.transports.tcp import stream as tcp
from hilgw.transports.tcp.device import TcpClientDevice, TcpListenerDevice, TcpServerDevice
from hilgw.transports.tcp.listener import ListenerLimits, TcpListener
from hilgw.transports.tcp.stream import TcpStream, connect_tcp
from tests.transports import rig
from tests.transports.rig import Client, refuses, until


class Server:
    """A listener that keeps its clients."""

    def __init__(self, host: str, limits: ListenerLimits) -> None:
        self.listener = TcpListener(host, 0, self._accept, limits=limits)
        self.clients: list[Client] = []
        self.peers: list[str] = []

    def _accept(self, stream: Transport, peer: str) -> None:
        self.clients.append(Client(stream))
        self.peers.append(peer)

    async def first(self) -> Client:
        await until(lambda: bool(self.clients))
        return self.clients[0]

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        where = ("127.0.0.1", self.listener.port)
        return socket.create_connection(where, source_address=(source, 0))


@asynccontextmanager
async def serving(
    host: str = "127.0.0.1", limits: ListenerLimits | None = None
) -> AsyncIterator[Server]:
    server = Server(host, limits or ListenerLimits())
    await server.listener.start()
    try:
        yield server
    finally:
        server.listener.close()
        for client in server.clients:
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


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_no_delay_and_a_dead_peer_is_noticed_in_time(host: str, path: str) -> None:
    options = [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 2000),
    ]
    async with serving(host) as server:
        ours = await connect_tcp(host, server.listener.port)
        theirs = (await server.first()).transport
        for stream in (ours, theirs):
            assert [(*each, option(stream, *each)) for *each, _ in options] == options
        ours.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "no.such.host.invalid", "a" * 70 + ".invalid", "\ud800", ""]
)
async def test_no_such_host_and_a_port_without_a_listener(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(PortError) as caught:
        await connect_tcp(host, port)
    if host == "127.0.0.1":
        assert caught.value.reason == PortError.ABSENT
        assert caught.value.where == f"socket://127.0.0.1:{port}"


async def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()

    async def never(*_: object) -> None:
        await loop.create_future()

    monkeypatch.setattr(loop, "sock_connect", never)
    with refuses(PortError.ABSENT):
        await connect_tcp("127.0.0.1", 1, deadline_s=0.05)


async def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving("127.0.0.1") as server:
        port = server.listener.port

        async def two(*_: object, **__: object) -> list[object]:
            stream = socket.SOCK_STREAM
            return [
                (socket.AF_INET6, stream, 6, "", ("::1", port, 0, 0)),
                (socket.AF_INET, stream, 6, "", ("127.0.0.1", port)),
            ]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two)
        (await connect_tcp("both", port)).close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_an_address_others_can_reach_is_refused_unless_it_is_asked_for(host: str) -> None:
    with refuses(PortError.DENIED):
        await TcpListener(host, 0, lambda stream, peer: None).start()
    listener = TcpListener(host, 0, lambda stream, peer: None, False)
    await listener.start()
    assert listener.port
    listener.close()


async def test_a_port_in_use() -> None:
    async with serving() as server:
        with refuses(PortError.BUSY):
            await TcpListener("127.0.0.1", server.listener.port, lambda stream, peer: None).start()


async def test_no_more_clients_than_allowed(path: str) -> None:
    async with serving(limits=ListenerLimits(clients=3)) as server:
        peers = []
        for count in range(1, 6):
            peers.append(server.connect())
            await until(lambda: len(server.clients) + server.listener.refused == count)  # noqa: B023
        assert (len(server.clients), server.listener.refused) == (3, 2)
        peers[4].settimeout(30)
        assert peers[4].recv(1) == b"", "the one too many is told so"
        await server.clients[0].close()
        with server.connect():
            await until(lambda: len(server.clients) == 4)
        for peer in peers:
            peer.close()


async def test_a_client_replaces_the_oldest_where_that_is_asked_for(path: str) -> None:
    async with serving(limits=ListenerLimits(clients=3, replaces=True)) as server:
        peers = []
        for count in range(1, 7):
            peers.append(server.connect())
            await until(lambda: len(server.clients) == count)  # noqa: B023
        await until(lambda: len(server.listener.clients) == 3)
        assert server.listener.refused == 3
        for peer in peers[:3]:
            peer.settimeout(30)
            assert peer.recv(1) == b""
        for client in server.clients[3:]:
            client.transport.write(b"x")
        for peer in peers[3:]:
            assert peer.recv(1) == b"x"
        for peer in peers:
            peer.close()


async def test_one_address_does_not_take_all_places(path: str) -> None:
    async with serving(limits=ListenerLimits(clients=10, per_address=2)) as server:
        peers = [server.connect() for _ in range(5)]
        await until(lambda: server.listener.refused == 3)
        peers.append(server.connect("127.0.0.2"))
        await until(lambda: len(server.clients) == 3)
        for peer in peers:
            peer.close()


async def test_without_a_descriptor_left_it_waits_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as server:
        tries: list[float] = []
        real = accepting.accept

        def accept(listening: socket.socket) -> object:
            tries.append(asyncio.get_running_loop().time())
            if len(tries) <= 2:
                raise OSError(errno.EMFILE, "Too many open files")
            return real(listening)

        monkeypatch.setattr(accepting, "accept", accept)
        with server.connect():
            await server.first()
        assert len(tries) <= 4  # the last one finds no other connection
        assert tries[2] - tries[0] >= 2 * accepting.ACCEPT_PAUSE_S


async def test_closed_it_accepts_none_and_keeps_those_it_has(path: str) -> None:
    async with serving() as server:
        with server.connect() as peer:
            client = await server.first()
            server.listener.close()
            with pytest.raises(ConnectionRefusedError):
                server.connect()
            peer.sendall(b"still here")
            await client.received(10)


@pytest.mark.process
@pytest.mark.judge("ip", "unshare")
@pytest.mark.parametrize("activity", ["writes", "is idle"])
def test_a_peer_that_vanishes_without_a_word_is_noticed(activity: str) -> None:
    """Keepalive sees it while idle, the user time-out while writing; each alone misses one."""
    root = Path(__file__).parents[2]
    script = root / "tests" / "transports" / "half_open.py"
    apart = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        judge = pytest.fail if os.environ.get("HILGW_REQUIRE_JUDGES") == "1" else pytest.skip
        judge("no network namespace may be made here")
    command = [*apart, sys.executable, str(script), activity]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    assert result.returncode == 0, result.stderr


# --- socat judges -------------------------------------------------------------------------------


async def test_half_closed_by_the_peer_the_answer_still_gets_through(path: str) -> None:
    async with serving() as server:
        with server.connect() as peer:
            client = await server.first()
            ended: list[bytes] = []
            client.transport.on_half_close = lambda: ended.append(bytes(client.data))
            peer.sendall(b"question")
            peer.shutdown(socket.SHUT_WR)
            await until(lambda: bool(ended))
            assert ended == [b"question"]
            client.transport.write(b"answer")
            peer.settimeout(30)
            assert peer.recv(100) == b"answer"
            assert not client.lost


class Notified:
    """What a device reported to its mock."""

    def __init__(self, device: ConnectionSide) -> None:
        self.events: list[str] = []
        self.data = b""
        device.start(self.receive)
        device.on_open = lambda: self.events.append("open")
        device.on_close = lambda: self.events.append("close")

    def receive(self, data: bytes, host_baud: int | None) -> None:
        assert host_baud is None
        self.data += data


class DeviceClient(rig.Client):
    async def gone(self) -> None:
        await until(lambda: bool(self.lost))


async def connected(device: Any) -> DeviceClient:
    return DeviceClient(await connect_tcp("127.0.0.1", int(device.path.rpartition(":")[2])))


async def listening() -> tuple[TcpServerDevice, Notified]:
    device = TcpServerDevice("127.0.0.1", 0)
    notified = Notified(device)
    await device.listen()
    return device, notified


async def test_a_server_serves_one_client_and_then_the_next() -> None:
    device, notified = await listening()
    assert device.path == f"127.0.0.1:{device.port}"
    device.write(b"nobody hears this")
    first = await connected(device)
    first.transport.write(b"hello")
    await until(lambda: notified.data == b"hello")
    device.write(b"welcome")
    assert await first.received(7) == b"welcome"
    second = await connected(device)
    await second.gone()
    assert notified.events == ["open"]
    await first.close()
    await until(lambda: notified.events == ["open", "close"])
    third = await connected(device)
    await until(lambda: notified.events == ["open", "close", "open"])
    device.hang_up()
    await third.gone()
    assert notified.events[-1] == "close"
    device.close()


async def test_a_peer_that_does_not_read_is_hung_up_on() -> None:
    device, notified = await listening()
    stream = await connect_tcp("127.0.0.1", device.port)
    await until(lambda: bool(notified.events))
    for _ in range(400):
        device.write(bytes(65536))
    await until(lambda: notified.events == ["open", "close"])
    stream.close()
    device.close()


async def test_a_client_tries_until_somebody_listens_and_after_each_loss() -> None:
    tries: list[int] = []

    async def counted(host: str, port: int) -> Transport:
        tries.append(port)
        return await connect_tcp(host, port)

    streams: list[Any] = []
    listener = TcpListener("127.0.0.1", 0, lambda stream, peer: streams.append(stream))
    await listener.start()
    port = listener.port
    listener.close()
    device = TcpClientDevice(0.02, counted)
    notified = Notified(device)
    device.aim("127.0.0.1", port)
    await until(lambda: len(tries) > 2)  # refused
    assert notified.events == []
    again = TcpListener("127.0.0.1", port, lambda stream, peer: streams.append(stream))
    await again.start()
    await until(lambda: notified.events == ["open"])
    streams[-1].close()
    await until(lambda: notified.events == ["open", "close", "open"])
    device.write(b"here")
    client = DeviceClient(streams[-1])
    assert await client.received(4) == b"here"
    device.close()
    await client.gone()
    assert notified.events[-1] == "close"
    again.close()
    for stream in streams:
        stream.close()


async def test_a_stalled_device_reads_nothing_until_it_is_unstalled() -> None:
    device, notified = await listening()
    device.stall()  # before the connection, then during it
    first = await connected(device)
    await until(lambda: bool(notified.events))
    first.transport.write(b"one")
    device.write(b"answer")
    await first.received(6)
    assert not notified.data
    device.unstall()
    await until(lambda: notified.data == b"one")
    device.stall()
    first.transport.write(b"two")
    device.unstall()
    await until(lambda: notified.data == b"onetwo")
    device.close()
    await first.close()


async def test_a_listener_bounds_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.transports.tcp.device.MOST_CLIENTS", 1)
    listener = TcpListenerDevice("127.0.0.1", 0)
    served: list[Notified] = []
    listener.on_client = lambda device: served.append(Notified(device))
    await listener.listen()
    first = await connected(listener)
    await until(lambda: bool(served))
    await (await connected(listener)).gone()
    await first.close()
    await until(lambda: served[0].events == ["open", "close"])
    await connected(listener)
    await until(lambda: len(served) == 2)
    listener.close()
