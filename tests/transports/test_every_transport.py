"""What every transport does, whatever carries its bytes."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial.port import DataPath, open_serial
from hilgw.transports.stream import FdStream
from hilgw.transports.tcp import stream as tcp
from hilgw.transports.tcp.stream import connect_tcp
from hilgw.transports.virtual.pipe import Pipe
from tests.transports import rig

FAST = LineSettings(baudRate=10_000_000)


@dataclass
class Ends:
    """A transport and its other end. stall: that end takes no byte until it reads."""

    transport: Transport
    write: Callable[[bytes], object]
    read: Callable[[], bytes]
    hang_up: Callable[[], object]
    stall: Callable[[], object] = lambda: None


Kind = Callable[[Timer], AbstractAsyncContextManager[Ends]]


def socket_ends(transport: Transport, peer: socket.socket) -> Ends:
    peer.setblocking(False)
    return Ends(transport, peer.send, lambda: rig.waiting(peer.recv), lambda: rig.reset(peer))


@asynccontextmanager
async def on_descriptor(_: Timer) -> AsyncIterator[Ends]:
    ours, peer = socket.socketpair()
    ours.setblocking(False)
    with peer:
        yield socket_ends(FdStream(asyncio.get_running_loop(), ours.detach(), "pair"), peer)


def on_serial(path: DataPath) -> Kind:
    @asynccontextmanager
    async def opened(timer: Timer) -> AsyncIterator[Ends]:
        with rig.Pty() as pty:
            transport = await open_serial(pty.path, rig.LINE, timer, path=path)
            yield Ends(transport, lambda data: os.write(pty.master, data), pty.read, pty.hang_up)

    return opened


def on_tcp(over_asyncio: bool) -> Kind:
    @asynccontextmanager
    async def connected(_: Timer) -> AsyncIterator[Ends]:
        with (
            pytest.MonkeyPatch.context() as patch,
            socket.create_server(("127.0.0.1", 0)) as server,
        ):
            patch.setattr(tcp, "OVER_ASYNCIO", over_asyncio)
            transport = await connect_tcp(*server.getsockname())
            peer = server.accept()[0]
            with peer:
                yield socket_ends(transport, peer)

    return connected


@asynccontextmanager
async def on_pipe(timer: Timer) -> AsyncIterator[Ends]:
    pipe = Pipe(timer, FAST)
    data = bytearray()
    pipe.start(lambda received, _: data.extend(received))

    def read() -> bytes:
        pipe.unstall()
        taken = bytes(data)
        data.clear()
        return taken

    yield Ends(pipe.connect(), pipe.write, read, pipe.unplug, pipe.stall)


KINDS = {
    "descriptor": on_descriptor,
    "serial": on_serial("posix"),
    "serial asyncio": on_serial("asyncio"),
    "tcp": on_tcp(False),
    "tcp asyncio": on_tcp(True),
    "pipe": on_pipe,
}
pytestmark = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


async def fill(ends: Ends) -> bytes:
    """Write until the buffer is full while the other end reads nothing; return the bytes."""
    ends.stall()
    sent = bytearray()
    block = os.urandom(8000)
    with rig.refuses(PortError.FULL):
        while True:
            ends.transport.write(block)
            sent += block
            await rig.turns(1)
    return bytes(sent)


async def test_all_values_pass_also_those_before_the_start(kind: Kind, timer: Timer) -> None:
    early = b"early" * 200
    async with kind(timer) as ends:
        ends.write(early)
        await rig.turns()
        client = rig.Client(ends.transport)
        assert await client.received(1000) == early
        client.transport.write(rig.ALL_VALUES)
        assert await rig.received_by(ends.read, 256) == rig.ALL_VALUES
        ends.write(rig.ALL_VALUES)
        assert await client.received(1256) == early + rig.ALL_VALUES
        await client.close()


async def test_paused_before_and_after_the_start_nothing_is_delivered(
    kind: Kind, timer: Timer
) -> None:
    async with kind(timer) as ends:
        ends.transport.pause_reading()
        client = rig.Client(ends.transport)
        for data in (b"later", b"again"):
            ends.write(data)
            await rig.turns(50)
            assert not client.data
            client.transport.resume_reading()
            await rig.until(lambda: client.data == data)  # noqa: B023
            client.data.clear()
            client.transport.pause_reading()
        await client.close()


async def test_a_write_that_does_not_fit_is_refused_whole_and_no_other_byte_is_lost(
    kind: Kind, timer: Timer
) -> None:
    async with kind(timer) as ends:
        client = rig.Client(ends.transport)
        drained: list[int] = []
        client.transport.on_drained = lambda: drained.append(client.transport.pending)
        sent = await fill(ends)
        waiting = client.transport.pending
        assert 200_000 < waiting <= 256 * 1024
        with pytest.raises(PortError):
            client.transport.write(bytes(256 * 1024 + 1))
        assert client.transport.pending == waiting
        client.transport.write(b"fits")
        assert not drained
        assert await rig.received_by(ends.read, len(sent) + 4) == sent + b"fits"
        await rig.until(lambda: drained == [0])
        await client.close()


async def test_closed_it_reports_nothing_and_takes_no_byte(kind: Kind, timer: Timer) -> None:
    async with kind(timer) as ends:
        client = rig.Client(ends.transport)
        await fill(ends)
        ends.write(b"unread")
        client.transport.close()
        client.transport.close()
        await client.transport.wait_closed()
        await rig.turns()
        assert not client.lost
        assert not client.data
        with rig.refuses(PortError.LOST):
            client.transport.write(b"x")


@pytest.mark.parametrize("state", ["reading", "paused", "stalled"])
async def test_the_end_of_the_peer_is_reported_once(kind: Kind, state: str, timer: Timer) -> None:
    async with kind(timer) as ends:
        client = rig.Client(ends.transport)
        if state == "paused":
            client.transport.pause_reading()
        elif state == "stalled":
            await fill(ends)
        await rig.turns()
        ends.hang_up()
        await rig.until(lambda: bool(client.lost))
        await rig.turns()
        (error,) = client.lost
        assert (error.reason, error.where) == (PortError.LOST, client.transport.name)
        with rig.refuses(PortError.LOST):
            client.transport.write(b"x")
        await client.close()
