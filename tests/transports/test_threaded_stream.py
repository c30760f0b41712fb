"""Ports without a descriptor: loop:// and rfc2217://, the latter against ser2net."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import serial
from serial.urlhandler import protocol_loop

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial import threaded as threaded_stream
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.quirks import BoundedQueue, BoundedWrite
from hilgw.transports.serial.threaded import ThreadedStream
from hilgw.transports.threads import run_in_thread
from hilgw.transports.virtual.pty import VirtualPort
from tests.conftest import SEARCH
from tests.e2e.running import HOST, free_port
from tests.transports.rig import (
    ALL_VALUES,
    LINE,
    Client,
    call_threads,
    descriptors,
    turns,
    until,
)

BLOCK = os.urandom(20_000)


async def loop_client(timer: Timer, *, start: bool = True) -> Client:
    return Client(await open_serial("loop://", LINE, timer), start=start)


async def ended() -> None:
    await until(lambda: not call_threads())


class TestLoop:
    async def test_all_values_come_back(self, timer: Timer) -> None:
        client = await loop_client(timer)
        client.transport.write(ALL_VALUES)
        assert await client.received(256) == ALL_VALUES
        await client.close()
        await ended()

    async def test_on_data_gets_a_bounded_number_of_bytes_at_a_time(self, timer: Timer) -> None:
        transport = await open_serial("loop://", LINE, timer)
        chunks: list[bytes] = []
        transport.start(chunks.append, lambda error: None)
        transport.write(BLOCK)
        await until(lambda: sum(map(len, chunks)) == len(BLOCK))
        assert b"".join(chunks) == BLOCK
        assert max(map(len, chunks)) <= threaded_stream.TURN_BYTES
        transport.close()
        await ended()

    async def test_much_comes_back_in_order_and_the_loop_runs_on(self, timer: Timer) -> None:
        client = await loop_client(timer)
        client.transport.write(BLOCK)
        assert client.transport.pending > 0
        assert await client.received(len(BLOCK)) == BLOCK
        await until(lambda: client.transport.pending == 0)  # the writer counts after the port
        await client.close()
        await ended()

    async def test_drained_is_reported(self, timer: Timer) -> None:
        client = await loop_client(timer)
        drained: list[int] = []
        client.transport.on_drained = lambda: drained.append(client.transport.pending)
        client.transport.write(b"x")
        await until(lambda: bool(drained))
        assert drained == [0]
        await client.close()
        await ended()

    async def test_paused_it_is_bounded_both_ways(self, timer: Timer) -> None:
        client = await loop_client(timer)
        client.transport.pause_reading()
        sent = bytearray()
        with pytest.raises(PortError) as caught:
            while True:
                client.transport.write(BLOCK)
                sent += BLOCK
                await turns()
        assert caught.value.reason == "full"
        assert client.transport.pending <= 256 * 1024
        assert client.transport.in_waiting <= 2 * 65536
        assert not client.data
        client.transport.resume_reading()
        assert await client.received(len(sent)) == sent
        await client.close()
        await ended()

    async def test_what_arrives_before_start_is_not_lost(self, timer: Timer) -> None:
        client = await loop_client(timer, start=False)
        client.transport.write(b"early")
        await until(lambda: client.transport.in_waiting == 5)
        client.transport.start(client.data.extend, client.lost.append)
        assert await client.received(5) == b"early"
        await client.close()

    async def test_closing_is_immediate_with_bytes_waiting_and_leaves_no_thread(
        self, timer: Timer
    ) -> None:
        before = descriptors()
        client = await loop_client(timer)
        client.transport.pause_reading()
        client.transport.write(bytes(200_000))
        await until(lambda: client.transport.in_waiting > 0)
        client.transport.close()
        client.transport.close()
        assert client.transport.pending == 0
        await client.transport.wait_closed()
        await ended()
        assert not client.lost
        with pytest.raises(PortError) as caught:
            client.transport.write(b"x")
        assert caught.value.reason == PortError.LOST
        assert descriptors().items() <= before.items()


def test_a_write_to_a_loop_ends_though_it_is_closed_meanwhile() -> None:
    class Loop(BoundedWrite, protocol_loop.Serial):
        pass

    port = Loop("loop://")
    put, ended = port.queue.put, threading.Event()

    def close_and_put(byte: bytes, timeout: float | None) -> None:
        port.queue.put = put
        port.close()
        put(byte, timeout=timeout)

    def write() -> None:
        with pytest.raises(serial.SerialException):
            port.write(bytes(2 * port.buffer_size))
        ended.set()

    port.queue.put = close_and_put
    threading.Thread(target=write, name="writer", daemon=True).start()
    assert ended.wait(10)


class Failing:
    """A blocking port whose calls raise what a library may raise."""

    in_waiting = 0

    def __init__(self, call: str, error: Exception) -> None:
        self._call, self._error = call, error
        self.closed = False
        self.ended = threading.Event()

    def read(self, size: int = 1, /) -> bytes:
        if self._call == "read":
            raise self._error
        self.ended.wait(0.005)  # as with a read time-out
        return b""

    def write(self, data: bytes, /) -> int:
        if self._call == "write":
            raise self._error
        return len(data)

    def close(self) -> None:
        self.closed = True
        if self._call == "close":
            raise self._error


@pytest.mark.parametrize("call", ["read", "write", "close"])
@pytest.mark.parametrize("error", [OSError(5, "I/O"), TypeError("None"), ValueError("closed")])
async def test_whatever_the_library_raises_ends_the_stream_once(
    call: str, error: Exception
) -> None:
    port = Failing(call, error)
    client = Client(ThreadedStream(port, "port"))
    client.transport.write(b"x")
    if call != "close":
        await until(lambda: bool(client.lost))
        assert [each.reason for each in client.lost] == [PortError.LOST]
    await client.close()
    await ended()
    assert port.closed
    assert len(client.lost) == (call != "close")


async def test_a_port_that_never_closes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded_stream, "CLOSE_DEADLINE_S", 0.02)
    free = threading.Event()

    class Stuck(Failing):
        def close(self) -> None:
            free.wait(20)

    stream = ThreadedStream(Stuck("none", OSError()), "port")
    stream.close()
    async with asyncio.timeout(60):
        await stream.wait_closed()
    free.set()
    await ended()


# --- rfc2217, judged by ser2net -----------------------------------------------------------------

SER2NET = """
connection: &port
  accepter: telnet(rfc2217),tcp,{host},{tcp}
  connector: serialdev(nouucplock=true),{device},9600n81,local
  options:
    kickolduser: true
