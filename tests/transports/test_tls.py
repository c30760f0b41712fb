"""TLS over TCP; the other end is the ssl module's own socket, or our stream as the client."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trustme

from hilgw.errors import PortError
from hilgw.transports import tls
from hilgw.transports.tcp.listener import ListenerLimits, TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from hilgw.transports.tls import TlsStream
from tests.transports.rig import ALL_VALUES, Client, refuses, turns, until

AUTHORITY = trustme.CA()
BULK = ALL_VALUES * 700  # 179,200 bytes: many records, below the limit of the write buffer


def server_side() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    return context


def client_side() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


@asynccontextmanager
async def serving(
    *, read_bytes: int = 0, handshake_s: float = tls.HANDSHAKE_S
) -> AsyncIterator[tuple[TcpListener, list[Client]]]:
    clients: list[Client] = []

    def accept(stream: object, peer: str) -> None:
        assert isinstance(stream, TlsStream)
        if read_bytes:
            stream.read_bytes = read_bytes
        clients.append(Client(stream))

    limits = ListenerLimits(tls_handshake_s=handshake_s)
    listener = TcpListener("127.0.0.1", 0, accept, tls=server_side(), limits=limits)
    await listener.start()
    try:
        yield listener, clients
    finally:
        listener.close()
        for client in clients:
            await client.close()


async def foreign(listener: TcpListener) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that is not ours."""
    return await asyncio.open_connection(
        "127.0.0.1", listener.port, ssl=client_side(), server_hostname="127.0.0.1"
    )


async def test_a_foreign_client_exchanges_bytes_and_its_close_is_the_end() -> None:
    async with serving(read_bytes=2048) as (listener, clients):
        reader, writer = await foreign(listener)
        writer.write(BULK)
        await until(lambda: bool(clients))
        assert await clients[0].received(len(BULK)) == BULK
        clients[0].transport.write(BULK)
        assert await reader.readexactly(len(BULK)) == BULK
        writer.write(b"last")
        writer.close()
        await until(lambda: bool(clients[0].lost))
        assert bytes(clients[0].data[len(BULK) :]) == b"last"
        assert clients[0].lost[0].reason == PortError.LOST
        with pytest.raises(PortError):
            clients[0].transport.write(b"x")


async def test_no_read_passes_more_than_read_bytes_and_pausing_holds_the_rest() -> None:
    async with serving(read_bytes=100) as (listener, clients):
        _, writer = await foreign(listener)
        await until(lambda: bool(clients))
        stream, sizes = clients[0].transport, list[int]()
        clients[0].data.clear()

        def take(data: bytes) -> None:
            sizes.append(len(data))
            clients[0].data.extend(data)
            if len(sizes) == 3:
                stream.pause_reading()

        stream.start(take, clients[0].lost.append)
        writer.write(ALL_VALUES * 4)
        await until(lambda: len(sizes) == 3)
        await turns(50)
        assert sizes == [100, 100, 100] and stream.in_waiting > 0
        stream.resume_reading()
        assert await clients[0].received(1024) == ALL_VALUES * 4
        assert max(sizes) == 100
        writer.close()


async def test_our_client_and_our_server_and_a_close_is_seen_by_the_other_end() -> None:
    async with serving() as (listener, clients):
        inner = await connect_tcp("127.0.0.1", listener.port)
        ready: list[TlsStream] = []
        TlsStream(inner, client_side(), ready.append, server_hostname="127.0.0.1")
        await until(lambda: bool(ready) and bool(clients))
        ours = Client(ready[0])
        ready[0].write(b"ping")
        assert await clients[0].received(4) == b"ping"
        await clients[0].close()
        await until(lambda: bool(ours.lost))
        assert ours.lost[0].what == "the peer closed the connection"
        await ours.close()


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(99)])
async def test_a_client_without_tls_is_closed_and_counted(first: bytes) -> None:
    async with serving() as (listener, clients):
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(first)
        if first.startswith(b"\x16"):
            writer.write_eof()
        with suppress(ConnectionResetError):
            while await reader.read(1000):
                pass
        await until(lambda: listener.refused == 1)
        assert not clients
        writer.close()


async def test_a_silent_client_is_closed_after_the_deadline() -> None:
    async with serving(handshake_s=0.05) as (listener, clients):
        with socket.create_connection(("127.0.0.1", listener.port)) as silent:
            silent.setblocking(False)
            await until(lambda: listener.refused == 1)
            assert not clients


async def test_a_certificate_that_the_client_does_not_trust_ends_both_ends() -> None:
    async with serving() as (listener, clients):
        inner = await connect_tcp("127.0.0.1", listener.port)
        ready: list[TlsStream] = []
        failed: list[PortError] = []
        stranger = ssl.create_default_context()
        TlsStream(inner, stranger, ready.append, failed.append, server_hostname="127.0.0.1")
        await until(lambda: bool(failed))
        assert "CERTIFICATE_VERIFY_FAILED" in failed[0].what and not ready
        await until(lambda: listener.refused == 1 or any(each.lost for each in clients))


async def test_a_full_write_buffer_refuses_the_whole_write_and_the_stream_goes_on() -> None:
    async with serving() as (listener, clients):
        _, writer = await foreign(listener)
        await until(lambda: bool(clients))
        stream = clients[0].transport
        with refuses(PortError.FULL):
            stream.write(bytes(300_000))
        writer.write(b"still there")
        assert await clients[0].received(11) == b"still there"
        writer.close()
