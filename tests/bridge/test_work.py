"""What a pause of a stream sets and watches: no clock is read."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hilgw.transports.tcp.stream import TcpStream
from tests.transports.rig import reset

CYCLES = 1000


def pause_often(stream: TcpStream) -> None:
    for _ in range(CYCLES):
        stream.pause_reading()
        stream.resume_reading()


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection; the first does not block, and belongs to a stream."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as theirs, server.accept()[0] as ours:
            ours.setblocking(False)
            yield ours, theirs


def test_a_pause_sets_no_timer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[tuple[Any, ...]] = []

    async def scenario(ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at
        stream = TcpStream(ours, "test")
        stream.on_peer_ended = lambda: None
        stream.start(lambda data: None, lambda error: None)

        def counted(*given: Any, **more: Any) -> asyncio.TimerHandle:
            timers.append(given)
            return call_at(*given, **more)

        monkeypatch.setattr(loop, "call_at", counted)
        pause_often(stream)
        stream.close()

    with connected() as (ours, _):
        asyncio.run(scenario(ours))
    assert len(timers) == 1


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
        reset(theirs)  # which poll() reports; nothing is read
        async with asyncio.timeout(60):
            await over.wait()

    with connected() as (ours, theirs):
        asyncio.run(scenario(ours, theirs))
    assert lost == ["the peer reset the connection"]
