"""What the bridge does for a message and for a pause, counted: no clock is read."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.transports.tcp.stream import TcpStream
from tests import work
from tests.bridge.rig import Rig, run_bridge

MESSAGE = bytes(4096)
MESSAGES = 200
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


class Sender:
    """Sends the next message when the device has received the one before, all in one event loop."""

    def __init__(self, rig: Rig, connection: socket.socket) -> None:
        self.done = asyncio.Event()
        self._left = MESSAGES
        self._missing = 0
        self._master = rig.device.master
        self._connection = connection
        asyncio.get_running_loop().add_reader(self._master, self._received)
        self._send()

    def _send(self) -> None:
        self._missing = len(MESSAGE)
        self._left -= 1
        assert self._connection.send(MESSAGE) == len(MESSAGE)

    def _received(self) -> None:
        self._missing -= len(os.read(self._master, 65536))
        if self._missing:
            return
        if self._left:
            self._send()
        else:
            asyncio.get_running_loop().remove_reader(self._master)
            self.done.set()


def test_a_message_to_the_port_takes_few_calls(tmp_path: Path) -> None:
    counted: list[Counter[str]] = []

    async def scenario(rig: Rig) -> None:
        with socket.create_connection(rig.address) as connection:
            first = Sender(rig, connection)  # the first bytes are held: they may be telnet
            await first.done.wait()
            sender = Sender(rig, connection)
            counts: Counter[str] = Counter()
            with work.counting(counts):
                await sender.done.wait()
            counted.append(counts)

    run_bridge(tmp_path, scenario)
    # Read, and written: _readable, _read_on, received, write, write; pending when it is written.
    assert counted[0].total() <= 7 * MESSAGES, counted


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
