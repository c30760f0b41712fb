"""FdStream, Pipe and calls in threads: the contract of a transport without a port."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
import threading

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import Clock
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from hilgw.transports.stream import FdStream
from hilgw.transports.threads import run_in_thread
from hilgw.transports.virtual.pipe import Pipe
from tests.transports import rig
from tests.transports.faults import Faults


class Pair:
    """A stream on one end of a socket pair; the test has the other."""

    def __init__(self) -> None:
        ours, self.peer = socket.socketpair()
        for end in (ours, self.peer):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.fd = ours.detach()
        self.stream = FdStream(asyncio.get_running_loop(), self.fd, "pair")

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.peer.close()

    def receive(self) -> bytes:
        return rig.waiting(self.peer.recv)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("longest", [1, 7, 1000])
@pytest.mark.parametrize("error", [None, errno.EAGAIN, errno.EINTR])
async def test_short_writes_and_reads_keep_every_byte_in_order(
    longest: int, error: int | None
) -> None:
    with Pair() as pair:
        client = rig.Client(pair.stream)
        faults = Faults().watch(pair.fd).shorten("write", longest).shorten("read", longest)
        if error is not None:
            faults.fail("write", 1, error, times=3).fail("read", 2, error, times=3)
        out, back = noise(900), noise(700)
        with faults:
            for start in range(0, len(out), 100):
                pair.stream.write(out[start : start + 100])
            pair.peer.send(back)
            assert await rig.received_by(pair.receive, len(out)) == out
            assert await client.received(len(back)) == back
        assert not client.lost
        assert pair.stream.pending == 0


@pytest.mark.parametrize("call", ["read", "write"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.ENXIO, errno.EPIPE])
async def test_a_failing_call_ends_the_stream_once(call: str, error: int) -> None:
    with Pair() as pair:
        client = rig.Client(pair.stream)
        with Faults().watch(pair.fd).fail(call, 1, error):  # type: ignore[arg-type]
            pair.peer.send(b"x")
            if call == "write":
                with rig.refuses(PortError.LOST):
                    pair.stream.write(b"y")
                assert not client.lost, "told from inside write()"
            await rig.until(lambda: bool(client.lost))
        await rig.turns()
        assert [each.reason for each in client.lost] == [PortError.LOST]
        assert os.strerror(error) in client.lost[0].what
        with pytest.raises(PortError):
            pair.stream.write(b"after")
        await pair.stream.wait_closed()


async def test_what_waits_is_not_written_once_another_process_has_stopped_the_peer() -> None:
    with Pair() as pair:
        client = rig.Client(pair.stream)
        pair.stream.write(noise(100_000))
        taken = 100_000 - pair.stream.pending
        pair.stream.flag = b"\1"
        received = bytearray()

        def lost() -> bool:
            received.extend(pair.receive())
            return bool(client.lost)

        await rig.until(lost)
        assert "another process has ended it" in str(client.lost[0])
        assert len(received) + len(pair.receive()) == taken


async def test_waiting_for_a_stalled_peer_costs_nothing() -> None:
    with Pair() as pair:
        rig.Client(pair.stream)
        pair.stream.write(noise(200_000))
        with Faults().watch(pair.fd) as faults:
            await rig.turns(100)
            assert faults.calls["write"] < 5


async def test_a_loss_that_was_not_reported_yet_is_not_reported_after_close() -> None:
    with Pair() as pair:
        client = rig.Client(pair.stream)
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            for _ in range(2):
                with pytest.raises(PortError, match="Input/output error"):
                    pair.stream.write(b"x")
        pair.stream.close()
        await rig.turns()
        assert not client.lost


async def test_a_loss_before_the_start_is_reported_at_the_start() -> None:
    with Pair() as pair:
        with Faults().watch(pair.fd).fail("write", 1, errno.EIO):
            with pytest.raises(PortError):
                pair.stream.write(b"x")
        client = rig.Client(pair.stream)
        await rig.until(lambda: bool(client.lost))


async def test_the_newest_bytes_of_the_device_are_dropped_and_counted(clock: Clock) -> None:
    pipe = Pipe(clock, LineSettings(1_000_000), device_limit=100)
    client = rig.Client(await pipe.open())
    pipe.device.write(b"a" * 60)
    pipe.device.write(b"b" * 60)
    assert pipe.overrun == 20
    await client.received(100)
    await rig.turns()
    assert client.data == b"a" * 60 + b"b" * 40


async def test_paused_a_client_keeps_no_more_than_its_limit(clock: Clock) -> None:
    pipe = Pipe(clock, LineSettings(4_000_000), limit=100)
    client = rig.Client(await pipe.open())
    client.transport.pause_reading()
    pipe.device.write(bytes(150))
    await rig.until(lambda: pipe.overrun == 50)
    assert not client.data
    client.transport.resume_reading()
    await client.received(100)


async def test_unplugged_it_is_lost_and_absent_and_comes_back(clock: Clock) -> None:
    pipe = Pipe(clock, rig.LINE)
    device = rig.Device(pipe.device)
    for _ in range(3):
        client = rig.Client(await pipe.open())
        client.transport.write(bytes(1000))
        before = clock.now()
        pipe.device.unplug()
        assert not pipe.device.plugged
        await rig.turns()
        assert clock.now() == before
        assert [error.reason for error in client.lost] == [PortError.LOST]
        with pytest.raises(PortError):
            client.transport.write(b"x")
        with rig.refuses(PortError.ABSENT):
            await pipe.open()
        await client.close()
        pipe.device.plug()
    assert len(device.data) < 1000, "what was on the wire is gone"
    client = rig.Client(await pipe.open())
    client.transport.write(b"back")
    await rig.until(lambda: device.data.endswith(b"back"))


async def test_opened_twice_it_is_busy_and_closed_it_is_free(clock: Clock) -> None:
    pipe = Pipe(clock, rig.LINE)
    first = rig.Client(await pipe.open())
    with rig.refuses(PortError.BUSY):
        await pipe.open()
    await first.close()
    second = rig.Client(await pipe.open())
    pipe.device.write(b"hello")
    assert await second.received(5) == b"hello"
    assert not first.data
    assert not first.lost


async def test_a_loop_plug_returns_all_values_in_order(timer: Timer) -> None:
    client = rig.Client(await open_serial("loop://", LineSettings(10_000_000), timer))
    block = rig.ALL_VALUES + os.urandom(20_000)
    client.transport.write(block)
    assert await client.received(len(block)) == block
    await client.close()


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


async def test_a_result_and_an_error() -> None:
    port = Port()
    port.may_open.set()
    assert await run_in_thread(port.open, deadline_s=5, undo=Port.close) is port
    await rig.until(lambda: not rig.call_threads())
    assert not port.closed_in
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 // 0, deadline_s=5, undo=lambda result: None)


async def test_a_result_after_the_deadline_is_undone() -> None:
    port = Port()
    with pytest.raises(TimeoutError):
        await run_in_thread(port.open, deadline_s=0.01, undo=Port.close)
    port.may_open.set()
    await rig.until(lambda: not rig.call_threads())
    assert len(port.closed_in) == 1


async def test_a_result_that_was_there_when_the_waiter_was_cancelled_is_undone() -> None:
    port = Port()
    task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
    await rig.turns()
    port.may_open.set()
    (thread,) = rig.call_threads()
    thread.join(5)  # the loop does not run: the result waits in its queue
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await rig.until(lambda: not rig.call_threads())
    assert len(port.closed_in) == 1
    assert port.closed_in[0] is not threading.main_thread()


def test_a_result_for_a_loop_that_is_closed_is_undone() -> None:
    port = Port()

    async def main() -> None:
        task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
        await rig.turns()
        task.cancel()

    asyncio.run(main())
    port.may_open.set()
    for thread in rig.call_threads():
        thread.join(5)
    assert len(port.closed_in) == 1
