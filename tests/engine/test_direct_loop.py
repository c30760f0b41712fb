"""The direct loop is asyncio's own loop to everybody, under traffic too."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hilgw.engine.direct_loop import DirectLoop


def run(scenario: Callable[[DirectLoop], Coroutine[Any, Any, None]]) -> list[dict[str, Any]]:
    """Runs it; what was reported to the loop's exception handler."""
    faults: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DirectLoop)
        loop.set_exception_handler(lambda _, fault: faults.append(fault))
        async with asyncio.timeout(10):
            await scenario(loop)

    with asyncio.Runner(loop_factory=DirectLoop) as runner:
        runner.run(main())
    return faults


class Busy:
    """A descriptor that is always ready, and whose callback counts."""

    def __init__(self, loop: DirectLoop) -> None:
        self._loop = loop
        self.count = 0
        self._read, self._write = os.pipe()
        os.write(self._write, b"x")
        loop.add_reader(self._read, self._ready)

    def _ready(self) -> None:
        self.count += 1

    def close(self) -> None:
        self._loop.remove_reader(self._read)
        os.close(self._read)
        os.close(self._write)


async def turns(count: int) -> None:
    """Lets the loop poll its descriptors so often."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def pair() -> Any:
    ends = socket.socketpair()
    for end in ends:
        end.setblocking(False)
    yield ends
    for end in ends:
        end.close()


def test_timers_tasks_threads_and_signals_have_their_turn_under_traffic() -> None:
    async def scenario(loop: DirectLoop) -> None:
        busy = Busy(loop)
        try:
            start = loop.time()
            await asyncio.sleep(0.05)
            assert loop.time() - start >= 0.05
            await turns(100)
            told = asyncio.Event()
            threading.Thread(target=lambda: loop.call_soon_threadsafe(told.set)).start()
            await told.wait()
            signalled = asyncio.Event()
            loop.add_signal_handler(signal.SIGUSR1, signalled.set)
            os.kill(os.getpid(), signal.SIGUSR1)
            await signalled.wait()
            loop.remove_signal_handler(signal.SIGUSR1)
            assert busy.count > 100
        finally:
            busy.close()

    assert run(scenario) == []


def test_what_a_callback_gives_to_the_loop_runs_at_once(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """With no timer near, the loop would otherwise sleep on."""

    async def scenario(loop: DirectLoop) -> None:
        got: asyncio.Future[None] = loop.create_future()

        def readable() -> None:
            pair[0].recv(10)
            got.set_result(None)

        loop.add_reader(pair[0], readable)
        loop.call_later(0.05, pair[1].send, b"x")
        await asyncio.wait_for(got, 10)
        soon = asyncio.Event()
        loop.remove_reader(pair[0])
        loop.add_reader(pair[0], lambda: (pair[0].recv(10), loop.call_later(0.01, soon.set)))
        pair[1].send(b"y")
        await soon.wait()
        loop.remove_reader(pair[0])

    assert run(scenario) == []


def test_a_reader_and_a_writer_on_one_descriptor(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    async def scenario(loop: DirectLoop) -> None:
        events: list[str] = []
        done = asyncio.Event()

        def writable() -> None:
            events.append("w")
            assert loop.remove_writer(pair[0])

        def readable(word: str) -> None:
            events.append(word + pair[0].recv(10).decode())
            done.set()

        loop.add_reader(pair[0].fileno(), readable, "r")
        loop.add_writer(pair[0], writable)
        while events != ["w"]:
            await asyncio.sleep(0.001)
        pair[1].send(b"x")
        await done.wait()
        assert events == ["w", "rx"]
        assert loop.remove_reader(pair[0])
        assert not loop.remove_reader(pair[0])
        assert not loop.remove_writer(pair[0])

    assert run(scenario) == []


def test_a_hang_up_is_told_to_reader_and_writer() -> None:
    async def scenario(loop: DirectLoop) -> None:
        told: set[str] = set()
        done = asyncio.Event()

        def tell(word: str) -> None:
            told.add(word)
            if len(told) == 2:
                done.set()

        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:  # so full that only the hang-up makes it writable
                ours.send(bytes(65536))
        loop.add_reader(ours, tell, "reader")
        loop.add_writer(ours, tell, "writer")
        await turns(10)
        assert told == set()
        theirs.close()
        await done.wait()
        loop.remove_reader(ours)
        loop.remove_writer(ours)
        ours.close()

    assert run(scenario) == []


def test_a_callback_may_remove_others_that_are_ready_too() -> None:
    async def scenario(loop: DirectLoop) -> None:
        pipes = [os.pipe() for _ in range(4)]
        called: list[int] = []

        def ready(own: int) -> None:
            called.append(own)
            for reader, _ in pipes:
                loop.remove_reader(reader)

        for reader, writer in pipes:
            os.write(writer, b"x")
            loop.add_reader(reader, ready, reader)
        while not called:
            await asyncio.sleep(0)
        await turns(10)
        assert len(called) == 1
        for ends in pipes:
            for end in ends:
                os.close(end)

    assert run(scenario) == []


def test_a_descriptor_closed_too_early_may_still_be_removed() -> None:
    async def scenario(loop: DirectLoop) -> None:
        reader, writer = os.pipe()
        loop.add_reader(reader, lambda: None)
        os.close(reader)
        assert loop.remove_reader(reader)
        os.close(writer)

    assert run(scenario) == []


def test_a_fault_is_reported_and_the_others_go_on() -> None:
    async def scenario(loop: DirectLoop) -> None:
        reader, writer = os.pipe()
        os.write(writer, b"x")

        def fail() -> None:
            loop.remove_reader(reader)
            raise RuntimeError("on purpose")

        loop.add_reader(reader, fail)
        busy = Busy(loop)
        while busy.count < 10:
            await asyncio.sleep(0)
        busy.close()
        os.close(reader)
        os.close(writer)

    faults = run(scenario)
    assert [str(fault["exception"]) for fault in faults] == ["on purpose"]


def test_asyncios_own_transports_work_beside_it() -> None:
    async def scenario(loop: DirectLoop) -> None:
        busy = Busy(loop)

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readexactly(100_000))
            writer.write_eof()
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        for _ in range(5):  # the same descriptor numbers again and again, by different ways
            connection = socket.socket()
            connection.setblocking(False)
            await loop.sock_connect(connection, address)
            await loop.sock_sendall(connection, bytes(50_000))
            reader, writer = await asyncio.open_connection(sock=connection)
            writer.write(bytes(50_000))
            assert await reader.read() == bytes(100_000)
            writer.close()
            await writer.wait_closed()
        server.close()
        await server.wait_closed()
        process = await asyncio.create_subprocess_exec(
            "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert await process.communicate(b"through a pipe") == (b"through a pipe", None)
        busy.close()

    assert run(scenario) == []


def test_an_idle_loop_sleeps() -> None:
    async def scenario(loop: DirectLoop) -> None:
        reader, writer = os.pipe()
        loop.add_reader(reader, lambda: None)
        before = time.process_time()
        await asyncio.sleep(0.3)
        assert time.process_time() - before < 0.1
        loop.remove_reader(reader)
        os.close(reader)
        os.close(writer)

    assert run(scenario) == []
