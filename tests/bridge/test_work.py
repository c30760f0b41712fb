"""What a pause of a stream sets and watches: no clock is read."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hilgw.transports.tcp.stream import TcpStream

CYCLES = 1000


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection; the first does not block, and belongs to a stream."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as theirs:
            ours, _ = server.accept()
            ours.setblocking(False)
            with ours:
                yield ours, theirs


def pause_often(stream: TcpStream) -> None:
    for _ in range(CYCLES):
        stream.pause_reading()
        stream.resume_reading()


def test_a_pause_sets_no_timer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = 0

    async def scenario(ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def counting(*arguments: Any, **more: Any) -> asyncio.TimerHandle:
            nonlocal timers
            timers += 1
            return call_at(*arguments, **more)

        stream = TcpStream(ours, "test")
        stream.on_peer_ended = lambda: None
        stream.start(lambda data: None, lambda error: None)
        monkeypatch.setattr(loop, "call_at", counting)
        pause_often(stream)
        stream.close()

    with connected() as (ours, _):
        asyncio.run(scenario(ours))
    assert timers == 1


def test_a_pause_that_lasts_is_watched_after_many_short_ones() -> None:
    lost: list[str] = []

    async def scenario(ours: socket.socket, theirs: socket.socket) -> None:
        stream = TcpStream(ours, "test")
        over = asyncio.Event()

        def on_lost(error: Any) -> None:
            lost.append(error.what)
            over.set()

        stream.start(lambda data: None, on_lost)
        pause_often(stream)
        stream.pause_reading()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # a reset, which poll() reports; nothing is read
        async with asyncio.timeout(60):
            await over.wait()

    with connected() as (ours, theirs):
        asyncio.run(scenario(ours, theirs))
    assert lost == ["the peer reset the connection"]
