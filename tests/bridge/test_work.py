"""What a pause of a stream sets and watches: no clock is read."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hilgw.transports.tcp.stream import TcpStream

CYCLES = 1000


def pause_often(stream: TcpStream) -> None:
    for _ in range(CYCLES):
        stream.pause_reading()
        stream.resume_reading()


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection; the first does not block, and belongs to a stream."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as theirs:
            ours, _ = server.accept()
            ours.setblocking(False)
            with ours:
                yield ours, theirs


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