"""


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@asynccontextmanager
async def ser2net(device: str, folder: Path) -> AsyncIterator[str]:
    """ser2net in front of a device; gives its URL."""
    port = free_port()
    config = folder / "ser2net.yaml"
    config.write_text(SER2NET.format(host=HOST, tcp=port, device=device))
    program = shutil.which("ser2net", path=SEARCH) or "ser2net"
    process = subprocess.Popen(
        [program, "-n", "-c", str(config), "-P", str(folder / "pid")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await until(lambda: accepts(port))
        yield f"rfc2217://{HOST}:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.judge("ser2net")
class TestRfc2217:
    @pytest.mark.process
    async def test_bytes_and_settings_reach_the_far_port(
        self, tmp_path: Path, timer: Timer
    ) -> None:
        port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
        received = bytearray()
        bauds: set[int | None] = set()

        def on_data(data: bytes, baud: int | None) -> None:
            received.extend(data)
            bauds.add(baud)
            port.write(data)

        port.start(on_data)
        async with ser2net(port.path, tmp_path) as url:
            line = LineSettings(57600)
            client = Client(await open_serial(url, line, timer, allow_urls=True))
            client.transport.write(ALL_VALUES * 8)  # 255, telnet's own, is among them
            assert await client.received(2048) == ALL_VALUES * 8
            assert received == ALL_VALUES * 8
            assert bauds == {57600}
            await client.close()
        await ended()
        port.close()

    @pytest.mark.process
    async def test_a_server_that_dies_is_seen(self, tmp_path: Path, timer: Timer) -> None:
        before = descriptors()
        port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=115200)
        port.start(lambda data, baud: None)
        async with ser2net(port.path, tmp_path) as url:
            client = Client(await open_serial(url, LINE, timer, allow_urls=True))
        await until(lambda: bool(client.lost))
        assert client.lost[0].reason == PortError.LOST
        await client.close()
        await ended()
        port.close()
        assert descriptors().items() <= before.items()

    @pytest.mark.process
    async def test_paused_the_bytes_stay_in_the_network(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timer: Timer
    ) -> None:
        opened: list[Any] = []
        bound = BoundedQueue.bound
        monkeypatch.setattr(
            BoundedQueue, "bound", lambda port, size: (opened.append(port), bound(port, size))
        )

        port = VirtualPort(timer, str(tmp_path / "port"), baud_rate=100_000_000, limit=1 << 24)
        port.start(lambda data, baud: None)
        async with ser2net(port.path, tmp_path) as url:
            client = Client(await open_serial(url, LINE, timer, allow_urls=True))
            client.transport.pause_reading()
            port.write(bytes(1 << 24))
            # Full from here to there: our queues, pyserial's, TCP's, ser2net's, the pty.
            await until(lambda: port.overrun > 0, timeout_s=20)
            assert client.transport.in_waiting <= 2 * 65536
            (remote,) = opened
            assert remote.in_waiting <= 65536
            await client.close()
        await ended()
        port.close()


async def test_rfc2217_without_a_listener(tmp_path: Path, timer: Timer) -> None:
    port = free_port()
    with pytest.raises(PortError) as caught:
        await open_serial(f"rfc2217://{HOST}:{port}", LINE, timer, allow_urls=True)
    assert caught.value.reason == PortError.ABSENT
    await ended()


# --- Calls in threads: results, errors, and late results ------------------------------------------


class Port:
    """Takes its time to open; remembers whether it was closed, and in which thread."""

    def __init__(self) -> None:
        self.may_open = threading.Event()
        self.closed_in: list[threading.Thread] = []

    def open(self) -> Port:
        self.may_open.wait(5)
        return self

    def close(self) -> None:
        self.closed_in.append(threading.current_thread())


async def test_a_result() -> None:
    port = Port()
    port.may_open.set()
    assert await run_in_thread(port.open, deadline_s=5, undo=Port.close) is port
    await until(lambda: not call_threads())
    assert not port.closed_in


async def test_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 // 0, deadline_s=5, undo=lambda result: None)


async def test_a_result_after_the_deadline_is_undone() -> None:
    port = Port()
    with pytest.raises(TimeoutError):
        await run_in_thread(port.open, deadline_s=0.01, undo=Port.close)
    port.may_open.set()
    await until(lambda: not call_threads())
    assert len(port.closed_in) == 1


async def test_a_result_that_was_there_when_the_waiter_was_cancelled_is_undone() -> None:
    port = Port()
    task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
    await turns()
    port.may_open.set()
    (thread,) = call_threads()
    thread.join(5)  # the loop does not run: the result waits in its queue
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await until(lambda: not call_threads())
    assert len(port.closed_in) == 1
    assert port.closed_in[0] is not threading.main_thread()


def test_a_result_for_a_loop_that_is_closed_is_undone() -> None:
    port = Port()

    async def main() -> None:
        task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
        await turns()
        task.cancel()

    asyncio.run(main())
    port.may_open.set()
    for thread in call_threads():
        thread.join(5)
    assert len(port.closed_in) == 1
