"""socket:// and rfc2217:// ports: who answers at the address, what passes, and TLS over TCP."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tty
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trustme

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.protocols.rfc2217 import PURGE_DATA, SET_BAUDRATE, SET_CONTROL
from hilgw.transports import tls
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.tcp import stream
from hilgw.transports.tcp.listener import ListenerLimits, TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from hilgw.transports.tls import TlsStream
from hilgw.transports.virtual.pty import VirtualPort
from tests.e2e.running import ROOT
from tests.transports.network_servers import AccessServer, Peer, sends, ser2net, serving
from tests.transports.rig import ALL_VALUES, LINE, Client, refuses, turns, until

GREETING = b"\xff\xfd\x03\xff\xfb\x03"


async def opened(kind: str, address: str, timer: Timer, line: LineSettings = LINE) -> Transport:
    return await open_serial(f"{kind}://{address}", line, timer, allow_urls=True)


async def refused(kind: str, address: str, timer: Timer) -> PortError:
    with pytest.raises(PortError) as caught:
        await opened(kind, address, timer)
    assert caught.value.where == f"{kind}://{address}"
    return caught.value


async def test_no_byte_leaves_before_the_server_could_show_that_it_is_telnet(timer: Timer) -> None:
    async with serving(Peer(sends())) as server:
        client = Client(await opened("socket", server.address, timer))
        assert asyncio.get_running_loop().time() - server.accepted_s[0] > 0.2
        client.transport.write(b"first")
        await until(lambda: server.received == [b"first"])
        await client.close()


@pytest.mark.parametrize("pieces", [[GREETING], [GREETING[:2], GREETING[2:]], [GREETING[:3]]])
async def test_telnet_twice_in_a_row_is_refused_without_a_byte(
    timer: Timer, pieces: list[bytes]
) -> None:
    async with serving(Peer(sends(*pieces))) as server:
        error = await refused("socket", server.address, timer)
        assert error.reason == PortError.UNSUPPORTED
        assert "telnet" in error.what and error.fix == "use rfc2217://, or its raw address"
        assert server.received == [b"", b""]


async def test_telnet_is_named_though_the_server_needs_time_for_the_next_client(
    timer: Timer,
) -> None:
    busy = sends(b"Port already in use\r\n", then="close")
    async with serving(Peer(sends(GREETING), busy, sends(GREETING))) as server:
        assert "telnet" in (await refused("socket", server.address, timer)).what


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfd\x00\x01\x07\x00\x55",  # a Dynamixel header that lost its first byte
        b"\xff\xff\xfd\x00",
        b"\xff\xfd\xf0",
        b"\xff\xfd",
        b"login: " + GREETING,
    ],
)
async def test_what_only_looks_like_telnet_is_data(timer: Timer, data: bytes) -> None:
    async with serving(Peer(sends(data))) as server:
        client = Client(await opened("socket", server.address, timer))
        assert await client.received(len(data)) == data
        assert len(server.received) == 1
        await client.close()


BUSY = [b"Port already ", b"in use\r\n"]
SENTENCE = "the server says: Port already in use"


@pytest.mark.parametrize(
    ("kinds", "pieces", "then", "message"),
    [
        (["socket", "rfc2217"], BUSY, "close", SENTENCE),
        (["socket", "rfc2217"], BUSY, "reset", SENTENCE),
        (["rfc2217"], [GREETING, *BUSY], "close", SENTENCE),  # after a negotiation, too
        (["socket"], [b"\1\2\x1b[2J\x80"], "close", "the peer closed the connection"),
        (["rfc2217"], [b"\1\2\x1b[2J\x80"], "close", "the peer closed the connection"),
    ],
)
async def test_the_sentence_of_a_busy_server_is_the_reason(
    timer: Timer, kinds: list[str], pieces: list[bytes], then: str, message: str
) -> None:
    for kind in kinds:
        async with serving(Peer(sends(*pieces, then=then))) as server:
            error = await refused(kind, server.address, timer)
            assert (error.what, error.reason) == (message, PortError.LOST)


@pytest.mark.parametrize("over_asyncio", [False, True])
async def test_what_comes_at_first_is_delivered_in_order(
    timer: Timer, over_asyncio: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "OVER_ASYNCIO", over_asyncio)
    block = bytes(range(255)) * 40
    async with serving(Peer(sends(b"early ", b"bytes ", block))) as server:
        transport = await opened("socket", server.address, timer)
        transport.pause_reading()
        client = Client(transport)
        assert not client.data
        transport.resume_reading()
        assert await client.received(12 + len(block)) == b"early bytes " + block
        await client.close()


async def test_a_hostile_flood_at_first_is_bounded(timer: Timer) -> None:
    async with serving(Peer(sends(bytes(1 << 20)))) as server:
        client = Client(await opened("socket", server.address, timer))
        assert len(await client.received(1 << 20)) == 1 << 20
        await client.close()


@pytest.mark.judge("ser2net")
@pytest.mark.process
async def test_ser2net_is_recognised(tmp_path: Path, timer: Timer) -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    try:
        for accepter in ("telnet(rfc2217),tcp", "telnet,tcp", "tcp"):
            async with ser2net(os.ttyname(slave), tmp_path, accepter) as address:
                if accepter != "tcp":
                    assert "telnet" in (await refused("socket", address, timer)).what
                else:
                    client = Client(await opened("socket", address, timer))
                    for kind in ("socket", "rfc2217"):
                        error = await refused(kind, address, timer)
                        assert error.what == "the server says: Port already in use"
                    await client.close()
                if accepter == "telnet,tcp":
                    error = await refused("rfc2217", address, timer)
                    assert error.fix == f"use its raw address: socket://{address}"
        os.set_blocking(master, False)
        with pytest.raises(BlockingIOError):
            os.read(master, 1)
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_settings_and_all_values_pass(timer: Timer, one_by_one: bool) -> None:
    line = LineSettings(57600, parity="E", stop_bits=2, rtscts=True, dtr=False, rts=True)
    set_ = {
        "baud_rate": 57600, "data_bits": 8, "parity": "E", "stop_bits": 2, "flow": "rtscts",
    }  # fmt: skip
    async with serving(AccessServer(one_by_one=one_by_one)) as server:
        client = Client(await opened("rfc2217", server.address, timer, line))
        assert server.settings == {**set_, "dtr": False, "rts": True}
        client.transport.write(ALL_VALUES * 3)
        assert await client.received(768) == ALL_VALUES * 3
        assert server.device == ALL_VALUES * 3
        assert client.transport.notices == []
        await client.close()
        server.settings.clear()
        await Client(await opened("rfc2217", server.address, timer, LINE)).close()
        assert not {"dtr", "rts"} & server.settings.keys()


async def test_a_rate_that_the_server_rounds_is_accepted_within_2_percent(timer: Timer) -> None:
    async with serving(AccessServer(rates={115200: 117503})) as server:
        client = Client(await opened("rfc2217", server.address, timer))
        notices = ["the server has 117503 baud in place of 115200 baud"]
        assert client.transport.notices == notices
        await client.close()
    async with serving(AccessServer(rates={115200: 117505})) as server:
        error = await refused("rfc2217", server.address, timer)
        assert error.what == "the server has 117505 baud in place of 115200 baud"
        assert error.reason == PortError.UNSUPPORTED


@pytest.mark.parametrize(
    ("silent", "option", "notices"),
    [
        ({PURGE_DATA}, "", ["the server does not answer PURGE-DATA; hilgw continues"]),
        ({SET_CONTROL}, "", ["the server does not answer SET-CONTROL; hilgw continues"]),
        (
            {SET_CONTROL, PURGE_DATA},
            "",
            ["the server does not answer PURGE-DATA and SET-CONTROL; hilgw continues"],
        ),
        ({SET_CONTROL}, "?ign_set_control", []),
        ((), "?ign_set_control", []),
    ],
)
async def test_answers_that_servers_leave_out_are_one_notice(
    timer: Timer, silent: set[int], option: str, notices: list[str]
) -> None:
    async with serving(AccessServer(silent=silent)) as server:
        line = LineSettings(115200, dtr=True)
        client = Client(await opened("rfc2217", server.address + option, timer, line))
        assert client.transport.notices == notices
        client.transport.write(b"data")
        assert await client.received(4) == b"data"
        await client.close()


async def test_telnet_without_rfc_2217_is_named_with_its_raw_address(timer: Timer) -> None:
    async with serving(AccessServer(refuses=True)) as server:
        error = await refused("rfc2217", server.address, timer)
        assert error.what.startswith("telnet without RFC 2217 answers here")
        assert error.fix == f"use its raw address: socket://{server.address}"


async def test_a_line_that_the_server_cannot_set_is_named(timer: Timer) -> None:
    class Keeps(AccessServer):
        async def answer(self, data: bytes, writer: asyncio.StreamWriter) -> None:
            await super().answer(data.replace(b"\x2c\x03\x03", b"\x2c\x03\x01"), writer)

    async with serving(Keeps()) as server:
        with pytest.raises(PortError) as caught:
            await opened("rfc2217", server.address, timer, LineSettings(115200, parity="E"))
        assert caught.value.what == "the server has parity N in place of parity E"


async def test_bytes_that_wait_can_be_taken_back_and_no_escape_is_cut(timer: Timer) -> None:
    """The server stops reading: what it has half of goes on, and the rest is taken back."""
    read = asyncio.Event()

    class Stalls(AccessServer):
        async def answer(self, data: bytes, writer: asyncio.StreamWriter) -> None:
            await super().answer(data, writer)
            if self.device.startswith(b"stall"):
                await read.wait()

    async with serving(Stalls()) as server:
        client = Client(await opened("rfc2217", server.address, timer))
        transport = client.transport
        transport.write(b"stall")
        await until(lambda: server.device == b"stall")
        sent = 0
        with refuses(PortError.FULL):
            while True:
                transport.write(b"\xff" * 9999)
                sent += 9999
        assert transport.pending <= 256 * 1024
        taken = transport.take_unsent()
        assert taken == b"\xff" * len(taken) and len(taken) >= 9999
        transport.write(b"stop")
        read.set()
        await until(lambda: server.device.endswith(b"stop"))
        assert server.device == b"stall" + b"\xff" * (sent - len(taken)) + b"stop"
        await client.close()
        with refuses(PortError.LOST):
            transport.write(b"x")


@pytest.mark.judge("ser2net")
@pytest.mark.process
async def test_ser2net_sets_the_line_and_passes_all_values(tmp_path: Path, timer: Timer) -> None:
    port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
    received = bytearray()
    bauds: set[int | None] = set()

    def on_data(data: bytes, baud: int | None) -> None:
        received.extend(data)
        bauds.add(baud)
        port.write(data)

    port.start(on_data)
    async with ser2net(port.path, tmp_path, "telnet(rfc2217),tcp") as address:
        client = Client(await opened("rfc2217", address, timer, LineSettings(57600)))
        client.transport.write(ALL_VALUES * 8)  # 255, telnet's own, is among them
        assert await client.received(2048) == ALL_VALUES * 8
        assert received == ALL_VALUES * 8
        assert bauds == {57600}
        assert not client.lost
    await until(lambda: bool(client.lost))
    assert client.lost[0].reason == PortError.LOST
    await client.close()
    port.close()


@pytest.mark.wall_clock("the deadline of the answers")
async def test_an_answer_that_is_needed_is_named(timer: Timer) -> None:
    async with serving(AccessServer(silent={SET_BAUDRATE})) as server:
        error = await refused("rfc2217", server.address, timer)
        assert error.what == "the server does not answer SET-BAUDRATE"


SOON_S = 5.0  # less than a second on an idle machine


@pytest.mark.needs_root
@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="no /dev/net/tun")
@pytest.mark.process
@pytest.mark.wall_clock("cuts of the network, and the time-outs of TCP")
@pytest.mark.parametrize(("kind", "cuts"), [("socket", ["3", "8"]), ("rfc2217", ["3", "20"])])
def test_a_stop_arrives_soon_after_the_network_is_back(kind: str, cuts: list[str]) -> None:
    """At the bridge the new connection is the writer at once, in the place of the dead one."""
    script = ["unshare", "-n", sys.executable, "-m", "tests.transports.cut_network", kind, *cuts]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    after = dict(line.split() for line in lines if line.split()[:1] and line.split()[0] in cuts)
    assert done.returncode == 0 and list(after) == cuts, done.stdout + done.stderr
    assert all(float(each) < SOON_S for each in after.values()), after


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
async def tls_serving(
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
    async with tls_serving(read_bytes=2048) as (listener, clients):
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
    async with tls_serving(read_bytes=100) as (listener, clients):
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
    async with tls_serving() as (listener, clients):
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
    async with tls_serving() as (listener, clients):
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
    async with tls_serving(handshake_s=0.05) as (listener, clients):
        with socket.create_connection(("127.0.0.1", listener.port)) as silent:
            silent.setblocking(False)
            await until(lambda: listener.refused == 1)
            assert not clients


async def test_a_certificate_that_the_client_does_not_trust_ends_both_ends() -> None:
    async with tls_serving() as (listener, clients):
        inner = await connect_tcp("127.0.0.1", listener.port)
        ready: list[TlsStream] = []
        failed: list[PortError] = []
        stranger = ssl.create_default_context()
        TlsStream(inner, stranger, ready.append, failed.append, server_hostname="127.0.0.1")
        await until(lambda: bool(failed))
        assert "CERTIFICATE_VERIFY_FAILED" in failed[0].what and not ready
        await until(lambda: listener.refused == 1 or any(each.lost for each in clients))


async def test_a_full_write_buffer_refuses_the_whole_write_and_the_stream_goes_on() -> None:
    async with tls_serving() as (listener, clients):
        _, writer = await foreign(listener)
        await until(lambda: bool(clients))
        stream = clients[0].transport
        with refuses(PortError.FULL):
            stream.write(bytes(300_000))
        writer.write(b"still there")
        assert await clients[0].received(11) == b"still there"
        writer.close()
